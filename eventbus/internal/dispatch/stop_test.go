package dispatch

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/outcome"
)

// stopAfter calls Stop with a context that ends after soft, and returns a channel
// that says how long Stop took.
func (b *testBundle) stopAfter(soft time.Duration) <-chan time.Duration {
	took := make(chan time.Duration, 1)
	ctx, cancel := context.WithTimeout(context.Background(), soft)
	go func() {
		defer cancel()
		start := time.Now()
		b.pool.Stop(ctx)
		took <- time.Since(start)
	}()
	return took
}

func statuses(results []Result) (all []Status) {
	for _, r := range results {
		all = append(all, r.Status)
	}
	return all
}

func TestSoftStopLetsRunningEndAndGivesBackTheRest(t *testing.T) {
	t.Parallel()
	inBubble(t, 2, func(t *testing.T, b *testBundle) {
		h, one := NewHandler("h", usual()), NewHandler("one", limited(1))
		five := func(ctx context.Context) error { pass(5 * time.Second); return ctx.Err() }
		working := b.submit(Task{one, five}, Task{h, returns(nil)})
		synctest.Wait()
		atLimit := b.submit(Task{one, returns(nil)}, Task{h, returns(nil)})
		var waiting []<-chan []Result
		for range 3 {
			waiting = append(waiting, b.submit(Task{h, returns(nil)}))
		}
		b.requireStats(one, 1, 1, 0)
		start := time.Now()
		stopped := b.stopAfter(time.Minute)
		require.Equal(t, []Status{Unfinished, Unfinished}, statuses(<-atLimit))
		for _, done := range waiting {
			require.Equal(t, []Status{Unfinished}, statuses(<-done))
		}
		require.Zero(t, time.Since(start), "what has not started is given back at once")
		require.Zero(t, b.pool.Free())
		require.Equal(t, []Status{Succeeded, Unfinished}, statuses(<-working))
		require.Equal(t, 5*time.Second, <-stopped)
		b.requireStats(one, 0, 0, 0)
		require.Zero(t, b.pool.Running())
	})
}

func TestJobsWaitingForASlotAreGivenBackBeforeTheSlotIsFree(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, b *testBundle) {
		release := make(chan struct{})
		working := b.submit(Task{NewHandler("h", usual()), ignores(release)})
		synctest.Wait()
		waiting := b.submit(Task{NewHandler("h", usual()), returns(nil)})
		stopped := b.stopAfter(time.Minute)
		require.Equal(t, []Status{Unfinished}, statuses(<-waiting))
		require.Equal(t, 1, b.pool.Running())
		close(release)
		require.Equal(t, []Status{Succeeded}, statuses(<-working))
		<-stopped
	})
}

func TestHardStopCancelsWithItsCause(t *testing.T) {
	t.Parallel()
	own := errors.New("own")
	for name, test := range map[string]struct {
		returns error
		status  Status
	}{
		"an error is unfinished":       {own, Unfinished},
		"a later attempt is too":       {outcome.RetryAfter(time.Hour, own), Unfinished},
		"a snooze is too":              {outcome.Snooze(time.Hour), Unfinished},
		"a rejection is a failure":     {outcome.Reject(own), Failed},
		"nil has succeeded":            {nil, Succeeded},
		"the context's own is nothing": {context.Canceled, Unfinished},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, 1, func(t *testing.T, b *testBundle) {
				h := NewHandler("h", guarded(1))
				var cause error
				done := b.submit(Task{h, func(ctx context.Context) error {
					<-ctx.Done()
					cause = context.Cause(ctx)
					pass(grace / 2)
					return test.returns
				}}, Task{h, returns(nil)})
				synctest.Wait()
				stopped := b.stopAfter(2 * time.Second)
				results := <-done
				require.Equal(t, []Status{test.status, Unfinished}, statuses(results))
				require.ErrorIs(t, cause, ErrStopping)
				require.Equal(t, 2*time.Second+grace/2, <-stopped)
				b.requireStats(h, 0, 0, 0)
				b.requireClosed(h) // a stop is no failure of the handler
			})
		})
	}
}

func TestPanicDuringHardStopIsAFailure(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, b *testBundle) {
		done := b.submit(Task{NewHandler("h", usual()), func(ctx context.Context) error {
			<-ctx.Done()
			panic("boom")
		}})
		synctest.Wait()
		<-b.stopAfter(0)
		results := <-done
		require.Equal(t, []Status{Failed}, statuses(results))
		require.ErrorIs(t, results[0].Err, errs.Panic)
	})
}

func TestHandlerThatIgnoresAHardStopIsCutOff(t *testing.T) {
	t.Parallel()
	inBubble(t, 2, func(t *testing.T, b *testBundle) {
		h := NewHandler("h", guarded(1))
		release := make(chan struct{})
		first := b.submit(Task{h, ignores(release)}, Task{h, returns(nil)})
		second := b.submit(Task{h, func(context.Context) error { <-release; return errDown }})
		synctest.Wait()
		require.Equal(t, 2*time.Second+grace, <-b.stopAfter(2*time.Second))
		require.Equal(t, []Status{Unfinished, Unfinished}, statuses(<-first))
		require.Equal(t, []Status{Unfinished}, statuses(<-second))
		b.requireStats(h, 0, 0, 2)
		close(release)
		b.requireStats(h, 0, 0, 0)
		b.requireClosed(h)
		require.EqualValues(t, 2, b.finished.Load())
	})
}

// The instant between the permit for a run and its start belongs to the stop too.
func TestStopBetweenPermitAndStart(t *testing.T) {
	t.Parallel()
	inBubble(t, 2, func(t *testing.T, b *testBundle) {
		h := NewHandler("h", limited(1))
		release := make(chan struct{})
		first := b.submit(Task{h, ignores(release)})
		synctest.Wait()
		second := b.submit(Task{h, func(context.Context) error { t.Error("ran after the stop"); return nil }})
		b.requireStats(h, 1, 1, 0)

		h.mu.Lock() // the second is let in, and sees that only after the stop has begun
		h.limit.resize(2)
		b.pool.beginStop()
		h.mu.Unlock()
		require.Equal(t, []Status{Unfinished}, statuses(<-second))
		b.requireStats(h, 1, 0, 0)
		close(release)
		require.Equal(t, []Status{Succeeded}, statuses(<-first))
	})
}

func TestTimeoutsDuringAStop(t *testing.T) {
	t.Parallel()
	t.Run("before the hard stop it is a failure", func(t *testing.T) {
		t.Parallel()
		inBubble(t, 1, func(t *testing.T, b *testBundle) {
			done := b.submit(Task{NewHandler("h", usual()), heeds})
			synctest.Wait()
			require.Equal(t, 10*time.Second, <-b.stopAfter(time.Minute))
			require.ErrorIs(t, (<-done)[0].Err, errs.Timeout)
		})
	})
	t.Run("abandoned before the hard stop too", func(t *testing.T) {
		t.Parallel()
		inBubble(t, 1, func(t *testing.T, b *testBundle) {
			release := make(chan struct{})
			done := b.submit(Task{NewHandler("h", usual()), ignores(release)})
			synctest.Wait()
			require.Equal(t, 10*time.Second+abandonGrace, <-b.stopAfter(10*time.Second+abandonGrace/2))
			require.ErrorIs(t, (<-done)[0].Err, errs.Abandoned)
			close(release)
		})
	})
	t.Run("after the hard stop it is unfinished", func(t *testing.T) {
		t.Parallel()
		inBubble(t, 1, func(t *testing.T, b *testBundle) {
			release := make(chan struct{})
			h := NewHandler("h", guarded(1))
			done := b.submit(Task{h, ignores(release)})
			synctest.Wait()
			require.Equal(t, 10*time.Second+abandonGrace, <-b.stopAfter(10*time.Second-1))
			require.Equal(t, []Status{Unfinished}, statuses(<-done))
			b.requireClosed(h)
			close(release)
		})
	})
}

func TestStopIsIdempotent(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, b *testBundle) {
		require.Zero(t, <-b.stopAfter(time.Minute), "a pool that never ran has nothing to wait for")
		require.Zero(t, <-b.stopAfter(0))
		var calls sync.WaitGroup
		for range 10 {
			calls.Go(func() { b.pool.Stop(t.Context()) })
		}
		calls.Wait()
	})
	inBubble(t, 1, func(t *testing.T, b *testBundle) {
		done := b.submit(Task{NewHandler("h", usual()), func(ctx context.Context) error {
			<-ctx.Done()
			pass(grace / 2)
			return ctx.Err()
		}})
		synctest.Wait()
		long, short := b.stopAfter(time.Hour), b.stopAfter(time.Second)
		require.Equal(t, time.Second+grace/2, <-short)
		require.Equal(t, time.Second+grace/2, <-long, "the first context to end makes it hard for all")
		require.Equal(t, []Status{Unfinished}, statuses(<-done))
	})
}

func TestSubmitAfterStopGivesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pool := New(Config{Size: 2})
		pool.Stop(t.Context())
		h := NewHandler("h", with(func(s *Settings) { s.Enabled = false })) // Unfinished all the same
		given := make(chan []Result)
		pool.Submit(newJob("", func(results []Result) { given <- results }, Task{h, returns(nil)}))
		require.Equal(t, []Status{Unfinished}, statuses(<-given), "without another Stop")
		synctest.Wait()

		unblock := make(chan struct{})
		var finished []Status
		for range 3 {
			pool.Submit(newJob("", func(results []Result) {
				<-unblock
				finished = append(finished, statuses(results)...)
			}, Task{h, returns(nil)}))
		}
		synctest.Wait()
		require.Equal(t, 3, pool.Running())
		stopped := make(chan struct{})
		go func() { pool.Stop(t.Context()); close(stopped) }()
		synctest.Wait()
		select {
		case <-stopped:
			t.Fatal("Stop returned while a Finish was still to come")
		default:
		}
		close(unblock)
		<-stopped
		require.Equal(t, []Status{Unfinished, Unfinished, Unfinished}, finished)
		require.Zero(t, pool.Running())
	})
}

func TestStopWaitsForABlockedFinish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pool := New(Config{Size: 1})
		pool.Submit(newJob("", func([]Result) { pass(time.Hour) }))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		pool.Stop(ctx)
		require.Equal(t, time.Hour, time.Since(start))
	})
}
