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
	sub    *redis.PubSub
	closed bool
}

// NewChanges subscribes when Next is first called.
func (s *Store) NewChanges() *Changes {
	return &Changes{store: s, sub: s.rdb.Subscribe(context.Background(), s.ns.changes())}
}

func (c *Changes) current() *redis.PubSub {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sub
}

// renew gives the connection up: it has gone silent, and go-redis would keep it.
func (c *Changes) renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		_ = c.sub.Close() // it is of no use any more
		c.sub = c.store.rdb.Subscribe(context.Background(), c.store.ns.changes())
	}
}

// listenFor is how long Next waits for a message before it makes sure that the
// connection still answers.
const listenFor = 10 * time.Second

// Next returns the name of the next topic whose settings have changed, or ""
// after a (re)subscription: messages may have been missed before it. After an
// error the next call subscribes anew.
func (c *Changes) Next(ctx context.Context) (topic string, err error) {
	silent, sub := false, c.current()
	for {
		message, err := sub.ReceiveTimeout(ctx, listenFor)
		var timeout net.Error
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return "", ctx.Err()
		case errors.As(err, &timeout) && timeout.Timeout() && !silent:
			silent = true // one ping without an answer, and the connection is given up
			if err := sub.Ping(ctx); err != nil {
				c.renew()
				return "", wrap("listen for changed settings", err)
			}
			continue
		default:
			if silent {
				c.renew()
			}
			return "", wrap("listen for changed settings", err)
		}
		switch m := message.(type) {
		case *redis.Message:
			return m.Payload, nil
		case *redis.Subscription:
			return "", nil
		}
		silent = false // a pong
	}
}

// Close ends the subscription, and a Next under way with it.
func (c *Changes) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return c.sub.Close()
}
