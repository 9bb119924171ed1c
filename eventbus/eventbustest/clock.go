package eventbustest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	mini "github.com/alicebob/miniredis/v2/server"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// Clock is the clock of the test's Redis. It shows the process's time and what
// it was moved on.
type Clock struct {
	t      testing.TB
	server *server
	moved  atomic.Int64
}

// Now is the time that Redis tells. A program under test that works out due times
// (eventbus.WithDueAt) should go by it: time.Now stays behind once the clock was
// moved on, so that what is due by that comes at once.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.moved.Load())) }

// Advance moves the clock on by d, which is not negative. Delayed events, retries,
// and what was put off, that are due by then are back in the queue when it returns, and dead
// failures over their topic's age are dropped. Processes do not lose their lease
// by it.
//
// It acts on what is recorded: a handler that has just returned an error may not
// be yet. Wait for it with RequireFailed or WaitIdle before.
func (c *Clock) Advance(d time.Duration) {
	c.t.Helper()
	if d < 0 {
		c.t.Fatalf("eventbustest: advance the clock by %v: a clock does not go back", d)
	}
	ctx := context.Background()
	for _, st := range c.server.all() {
		if err := keepLeases(ctx, st, d); err != nil {
			c.t.Fatalf("eventbustest: advance the clock: %v", err)
		}
	}
	c.moved.Add(int64(d))
	c.server.mini.FastForward(d)
	for _, st := range c.server.all() {
		if err := catchUp(ctx, st); err != nil {
			c.t.Fatalf("eventbustest: advance the clock: %v", err)
		}
	}
}

// answer answers TIME, also where a script asks for it.
func (c *Clock) answer(peer *mini.Peer, command string, args ...string) bool {
	if command != "TIME" || len(args) > 0 {
		return false
	}
	now := c.Now()
	peer.WriteLen(2)
	peer.WriteBulk(strconv.FormatInt(now.Unix(), 10))
	peer.WriteBulk(strconv.Itoa(now.Nanosecond() / 1000))
	return true
}

// keepLeases makes the leases that stand outlast a jump of the clock.
func keepLeases(ctx context.Context, st *store.Store, jump time.Duration) error {
	now, err := st.Now(ctx)
	if err != nil {
		return err
	}
	consumers, err := st.Consumers(ctx)
	if err != nil {
		return err
	}
	for _, consumer := range consumers {
		left := consumer.Expires.Sub(now)
		if left <= 0 {
			continue
		}
		if _, _, err := st.Renew(ctx, consumer.ID, left+jump); err != nil {
			return err
		}
	}
	return nil
}

// catchUp does what every process would do some time after the jump: each of
// these steps is one that any process may take.
func catchUp(ctx context.Context, st *store.Store) error {
	names, err := st.Topics(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		topic, err := st.Topic(ctx, name)
		if errors.Is(err, errs.TopicNotFound) || errors.Is(err, errs.TopicDeleting) {
			continue
		}
		if err != nil {
			return err
		}
		for _, group := range topic.Groups {
			keys := st.Keys(topic, group)
			for moved := 1; moved > 0; {
				if moved, _, _, err = st.MoveDue(ctx, &keys); err != nil {
					return err
				}
			}
			for moved := int64(1); moved > 0; {
				got, err := st.Transfer(ctx, &keys, topic.Delivery)
				if err != nil {
					return err
				}
				moved = got.Moved
			}
			for dropped := int64(1); dropped > 0; {
				if dropped, err = st.Expire(ctx, &keys, topic); err != nil {
					return fmt.Errorf("drop old failures: %w", err)
				}
			}
		}
	}
	return nil
}
