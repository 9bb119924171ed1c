package dispatch

import (
	"context"
	"errors"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/outcome"
)

func TestContextHasDeadlineOfTimeout(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, b *testBundle) {
		start := time.Now()
		h := NewHandler("h", usual())
		var seen context.Context
		b.run(h, func(ctx context.Context) error {
			seen = ctx
			deadline, ok := ctx.Deadline()
			require.True(t, ok)
			require.Equal(t, 10*time.Second, deadline.Sub(start))
			return ctx.Err()
		})
		require.ErrorIs(t, seen.Err(), context.Canceled, "a context that outlives its run would leak")
	})
}

func TestHandlerThatHeedsItsTimeout(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, b *testBundle) {
		result := b.run(NewHandler("mail", usual()), heeds)
		require.Equal(t, Failed, result.Status)
		require.ErrorIs(t, result.Err, errs.Timeout)
		require.ErrorIs(t, result.Err, context.DeadlineExceeded)
		require.NotErrorIs(t, result.Err, errs.Abandoned)
		require.ErrorContains(t, result.Err, `"mail"`)
		require.ErrorContains(t, result.Err, "10s")
		require.Equal(t, 10*time.Second, result.Took)
	})
}

func TestHandlerThatReturnsBetweenDeadlineAndGivingUp(t *testing.T) {
	t.Parallel()
	own := errors.New("connection reset")
	for name, test := range map[string]struct {
		returns error
		status  Status
		kind    outcome.Kind
		timeout bool
	}{
		"nil has succeeded":        {nil, Succeeded, outcome.Done, false},
		"an error has timed out":   {own, Failed, outcome.Fail, true},
		"a rejection stays one":    {outcome.Reject(own), Failed, outcome.Dead, true},
		"a later attempt stays so": {outcome.RetryAfter(time.Hour, own), Failed, outcome.Later, true},
		"a snooze stays one":       {outcome.Snooze(time.Hour), PutOff, outcome.PutOff, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, 1, func(t *testing.T, b *testBundle) {
				h := NewHandler("h", usual())
				result := b.run(h, func(context.Context) error {
					pass(10*time.Second + abandonGrace - 1)
					return test.returns
				})
				require.Equal(t, test.status, result.Status)
				require.Equal(t, test.timeout, errors.Is(result.Err, errs.Timeout))
				if test.returns != nil {
					require.ErrorIs(t, result.Err, test.returns)
				}
				kind, _ := outcome.Of(result.Err)
				require.Equal(t, test.kind, kind)
				b.requireStats(h, 0, 0, 0)
			})
		})
	}
}

func TestAbandonedRunIsRecordedAndTheJobGoesOn(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, b *testBundle) {
		start := time.Now()
		release := make(chan struct{})
		deaf, next := NewHandler("deaf", usual()), NewHandler("next", usual())
		results := <-b.submit(Task{deaf, ignores(release)}, Task{next, returns(nil)})
		require.Equal(t, 10*time.Second+abandonGrace, time.Since(start))
		require.Equal(t, Failed, results[0].Status)
		require.ErrorIs(t, results[0].Err, errs.Timeout)
		require.ErrorIs(t, results[0].Err, errs.Abandoned)
		require.ErrorContains(t, results[0].Err, `"deaf"`)
		require.ErrorContains(t, results[0].Err, "10s")
		require.Equal(t, 10*time.Second+abandonGrace, results[0].Took)
		require.Equal(t, Succeeded, results[1].Status)
		b.requireStats(deaf, 0, 0, 1)
		require.Equal(t, 1, b.pool.Free(), "the abandoned run must not keep the slot")
		close(release)
		b.requireStats(deaf, 0, 0, 0)
		require.EqualValues(t, 1, b.finished.Load())
	})
}

func TestAbandonedRunThatPanicsAtLastIsForgotten(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, b *testBundle) {
		for _, last := range []func(){func() { panic("late") }, runtime.Goexit} {
			release := make(chan struct{})
			h := NewHandler("deaf", usual())
			result := b.run(h, func(context.Context) error { <-release; last(); return nil })
			require.ErrorIs(t, result.Err, errs.Abandoned)
			close(release)
			b.requireStats(h, 0, 0, 0)
		}
		require.EqualValues(t, 2, b.finished.Load())
	})
}

func TestAbandonedRunsAreCapped(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, b *testBundle) {
		h := NewHandler("deaf", with(func(s *Settings) { s.MaxAbandoned = 2 }))
		release := make(chan struct{})
		for range 2 {
			reason, _ := h.Blocked()
			require.Empty(t, reason)
			require.Equal(t, Failed, b.run(h, ignores(release)).Status)
		}
		reason, wait := h.Blocked()
		require.Equal(t, AtAbandonedCap, reason)
		require.Zero(t, wait)
		result := b.run(h, func(context.Context) error { t.Error("ran at the cap"); return nil })
		require.Equal(t, PutOff, result.Status)
		require.Equal(t, AtAbandonedCap, result.Reason)
		require.NoError(t, result.Err)

		release <- struct{}{}
		b.requireStats(h, 0, 0, 1)
		reason, _ = h.Blocked()
		require.Empty(t, reason)
		require.Equal(t, Succeeded, b.run(h, returns(nil)).Status)
		close(release)
	})
}

// Not parallel: it counts the goroutines of the whole process. Parallel tests
// wait until those that are not have ended.
func TestGoroutinesAreBoundedWhateverHandlersIgnore(t *testing.T) {
	const size, abandonedCap, jobs = 4, 3, 500
	inBubble(t, size, func(t *testing.T, b *testBundle) {
		before := runtime.NumGoroutine()
		h := NewHandler("deaf", with(func(s *Settings) { s.MaxAbandoned = abandonedCap }))
		release := make(chan struct{})
		var all []<-chan []Result
		for range jobs {
			all = append(all, b.submit(Task{h, ignores(release)}, Task{NewHandler("next", usual()), returns(nil)}))
		}
		synctest.Wait()
		require.LessOrEqual(t, runtime.NumGoroutine()-before, size)
		failed, putOff := 0, 0
		for _, done := range all {
			results := <-done
			switch {
			case results[0].Status == Failed:
				failed++
			case results[0].Reason == AtAbandonedCap:
				putOff++
			}
			require.Equal(t, Succeeded, results[1].Status)
		}
		require.Equal(t, jobs, failed+putOff)
		require.LessOrEqual(t, failed, abandonedCap-1+size)
		synctest.Wait()
		_, _, abandoned := h.Stats()
		require.Equal(t, failed, abandoned)
		require.LessOrEqual(t, runtime.NumGoroutine()-before, size+abandoned)
		close(release)
		b.requireStats(h, 0, 0, 0)
	})
}

type typedNil struct{ cause error }

func (e *typedNil) Error() string { return e.cause.Error() }
func (e *typedNil) Unwrap() error { return e.cause }

type textless struct{ text *string }

func (e textless) Error() string { return *e.text }

// fickle is an error that can be printed once.
type fickle struct{ asked *int }

func (e fickle) Error() string {
	if *e.asked++; *e.asked > 1 {
		panic("asked again")
	}
	return "fickle"
}

// Errors are the users': one that panics when it is printed again, in a goroutine
// of the bus, must not end the process.
func TestErrorIsPrintedOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, b *testBundle) {
		asked := 0
		result := b.run(NewHandler("h", usual()), returns(fickle{&asked}))
		require.Equal(t, Failed, result.Status)
		for range 2 {
			require.Equal(t, "fickle", result.Err.Error())
		}
		late := NewHandler("late", with(func(s *Settings) { s.Timeout = time.Second }))
		asked = 0
		result = b.run(late, func(context.Context) error { pass(time.Second); return fickle{&asked} })
		require.ErrorIs(t, result.Err, errs.Timeout)
		require.ErrorContains(t, result.Err, "fickle")
	})
}

func TestBrokenHandlersAreFailures(t *testing.T) {
	t.Parallel()
	own := errors.New("own")
	for name, test := range map[string]struct {
		run   Run
		check func(t *testing.T, err error)
	}{
		"panic with a text": {func(context.Context) error { panic("boom") }, func(t *testing.T, err error) {
			var p *PanicError
			require.ErrorAs(t, err, &p)
			require.Equal(t, "boom", p.Value)
			require.ErrorContains(t, err, "boom")
			require.Contains(t, string(p.Stack), "run_test.go")
		}},
		"panic with nil": {func(context.Context) error { panic(nil) }, func(t *testing.T, err error) {
			var p *runtime.PanicNilError
			require.ErrorAs(t, err, &p)
		}},
		"panic with an error": {func(context.Context) error { panic(own) }, func(t *testing.T, err error) {
			require.ErrorIs(t, err, own)
		}},
		"panic with an outcome is still a failed attempt": {func(context.Context) error { panic(outcome.Snooze(1)) }, func(t *testing.T, err error) {
			kind, _ := outcome.Of(err)
			require.Equal(t, outcome.Fail, kind)
		}},
		"panic with an error that panics": {func(context.Context) error { panic((*typedNil)(nil)) }, func(t *testing.T, err error) {
			kind, _ := outcome.Of(err)
			require.Equal(t, outcome.Fail, kind)
			require.NotEmpty(t, err.Error())
		}},
		"panic with an error that panics when printed": {func(context.Context) error { panic(textless{}) }, func(t *testing.T, err error) {
			var inner textless
			require.False(t, errors.As(err, &inner), "whoever finds it may print it")
		}},
		"an error that panics when unwrapped": {returns((*typedNil)(nil)), func(t *testing.T, err error) {
			var p *PanicError
			require.ErrorAs(t, err, &p)
		}},
		"an error that panics when printed": {returns(textless{}), func(t *testing.T, err error) {
			var p *PanicError
			require.ErrorAs(t, err, &p)
		}},
		"runtime error": {func(context.Context) error { return errors.Join(make([]error, 2)[runtime.NumCPU()+1:]...) }, func(t *testing.T, err error) {
			var r runtime.Error
			require.ErrorAs(t, err, &r)
		}},
		"Goexit": {func(context.Context) error { runtime.Goexit(); return nil }, func(t *testing.T, err error) {
			require.ErrorContains(t, err, "Goexit")
			require.ErrorContains(t, err, `"h"`)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, 1, func(t *testing.T, b *testBundle) {
				h, next := NewHandler("h", usual()), NewHandler("next", usual())
				for range 3 { // the slot comes back each time
					results := <-b.submit(Task{h, test.run}, Task{next, returns(nil)})
					require.Equal(t, Failed, results[0].Status)
					require.ErrorIs(t, results[0].Err, errs.Panic)
					test.check(t, results[0].Err)
					require.Equal(t, Succeeded, results[1].Status)
				}
				b.requireStats(h, 0, 0, 0)
				require.Equal(t, 1, b.pool.Free())
				require.EqualValues(t, 3, b.finished.Load())
			})
		})
	}
}

func TestOutcomesOfHandlers(t *testing.T) {
	t.Parallel()
	own := errors.New("own")
	for _, err := range []error{own, outcome.Reject(own), outcome.RetryAfter(time.Minute, own)} {
		inBubble(t, 1, func(t *testing.T, b *testBundle) {
			result := b.run(NewHandler("h", usual()), returns(err))
			require.Equal(t, Failed, result.Status)
			require.Same(t, err, errors.Unwrap(result.Err), "in time the handler's error is left as it is")
			require.EqualError(t, result.Err, err.Error())
			kind, delay := outcome.Of(err)
			require.Equal(t, kind, result.Kind)
			require.Equal(t, delay, result.Delay)
		})
	}
	inBubble(t, 1, func(t *testing.T, b *testBundle) {
		result := b.run(NewHandler("h", usual()), returns(outcome.Snooze(time.Minute)))
		require.Equal(t, PutOff, result.Status)
		require.Equal(t, Snoozed, result.Reason)
		require.Equal(t, time.Minute, result.Wait)
	})
}

// A timer that still runs, or a parked goroutine, would keep the event's payload
// in memory: with a timeout of minutes and thousands of events a second, gigabytes.
func TestFinishedJobIsNotKeptInMemory(t *testing.T) {
	t.Parallel()
	pool := New(Config{Size: 1})
	defer pool.Stop(t.Context())
	h := NewHandler("h", with(func(s *Settings) { s.Timeout = time.Hour }))
	released := make(chan struct{})
	submit := func() {
		payload := &[1 << 16]byte{}
		runtime.AddCleanup(payload, func(done chan struct{}) { close(done) }, released)
		finished := make(chan struct{})
		pool.Submit(newJob("", func([]Result) { close(finished) },
			Task{h, func(context.Context) error { payload[0] = 1; return nil }}))
		<-finished
	}
	submit()
	require.Eventually(t, func() bool {
		runtime.GC()
		select {
		case <-released:
			return true
		default:
			return false
		}
	}, 5*time.Second, time.Millisecond)
}

func TestHugeTimeoutDoesNotOverflow(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, b *testBundle) {
		h := NewHandler("h", with(func(s *Settings) { s.Timeout = math.MaxInt64 }))
		result := b.run(h, func(context.Context) error { pass(time.Hour); return nil })
		require.Equal(t, Succeeded, result.Status)
	})
}
