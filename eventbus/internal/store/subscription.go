package store

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// DelayChannels is what an ACL must allow for due times to be announced and heard.
const DelayChannels = "&" + channelPrefix + ":*"

// Subscription listens on channels, over one connection.
type Subscription struct {
	store *Store

	mu       sync.Mutex
	channels map[string]bool // true: the server has confirmed it
	sub      *redis.PubSub   // nil until Next is called, and after an error
	probed   string          // the channel that was last asked for again
	closed   bool
}

// Message is what was published on a channel, or that the subscription to it
// stands from now on: messages may have been missed before.
type Message struct {
	Channel, Payload string
	Subscribed       bool
}

// NewSubscription subscribes when Next is called.
func (s *Store) NewSubscription(channels ...string) *Subscription {
	c := &Subscription{store: s, channels: map[string]bool{}}
	for _, channel := range channels {
		c.channels[channel] = false
	}
	return c
}

// NewChanges listens for changed settings: payloads are the topics' names.
func (s *Store) NewChanges() *Subscription { return s.NewSubscription(s.ns.changes()) }

// Set replaces the channels, also while Next waits. Where that fails, Next tells.
func (c *Subscription) Set(ctx context.Context, channels []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var left []string
	for channel := range c.channels {
		if !slices.Contains(channels, channel) {
			left = append(left, channel)
			delete(c.channels, channel)
		}
	}
	var fresh []string
	for _, channel := range channels {
		if _, ok := c.channels[channel]; !ok {
			c.channels[channel] = false
			fresh = append(fresh, channel)
		}
	}
	if c.sub == nil {
		return
	}
	if len(left) > 0 {
		call, cancel := bounded(ctx)
		defer cancel()
		_ = c.sub.Unsubscribe(call, left...)
	}
	_ = subscribe(ctx, c.sub, fresh)
}

// subscribe asks for each channel by itself: a user may be refused some of them.
func subscribe(ctx context.Context, sub *redis.PubSub, channels []string) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	for _, channel := range channels {
		if err := sub.Subscribe(ctx, channel); err != nil {
			return err
		}
	}
	return nil
}

// subscribed returns the subscription, a new one where there is none. go-redis
// would connect anew by itself, but wait for an answer as long as ctx allows:
// a connection on which an error was seen is therefore given up.
func (c *Subscription) subscribed(ctx context.Context) (*redis.PubSub, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, redis.ErrClosed
	}
	if c.sub == nil {
		sub := c.store.rdb.Subscribe(ctx) // to nothing, which connects to nothing
		err := subscribe(ctx, sub, slices.Sorted(maps.Keys(c.channels)))
		if len(c.channels) == 0 {
			err = ping(ctx, sub) // for the connection, to which channels may come
		}
		if err != nil {
			_ = sub.Close() // it is of no use any more
			return nil, err
		}
		c.sub = sub
	}
	return c.sub, nil
}

// connected marks a context under which no connection is opened; see onDemand.
type connected struct{}

var errNotDialled = errors.New("the connection is given up, not replaced")

// onDemand returns a dialer that opens nothing for reads. go-redis replaces a
// connection as soon as a read of a subscription fails, and awaits the new one's
// greeting under that read's context, which has no deadline: a server that has gone
// silent would hold Next, and Close with it, for as long as connections may wait at
// all.
func onDemand(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if ctx.Value(connected{}) != nil {
			return nil, errNotDialled
		}
		return dial(ctx, network, address)
	}
}

func (c *Subscription) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for channel := range c.channels {
		c.channels[channel] = false
	}
	c.probed = ""
	if c.sub != nil {
		_ = c.sub.Close() // it is of no use any more
		c.sub = nil
	}
}

// listenFor is how long Next waits for a message before it makes sure that the
// connection still answers.
const listenFor = 10 * time.Second

// Next returns the next message. An error that an ACL refuses a channel leaves the
// others as they are. Of those that were refused one is asked for again after each
// silence, and all of them once one is allowed; after every other error the next call subscribes anew. Without channels it waits.
func (c *Subscription) Next(ctx context.Context) (Message, error) {
	sub, err := c.subscribed(ctx)
	for silent := false; err == nil; {
		var message any
		message, err = sub.ReceiveTimeout(context.WithValue(ctx, connected{}, true), listenFor)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() && ctx.Err() == nil && !silent {
			silent = true // one call without an answer, and the connection is given up
			err = c.probe(ctx, sub)
			continue
		}
		switch m := message.(type) {
		case *redis.Message:
			return Message{Channel: m.Channel, Payload: m.Payload}, nil
		case *redis.Subscription:
			silent = false
			if m.Kind == "subscribe" {
				c.confirm(ctx, sub, m.Channel)
				return Message{Channel: m.Channel, Subscribed: true}, nil
			}
		case *redis.Pong:
			silent = false
		}
	}
	if ctx.Err() != nil {
		c.giveUp()
		return Message{}, ctx.Err()
	}
	if code(err) != "NOPERM" {
		c.giveUp()
	}
	return Message{}, c.store.wrap(ctx, "listen for messages", err)
}

// confirm notes that the server has confirmed a channel. Where that is one that was
// refused before, others may be allowed by now too.
func (c *Subscription) confirm(ctx context.Context, sub *redis.PubSub, channel string) {
	c.mu.Lock()
	if _, ok := c.channels[channel]; ok {
		c.channels[channel] = true
	}
	var refused []string
	if channel == c.probed {
		c.probed, refused = "", c.refused()
	}
	c.mu.Unlock()
	_ = subscribe(ctx, sub, refused) // where that fails, so does the next read
}

// refused lists the channels that the server has not confirmed, in random order.
func (c *Subscription) refused() (refused []string) {
	for channel, confirmed := range c.channels {
		if !confirmed {
			refused = append(refused, channel)
		}
	}
	return refused
}

// probe sends what the server must answer.
func (c *Subscription) probe(ctx context.Context, sub *redis.PubSub) error {
	c.mu.Lock()
	refused := c.refused()
	if len(refused) > 0 {
		c.probed = refused[0]
	}
	c.mu.Unlock()
	if len(refused) > 0 {
		return subscribe(ctx, sub, refused[:1])
	}
	return ping(ctx, sub)
}

func ping(ctx context.Context, sub *redis.PubSub) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return sub.Ping(ctx)
}

// Close ends the subscription, and a Next under way with it. It is idempotent.
func (c *Subscription) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sub == nil || c.closed {
		c.closed = true
		return nil
	}
	c.closed = true
	return c.sub.Close()
}
