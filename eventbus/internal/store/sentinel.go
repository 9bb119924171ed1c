package store

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Sentinels announce themselves on a channel of every node, each every two seconds
// (their hello). From there their addresses are known, which go-redis keeps to
// itself; one of them is then asked to tell of a new master. A Sentinel that demands
// a password, or cannot be reached from here, does not tell, and looks have to do.
const (
	helloChannel  = "__sentinel__:hello"
	switchChannel = "+switch-master"
	// helloFor is how long no hello may come before there is none.
	helloFor = 5 * time.Second
)

// listen listens to a Sentinel, to another one when that ends, until the store is
// closed.
func (f *follower) listen() {
	var pause time.Duration
	for f.ctx.Err() == nil {
		if address, master, ok := f.findSentinel(); ok && f.watch(address, master) {
			pause = 0
		}
		pause = min(max(2*pause, lookEvery), rareLooks)
		timer := time.NewTimer(pause)
		select {
		case <-f.ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// findSentinel waits for one hello, and returns the Sentinel's address and its name
// for the master.
func (f *follower) findSentinel() (address, master string, ok bool) {
	sub := f.hello()
	defer sub.Close() //nolint:errcheck // it is of no use any more
	call, cancel := bounded(f.ctx)
	defer cancel()
	if sub.Subscribe(call, helloChannel) != nil {
		return "", "", false
	}
	for {
		message, err := sub.ReceiveTimeout(f.ctx, helloFor)
		if err != nil {
			return "", "", false
		}
		if m, ok := message.(*redis.Message); ok {
			// Of the Sentinel: address, port, id and epoch; of the master: name,
			// address, port and epoch.
			hello := strings.Split(m.Payload, ",")
			if len(hello) < 8 {
				return "", "", false
			}
			return net.JoinHostPort(hello[0], hello[1]), hello[4], true
		}
	}
}

// watch listens to one Sentinel for as long as that answers, and tells whether it
// did at all.
func (f *follower) watch(address, master string) (worked bool) {
	client := redis.NewSentinelClient(&redis.Options{
		Addr: address, Dialer: f.dialSentinel, DialerRetries: 1, MaxRetries: -1, DisableIdentity: true,
		DialTimeout: callTimeout, ReadTimeout: callTimeout, WriteTimeout: callTimeout, ContextTimeoutEnabled: true,
	})
	defer client.Close() //nolint:errcheck // it is of no use any more
	call, cancel := bounded(f.ctx)
	defer cancel()
	sub := client.Subscribe(call) // to nothing, which connects to nothing
	defer sub.Close()             //nolint:errcheck // it is of no use any more
	err := sub.Subscribe(call, switchChannel)
	for silent := false; err == nil; {
		var message any
		message, err = sub.ReceiveTimeout(f.ctx, helloFor)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() && !silent {
			silent = true // one ping without an answer, and it is given up
			err = f.ping(sub)
			continue
		}
		switch m := message.(type) {
		case *redis.Subscription:
			worked = true
			f.setWatched(true)
			f.hint() // it may have told before
		case *redis.Pong:
			silent = false
		case *redis.Message:
			if name, _, _ := strings.Cut(m.Payload, " "); name == master {
				f.hint()
			}
		}
	}
	f.setWatched(false)
	return worked
}

func (f *follower) ping(sub *redis.PubSub) error {
	ctx, cancel := bounded(f.ctx)
	defer cancel()
	return sub.Ping(ctx)
}

// dialSentinel connects to a Sentinel for as long as the store lasts.
func (f *follower) dialSentinel(ctx context.Context, network, address string) (conn net.Conn, err error) {
	if f.tls == nil {
		conn, err = new(net.Dialer).DialContext(ctx, network, address)
	} else {
		conn, err = (&tls.Dialer{Config: f.tls}).DialContext(ctx, network, address)
	}
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(f.ctx, func() { _ = conn.Close() }) // which ends every wait on it
	return (&patient{Conn: conn, ended: func() { stop() }}).asConn(), nil
}

func (f *follower) setWatched(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watched = on
}
