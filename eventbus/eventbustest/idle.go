package eventbustest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/record"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// settledPolls is for how many looks in a row an at_most_once topic must be
// unchanged: nothing of it is in flight in Redis, so that its handlers' ends are
// seen only once they are written.
const settledPolls = 5

// WaitIdle waits until the running buses of this Redis, in all groups, have
// nothing to do: no event waits for them, none is in flight, no retry and no delayed
// event is due. It does not wait for those that are due later, nor for what waits
// while its topic or all its handlers are switched off.
func (b *Bus) WaitIdle(t testing.TB) {
	t.Helper()
	var busy []string
	b.server.poll(t, b.idleCheck(t, &busy), func() string { return "the buses are not idle: " + list(busy) })
}

// Drain runs all that there is to do, what is delayed, is to be retried or was
// snoozed included: it moves the clock on to the next attempt or due time, again and
// again, until the running buses have nothing left but dead failures. What was put
// off because its handler is switched off, missing or behind an open breaker stays,
// and so does what is delayed for a topic that is switched off, or whose handlers
// all are.
//
// The clock may go far with what is delayed for long: dead failures over their
// topic's age are dropped on the way (TopicConfig.DeadAge). A handler that never
// comes to an end, since it snoozes for ever, or sends itself one delayed event
// after another, fails the test.
func (b *Bus) Drain(t testing.TB) {
	t.Helper()
	ctx := context.Background()
	limit := time.Now().Add(b.server.patience)
	for {
		b.WaitIdle(t)
		next, left, err := b.server.nextStep(ctx)
		if err != nil {
			t.Fatalf("eventbustest: drain: %v", err)
		}
		if next.IsZero() {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("eventbustest: drained for %v, and there is always more to do: %s", b.server.patience, list(left))
		}
		b.Clock.Advance(max(0, next.Sub(b.Clock.Now())))
	}
}

// idleCheck returns a function that tells whether all is idle, and says in busy
// what is not.
func (b *Bus) idleCheck(t testing.TB, busy *[]string) func() bool {
	settled, before := 0, ""
	return func() bool {
		t.Helper()
		*busy = nil
		served, err := b.server.served(context.Background())
		if err != nil {
			t.Fatalf("eventbustest: look what the buses do: %v", err)
		}
		loads, err := b.server.loads(context.Background(), served)
		if err != nil {
			t.Fatalf("eventbustest: look what the buses do: %v", err)
		}
		traces, atMostOnce := "", false
		for i, at := range served {
			if text := loads[i].busy(at); text != "" {
				*busy = append(*busy, fmt.Sprintf("topic %q, group %q: %s", at.topic.Name, at.keys.Group, text))
			}
			traces += loads[i].trace() + "\n"
			atMostOnce = atMostOnce || at.topic.Delivery == store.AtMostOnce
		}
		if traces == before {
			settled++
		} else {
			settled, before = 0, traces
		}
		return len(*busy) == 0 && (!atMostOnce || settled >= settledPolls)
	}
}

// nextStep tells when the next retry or delayed event is due that Drain waits for,
// zero when there is none, and lists those that there are.
func (s *server) nextStep(ctx context.Context) (next time.Time, left []string, err error) {
	served, err := s.served(ctx)
	if err != nil {
		return time.Time{}, nil, err
	}
	next, left, err = s.nextAttempt(ctx, served)
	if err != nil {
		return time.Time{}, nil, err
	}
	due, delayed, err := s.nextDelayed(ctx, served)
	if next.IsZero() || !due.IsZero() && due.Before(next) {
		next = due
	}
	left = append(left, delayed...)
	return next, left[:min(len(left), 10)], err
}

// nextAttempt is nextStep for retries alone.
func (s *server) nextAttempt(ctx context.Context, served []*served) (next time.Time, left []string, err error) {
	const page = 200
	for _, at := range served {
		if !at.topic.Enabled {
			continue
		}
		var score int64
		var last string
		for {
			records, err := at.store.PageFailures(ctx, &at.keys, store.RetrySet, score, last, 0, page)
			if err != nil {
				return time.Time{}, nil, err
			}
			if len(records) == 0 {
				break
			}
			score, last = records[len(records)-1].Score, records[len(records)-1].ID
			for _, r := range records {
				meta, err := record.Unmarshal(r.Meta)
				if err != nil {
					return time.Time{}, nil, err
				}
				if meta.Reason != record.Failed && meta.Reason != record.Snoozed || !at.enabled[meta.Handler] {
					continue
				}
				due := time.UnixMilli(r.Score)
				if next.IsZero() || due.Before(next) {
					next = due
				}
				left = append(left, fmt.Sprintf("\n\ttopic %q, handler %q, event %s: %s, %s", at.topic.Name, meta.Handler, meta.Event, meta.Reason, number(meta.Attempts, "attempt", "attempts")))
			}
		}
	}
	return next, left, nil
}
