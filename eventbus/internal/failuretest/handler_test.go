package failuretest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// Handlers that ignore their context are given up at their timeout and recorded;
// beside them others go on, and however many events wait for such a handler, the
// goroutines stay bounded: at the cap it is given no more until some return.
func TestHandlersThatIgnoreTheirContextAreBounded(t *testing.T) {
	t.Parallel()
	const (
		slots, abandoned = 16, 4
		stuck, quick     = 100, 200
	)
	w := setup(t, "stuck", "quick")
	c := w.consumer(eventbus.Config{Concurrency: slots})
	release := make(chan struct{})
	var inside, most atomic.Int64
	c.Handle("stuck", handler, eventbus.HandleFunc(func(context.Context, *eventbus.Event) error {
		most.Store(max(most.Load(), inside.Add(1)))
		defer inside.Add(-1)
		<-release
		return nil
	}), eventbus.HandleConfig{Timeout: 100 * time.Millisecond, MaxAbandoned: abandoned, Retry: eventbus.RetryPolicy{MaxAttempts: 1}})
	ran := newLedger()
	c.Handle("quick", handler, eventbus.HandleFunc(ran.succeed))
	w.send("stuck", stuck)
	c.start()
	w.eventually("the first to be given up", func() bool { return w.stats("stuck").Dead > 0 })
	w.send("quick", quick)
	w.eventually("the others to go on", func() bool { return w.stats("quick").Done == quick })
	// More are given up only while they were under way when the cap was reached.
	w.eventually("the cap to hold", func() bool {
		s := w.stats("stuck")
		return s.InFlight == 0 && s.Waiting+s.Retrying+s.Dead == stuck
	})
	require.LessOrEqual(t, inside.Load(), int64(slots+abandoned))
	require.GreaterOrEqual(t, inside.Load(), int64(abandoned))
	s := w.stats("stuck")
	require.Equal(t, inside.Load(), s.Dead, "each that was given up is recorded, and no other")
	for _, f := range w.failures("stuck", eventbus.Dead) {
		require.Equal(t, eventbus.ReasonExhausted, f.Reason)
		require.Contains(t, f.Error, "timed out after 100ms")
	}
	close(release)
	w.eventually("the handler to be given the rest", func() bool {
		s := w.stats("stuck")
		return s.Waiting == 0 && s.InFlight == 0
	})
	require.LessOrEqual(t, most.Load(), int64(slots+abandoned))
	w.requireWholeFailures("stuck")
}

// nilError panics in its own methods, as a nil pointer returned as an error does.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// A handler that panics, with whatever, or ends its goroutine, has failed: with
// the reason and, for a panic, the stack; and its process lives.
func TestPanicsAreFailures(t *testing.T) {
	t.Parallel()
	w := setup(t)
	cases := map[string]struct {
		run  func() error
		want string
	}{
		"text":         {func() error { panic("out of order") }, "out of order"},
		"nil":          {func() error { panic(nil) }, "nil"},
		"error":        {func() error { panic(errOnPurpose) }, errOnPurpose.Error()},
		"outcome":      {func() error { panic(eventbus.Snooze(time.Hour)) }, "snoozed"},
		"number":       {func() error { panic(42) }, "42"},
		"nil map":      {func() error { unmade()["a"] = 1; return nil }, "nil map"},
		"nil pointer":  {func() error { var e *eventbus.Event; _ = e.ID; return nil }, "nil pointer"},
		"out of range": {func() error { s := []int{}; i := 3; _ = s[i]; return nil }, "out of range"},
		"bad error":    {func() error { var e *nilError; return e }, "nil pointer"},
		"panics with a bad error": {func() error {
			var e *nilError
			panic(e)
		}, ""},
		"large":  {func() error { panic(strings.Repeat("x", 100<<10)) }, strings.Repeat("x", 3)},
		"goexit": {func() error { runtime.Goexit(); return nil }, "Goexit"},
	}
	ran := newLedger()
	w.handle(topic, func(_ context.Context, e *eventbus.Event) error {
		ran.note(e.ID)
		if c, ok := cases[e.ID]; ok {
			return c.run()
		}
		return nil
	}, once())
	var messages []eventbus.Message
	for name := range cases {
		messages = append(messages, eventbus.Message{ID: name}, eventbus.Message{ID: "beside " + name})
	}
	_, err := w.bus.SendBatch(t.Context(), topic, messages)
	require.NoError(t, err)
	w.idle(topic)
	for _, f := range w.failures(topic, eventbus.Dead) {
		c, ok := cases[f.EventID]
		require.True(t, ok, "%+v", f)
		delete(cases, f.EventID)
		require.Equal(t, eventbus.ReasonExhausted, f.Reason, f.EventID)
		require.Equal(t, 1, f.Attempts)
		require.Contains(t, f.Error, c.want, f.EventID)
		require.Contains(t, f.Error, "handler panicked", f.EventID)
		require.LessOrEqual(t, len(f.Error), 4096)
		if f.EventID != "goexit" && f.EventID != "large" {
			require.Contains(t, f.Error, "handler_test.go", "the stack of %s", f.EventID)
		}
	}
	require.Empty(t, cases, "these have not failed")
	require.Equal(t, len(messages), ran.total())
}

// While a slow topic has more to do than its process can, a quick one beside it
// is served at once.
func TestSlowTopicDelaysNoQuickOne(t *testing.T) {
	t.Parallel()
	const rounds, slots = 200, 16
	w := setup(t, "slow", "quick", "other")
	c := w.consumer(eventbus.Config{Concurrency: slots, StopTimeout: -1})
	var busy atomic.Int64
	c.Handle("slow", handler, eventbus.HandleFunc(func(ctx context.Context, _ *eventbus.Event) error {
		busy.Add(1)
		defer busy.Add(-1)
		timer := time.NewTimer(time.Second)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}))
	ran := make(chan struct{}, rounds)
	c.Handle("quick", handler, eventbus.HandleFunc(func(context.Context, *eventbus.Event) error {
		ran <- struct{}{}
		return nil
	}))
	c.Handle("other", handler, eventbus.HandleFunc(func(context.Context, *eventbus.Event) error { return nil }))
	w.send("slow", 1000)
	c.start()
	w.eventually("the slow topic to fill its part of the pool", func() bool { return busy.Load() >= slots*3/4 })
	var took []time.Duration
	for i := range rounds {
		began := time.Now()
		_, err := w.bus.Send(t.Context(), "quick", i)
		require.NoError(t, err)
		select {
		case <-ran:
		case <-time.After(patience):
			require.Fail(t, "the quick topic starves", w.figures())
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	t.Logf("quick topic: p50 %v, p99 %v, most %v", took[rounds/2], took[rounds*99/100], took[rounds-1])
	require.Less(t, took[rounds*99/100], time.Second)
	require.GreaterOrEqual(t, busy.Load(), int64(slots/2), "the slow topic goes on meanwhile")
	require.Positive(t, w.stats("slow").Waiting)
}

// Failures are retried spread over the whole of their backoff, and not together.
func TestRetriesOfAnOutageAreSpread(t *testing.T) {
	t.Parallel()
	const many, backoff, parts = 1000, 100 * time.Second, 10
	w := setup(t)
	w.handle(topic, func(context.Context, *eventbus.Event) error { return errOnPurpose },
		eventbus.HandleConfig{Retry: eventbus.RetryPolicy{Initial: backoff, Max: backoff}})
	w.send(topic, many)
	w.eventually("all to have failed", func() bool { return w.stats(topic).Failed >= many })
	var spread [parts]int
	all := w.failures(topic, eventbus.Retrying)
	for _, f := range all {
		delay := f.NextAttempt.Sub(f.FailedAt)
		require.GreaterOrEqual(t, delay, time.Duration(0))
		require.LessOrEqual(t, delay, backoff)
		spread[min(int(delay*parts/backoff), parts-1)]++
	}
	for i, n := range spread {
		// The least and the greatest number are five standard deviations away.
		require.InDelta(t, many/parts, n, 50, "failures with a delay in tenth %d: %v", i, spread)
	}
	require.Greater(t, len(all), many*9/10)
}

// Texts of errors are cut to four KiB of UTF-8, whatever is in them.
func TestErrorTextsAreCut(t *testing.T) {
	t.Parallel()
	const length = 100 << 10
	w := setup(t)
	texts := map[string]string{
		"ascii":        strings.Repeat("x", length),
		"two bytes":    strings.Repeat("ä", length/2),
		"shifted":      "x" + strings.Repeat("ä", length/2),
		"four bytes":   strings.Repeat("😀", length/4),
		"no UTF-8":     strings.Repeat("\xff", length),
		"continuation": strings.Repeat("\x80", length),
		"half":         strings.Repeat("\xc3", length),
		"NUL":          strings.Repeat("\x00", length),
		"markup":       strings.Repeat("<", length),
		"mixed":        strings.Repeat("a\xff", length/2),
		"short mixed":  strings.Repeat("a\xff", 2048), // grows when it is repaired
	}
	var messages []eventbus.Message
	for name := range texts {
		messages = append(messages, eventbus.Message{ID: name}, eventbus.Message{ID: "panic " + name})
	}
	w.handle(topic, func(_ context.Context, e *eventbus.Event) error {
		if name, ok := strings.CutPrefix(e.ID, "panic "); ok {
			panic(texts[name])
		}
		return errors.New(texts[e.ID])
	}, once())
	_, err := w.bus.SendBatch(t.Context(), topic, messages)
	require.NoError(t, err)
	w.idle(topic)
	all := w.failures(topic, eventbus.Dead)
	require.Len(t, all, len(messages))
	for _, f := range all {
		require.LessOrEqual(t, len(f.Error), 4096, f.EventID)
		require.True(t, utf8.ValidString(f.Error), f.EventID)
		if text := texts[f.EventID]; utf8.ValidString(text) && text != "" {
			require.Greater(t, len(f.Error), 4090, f.EventID)
			require.Contains(t, f.Error, fmt.Sprintf("(%d bytes in all)", len(text)), "it says how much is missing")
		}
	}
	records, err := w.rdb.HGetAll(t.Context(), key(topic, "failures:default")).Result()
	require.NoError(t, err)
	for field, value := range records {
		require.LessOrEqual(t, len(value), 32<<10, "what stands in Redis for %s", field)
	}
}

// Many handlers of one topic, of which some always fail: only those run again.
func TestOnlyWhatFailedRunsAgain(t *testing.T) {
	t.Parallel()
	const events, handlers = 50, 6
	w := setup(t)
	c := w.consumer(eventbus.Config{})
	var mu sync.Mutex
	runs := map[string]int{}
	for i := range handlers {
		id := fmt.Sprint("h", i)
		c.Handle(topic, id, eventbus.HandleFunc(func(_ context.Context, e *eventbus.Event) error {
			mu.Lock()
			defer mu.Unlock()
			runs[id]++
			if i%2 == 1 {
				return errOnPurpose
			}
			return nil
		}), eventbus.HandleConfig{Retry: eventbus.RetryPolicy{MaxAttempts: 3, Initial: time.Millisecond, Max: time.Millisecond}})
	}
	w.send(topic, events)
	c.start()
	w.idle(topic)
	mu.Lock()
	defer mu.Unlock()
	for i := range handlers {
		want := events
		if i%2 == 1 {
			want = 3 * events
		}
		require.Equal(t, want, runs[fmt.Sprint("h", i)], "runs of handler %d", i)
	}
	require.Len(t, w.failures(topic, eventbus.Dead), events*handlers/2)
}

// unmade returns a map that cannot be written to.
func unmade() map[string]int { return nil }
