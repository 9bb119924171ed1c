package store

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Changes listens for changed settings.
type Changes struct {
	store *Store

	mu     sync.Mutex
	sub    *redis.PubSub // nil until Next is called, and after an error
	closed bool
}

// NewChanges subscribes when Next is called.
func (s *Store) NewChanges() *Changes { return &Changes{store: s} }

// subscribed returns the subscription, a new one where there is none. go-redis
// would connect anew by itself, but wait for an answer as long as ctx allows:
// a connection on which an error was seen is therefore given up.
func (c *Changes) subscribed(ctx context.Context) (*redis.PubSub, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, redis.ErrClosed
	}
	if c.sub == nil {
		sub := c.store.rdb.Subscribe(ctx) // to nothing, which connects to nothing
		call, cancel := bounded(ctx)
		defer cancel()
		if err := sub.Subscribe(call, c.store.ns.changes()); err != nil {
			_ = sub.Close() // it is of no use any more
			return nil, err
		}
		c.sub = sub
	}
	return c.sub, nil
}

func (c *Changes) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sub != nil {
		_ = c.sub.Close() // it is of no use any more
		c.sub = nil
	}
}

// listenFor is how long Next waits for a message before it makes sure that the
// connection still answers.
const listenFor = 10 * time.Second

// Next returns the name of the next topic whose settings have changed, or ""
// after a (re)subscription: messages may have been missed before it. After an
// error the next call subscribes anew.
func (c *Changes) Next(ctx context.Context) (topic string, err error) {
	sub, err := c.subscribed(ctx)
	for silent := false; err == nil; {
		var message any
		message, err = sub.ReceiveTimeout(ctx, listenFor)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() && ctx.Err() == nil && !silent {
			silent = true // one ping without an answer, and the connection is given up
			err = ping(ctx, sub)
			continue
		}
		switch m := message.(type) {
		case *redis.Message:
			return m.Payload, nil
		case *redis.Subscription:
			return "", nil
		case *redis.Pong:
			silent = false
		}
	}
	c.giveUp()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return "", wrap("listen for changed settings", err)
}

func ping(ctx context.Context, sub *redis.PubSub) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return sub.Ping(ctx)
}

// Close ends the subscription, and a Next under way with it.
func (c *Changes) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.sub == nil {
		return nil
	}
	return c.sub.Close()
}
