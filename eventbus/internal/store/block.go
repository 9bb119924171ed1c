package store

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// Blocker waits for elements on lists, on connections of its own, so that
// closing it ends a wait that nothing else can end.
type Blocker struct {
	store *Store
	rdb   redis.UniversalClient
	own   bool
}

// NewBlocker opens a Blocker.
func (s *Store) NewBlocker() *Blocker {
	if s.block == nil {
		return &Blocker{store: s, rdb: s.rdb}
	}
	return &Blocker{store: s, rdb: s.block(), own: true}
}

// Close ends a wait under way, with an error. What it pops afterwards is lost:
// a token of a bell, which the next sweep makes good, or an entry of an
// at_most_once topic.
func (b *Blocker) Close() error {
	if !b.own {
		return nil
	}
	return b.rdb.Close()
}

// Pop waits for an element on one of the lists and pops it; key is "" when the
// timeout has passed. It takes no context on purpose: a BLPOP that is given up
// on the client's side can pop an element into a connection that nobody reads.
// The timeout is whole seconds, at least one: a block below that is cut to zero,
// which is for ever, by clients and by servers before 7.0.8.
func (b *Blocker) Pop(keys []string, timeout time.Duration) (key string, element []byte, err error) {
	timeout = max(timeout.Truncate(time.Second), time.Second)
	ctx, cancel := Within(context.Background(), timeout+blockSlack)
	defer cancel()
	popped, err := b.rdb.BLPop(ctx, timeout, keys...).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, b.store.wrap(ctx, "wait for events", err)
	}
	return popped[0], []byte(popped[1]), nil
}
