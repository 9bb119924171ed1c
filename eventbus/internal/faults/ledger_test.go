package faults_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// ledger notes which events' handlers have begun and ended, and how often.
type ledger struct {
	mu     sync.Mutex
	begun  map[string]int
	ended  map[string]int // returned nil
	begins int
}

func newLedger() *ledger {
	return &ledger{begun: map[string]int{}, ended: map[string]int{}}
}

func (l *ledger) begin(id string) (nth int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begins++
	l.begun[id]++
	return l.begun[id]
}

func (l *ledger) end(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended[id]++
}

// handle is a handler that takes d and succeeds, unless its context ends.
func (l *ledger) handle(d time.Duration) eventbus.HandleFunc {
	return func(ctx context.Context, e *eventbus.Event) error {
		l.begin(e.ID)
		if err := busy(ctx, d); err != nil {
			return err
		}
		l.end(e.ID)
		return nil
	}
}

// busy is work that takes d and heeds its context.
func busy(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runs is how many runs have begun in all.
func (l *ledger) runs() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begins
}

// done is how many different events have been handled.
func (l *ledger) done() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.ended)
}

// missing lists those of the ids that no handler has ended.
func (l *ledger) missing(ids []string) (missing []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if l.ended[id] == 0 {
			missing = append(missing, id)
		}
	}
	return missing
}

// twice lists what has begun more than once.
func (l *ledger) twice() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	more := map[string]int{}
	for id, n := range l.begun {
		if n > 1 {
			more[id] = n
		}
	}
	return more
}

// awaitAll waits until every one of the ids has been handled.
func (l *ledger) awaitAll(t *testing.T, ids []string, within time.Duration) {
	t.Helper()
	require.Eventually(t, func() bool { return len(l.missing(ids)) == 0 }, within, tick,
		"%v", stringer(func() string { return "not handled: " + brief(l.missing(ids)) }))
}

// requireOnce demands that every one of the ids was handled, and nothing twice.
func (l *ledger) requireOnce(t *testing.T, ids []string) {
	t.Helper()
	require.Empty(t, l.missing(ids), "events are lost")
	require.Empty(t, l.twice(), "events ran twice though nothing crashed")
}

// awaitBegun waits until the event has begun to run.
func (l *ledger) awaitBegun(t *testing.T, id string) {
	t.Helper()
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.begun[id] > 0
	}, patience, tick, "event %s does not run", id)
}
