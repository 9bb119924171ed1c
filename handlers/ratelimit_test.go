package handlers

import (
	"container/heap"
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// counted returns a limited handler and how often it has run.
func counted(middleware eventbus.Middleware) (eventbus.EventHandle, *atomic.Int32) {
	runs := new(atomic.Int32)
	return middleware(eventbus.HandleFunc(func(context.Context, *eventbus.Event) error {
		runs.Add(1)
		return nil
	})), runs
}

func TestRateLimit_ShortWaitsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handle, runs := counted(RateLimit(10, 2))
		start := time.Now()
		for range 2 {
			require.NoError(t, handle.Handle(t.Context(), newEvent("1", "1")))
		}
		require.Zero(t, time.Since(start), "the burst")
		for range 10 {
			require.NoError(t, handle.Handle(t.Context(), newEvent("1", "1")))
		}
		require.InDelta(t, 1, time.Since(start).Seconds(), 0.001)
		require.EqualValues(t, 12, runs.Load())
	})
}

func TestRateLimit_LongWaitsSnooze(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handle, runs := counted(RateLimit(0.5, 1))
		require.NoError(t, handle.Handle(t.Context(), newEvent("1", "1")))
		start := time.Now()
		// Spaced out by the rate.
		for _, want := range []time.Duration{2, 4, 6} {
			err := handle.Handle(t.Context(), newEvent("1", "1"))
			require.ErrorIs(t, err, ErrRateLimited)
			requireOutcome(t, eventbus.Snooze(want*time.Second), err)
		}
		require.Zero(t, time.Since(start))
		require.EqualValues(t, 1, runs.Load())
		// None of them took a token.
		<-time.After(2 * time.Second)
		require.NoError(t, handle.Handle(t.Context(), newEvent("1", "1")))
		require.Equal(t, 2*time.Second, time.Since(start))
	})
}

func TestRateLimit_LeavesTheHandlerHalfOfItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handle, runs := counted(RateLimit(2, 1)) // a token each 500 ms
		require.NoError(t, handle.Handle(t.Context(), newEvent("1", "1")))
		start := time.Now()
		short, cancel := context.WithTimeout(t.Context(), 999*time.Millisecond)
		defer cancel()
		err := handle.Handle(short, newEvent("1", "1"))
		requireOutcome(t, eventbus.Snooze(500*time.Millisecond), err)
		require.Zero(t, time.Since(start))
		long, cancel := context.WithTimeout(t.Context(), 1000*time.Millisecond)
		defer cancel()
		require.NoError(t, handle.Handle(long, newEvent("1", "1")))
		require.Equal(t, 500*time.Millisecond, time.Since(start))
		require.EqualValues(t, 2, runs.Load())

		over, cancel := context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		require.ErrorIs(t, handle.Handle(over, newEvent("1", "1")), ErrRateLimited)
	})
}

func TestRateLimit_SnoozeIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handle, _ := counted(RateLimit(0.1, 1))
		require.NoError(t, handle.Handle(t.Context(), newEvent("1", "1")))
		var err error
		for range 100 {
			err = handle.Handle(t.Context(), newEvent("1", "1"))
		}
		requireOutcome(t, eventbus.Snooze(maxLimitSnooze), err)

		handle, _ = counted(RateLimit(0.001, 1)) // one token takes longer than that
		require.NoError(t, handle.Handle(t.Context(), newEvent("1", "1")))
		requireOutcome(t, eventbus.Snooze(1000*time.Second), handle.Handle(t.Context(), newEvent("1", "1")))
	})
}

func TestRateLimit_StopWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handle, runs := counted(RateLimit(2, 1))
		require.NoError(t, handle.Handle(t.Context(), newEvent("1", "1")))
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		result := make(chan error)
		go func() { result <- handle.Handle(ctx, newEvent("1", "1")) }()
		synctest.Wait()
		cancel(stop)
		err := <-result
		require.ErrorIs(t, err, stop)
		requireOutcome(t, eventbus.Snooze(0), err)
		require.EqualValues(t, 1, runs.Load())
	})
}

func TestRateLimit_NoLimit(t *testing.T) {
	t.Parallel()
	for _, perSecond := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64} {
		synctest.Test(t, func(t *testing.T) {
			handle, runs := counted(RateLimit(perSecond, 0))
			start := time.Now()
			for range 100 {
				require.NoError(t, handle.Handle(t.Context(), newEvent("1", "1")))
			}
			require.Zero(t, time.Since(start), perSecond)
			require.EqualValues(t, 100, runs.Load())
		})
	}
}

func TestRateLimit_DefaultBurst(t *testing.T) {
	t.Parallel()
	for perSecond, burst := range map[float64]int{0.5: 1, 1: 1, 3.7: 3, 100: 100} {
		synctest.Test(t, func(t *testing.T) {
			handle, _ := counted(RateLimit(perSecond, 0))
			start := time.Now()
			for range burst {
				require.NoError(t, handle.Handle(t.Context(), newEvent("1", "1")))
			}
			require.Zero(t, time.Since(start))
			_ = handle.Handle(t.Context(), newEvent("1", "1"))
		})
	}
}

func TestRateLimit_HandlersShareTheTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		middleware := RateLimit(0.5, 2)
		one, _ := counted(middleware)
		other, _ := counted(middleware)
		require.NoError(t, one.Handle(t.Context(), newEvent("1", "1")))
		require.NoError(t, other.Handle(t.Context(), newEvent("1", "1")))
		require.ErrorIs(t, one.Handle(t.Context(), newEvent("1", "1")), ErrRateLimited)
	})
}

// due is a queue of times at which events come back.
type due []time.Time

func (d due) Len() int           { return len(d) }
func (d due) Less(i, j int) bool { return d[i].Before(d[j]) }
func (d due) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *due) Push(x any)        { *d = append(*d, x.(time.Time)) }
func (d *due) Pop() any          { last := (*d)[len(*d)-1]; *d = (*d)[:len(*d)-1]; return last }

// A thousand events at once, each coming back when it was told to: the rate is
// kept and used up, and an event is put off about as often as the cap makes it,
// not once for each that goes before it.
func TestRateLimit_Backlog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const events, rate, burst = 1000, 10, 10
		l := newLimit(rate, burst)
		start := time.Now()
		now, puttings, queue := start, 0, make(due, events)
		for i := range queue {
			queue[i] = start
		}
		var ran []time.Time
		for len(queue) > 0 {
			now = heap.Pop(&queue).(time.Time)
			wait, snooze := l.take(now, 0)
			require.Zero(t, wait)
			if snooze > 0 {
				puttings++
				heap.Push(&queue, now.Add(snooze))
				continue
			}
			ran = append(ran, now)
		}
		for i, at := range ran {
			require.GreaterOrEqual(t, at.Sub(start).Seconds(), float64(i+1-burst)/rate-0.001)
		}
		require.InDelta(t, (events-burst)/rate, now.Sub(start).Seconds(), 5)
		require.Less(t, puttings, 3*events)
	})
}
