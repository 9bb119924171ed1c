package faults_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// closeAtOnce is less than the time that a poller which cannot be woken takes to
// stop.
const closeAtOnce = 1500 * time.Millisecond

// gated is a handler that waits until its gate opens. Events whose id is in bad
// fail then, with a retry far away.
func gated(l *ledger, gate <-chan struct{}, bad map[string]bool) eventbus.HandleFunc {
	return func(ctx context.Context, e *eventbus.Event) error {
		l.begin(e.ID)
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
		if bad[e.ID] {
			return eventbus.RetryAfter(time.Hour, errPlain)
		}
		l.end(e.ID)
		return nil
	}
}

// Redis refuses all writes at the moment when failures are to be recorded, and
// takes them again later. Each event stands in exactly one place all the time,
// and in the end each failure is recorded.
func TestFailuresAreRecordedThoughRedisRefuses(t *testing.T) {
	t.Parallel()
	for _, r := range []refusal{outOfMemory(), misconf(), readOnly()} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			const failing, succeeding = 20, 20
			w := setup(t, r.options)
			gate := make(chan struct{})
			ids := names(failing + succeeding)
			bad := map[string]bool{}
			for _, id := range ids[:failing] {
				bad[id] = true
			}
			c := w.consume(w.server.Addr(), eventbus.Config{}, gated(w.ledger, gate, bad))
			require.Equal(t, ids, w.send(failing+succeeding))
			require.Eventually(t, func() bool { return w.ledger.runs() == len(ids) }, patience, tick)

			r.on(t, w)
			close(gate)
			require.Eventually(t, func() bool { return w.ledger.done() == succeeding }, patience, tick)
			rdb := w.server.Admin()
			for range 20 { // while the bus tries
				places, err := placesOf(rdb, topic, []string{handler})
				require.NoError(t, err)
				for _, id := range ids {
					at := places[share{id, handler}]
					switch {
					case bad[id]:
						require.Len(t, at, 1, "the failed event %s", id)
					default:
						require.LessOrEqual(t, len(at), 1, "the handled event %s", id)
					}
				}
				_ = busy(t.Context(), 20*time.Millisecond)
			}
			r.off(t, w)
			require.Eventually(t, func() bool {
				s, ok := w.stats()
				return ok && s.Retrying == failing && s.InFlight == 0 && s.Waiting == 0
			}, patience, tick, "the failures are not recorded after Redis takes writes again: %v", stringer(func() string {
				s, _ := w.stats()
				return fmt.Sprintf("%+v", s)
			}))
			more := w.send(5)
			w.ledger.awaitAll(t, more, patience)
			require.Equal(t, len(ids)+len(more), w.ledger.runs(), "nothing runs twice")
			c.stop(patience)
			w.requireNothingHeld()
		})
	}
}

// Over its maxmemory Redis refuses what is sent. Consuming must go on, failures
// included, since it is what frees memory; and a worker that starts then must
// join in.
func TestConsumingGoesOnOutOfMemory(t *testing.T) {
	t.Parallel()
	r := outOfMemory()
	w := setup(t, r.options)
	ids := w.send(300)
	r.on(t, w)

	_, err := w.sender.Send(t.Context(), topic, 1)
	require.ErrorIs(t, err, eventbus.ErrUnavailable)

	var failed atomic.Int64
	c := w.consume(w.server.Addr(), eventbus.Config{Concurrency: 8}, eventbus.HandleFunc(func(_ context.Context, e *eventbus.Event) error {
		if w.ledger.begin(e.ID) == 1 && failed.Add(1) <= 50 {
			return eventbus.RetryAfter(100*time.Millisecond, errPlain)
		}
		w.ledger.end(e.ID)
		return nil
	}))
	w.ledger.awaitAll(t, ids, 30*time.Second)
	w.awaitEmpty(patience)
	require.NoError(t, c.Health(t.Context()), "consuming is healthy")
	_, err = w.sender.Send(t.Context(), topic, 1)
	require.ErrorIs(t, err, eventbus.ErrUnavailable)
	require.Equal(t, len(ids)+50, w.ledger.runs())

	// An operator can steer meanwhile, and a worker leave in good order.
	require.NoError(t, w.sender.Topics().Disable(t.Context(), topic))
	require.NoError(t, w.sender.Topics().Enable(t.Context(), topic))
	other := w.consume(w.server.Addr(), eventbus.Config{}, w.ledger.handle(0))
	require.Less(t, other.stop(patience), closeAtOnce)
	r.off(t, w)
	w.ledger.awaitAll(t, w.send(10), 10*time.Second)
	c.stop(patience)
	w.requireNothingHeld()
}

// names are the ids that the next call of send in a fresh world gives.
func names(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("e%d", i+1)
	}
	return ids
}
