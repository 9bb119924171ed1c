package dispatch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

func limited(n int) Settings { return with(func(s *Settings) { s.Concurrency = n }) }

func TestConcurrencyLimitIsFirstInFirstOut(t *testing.T) {
	t.Parallel()
	inBubble(t, 8, func(t *testing.T, b *testBundle) {
		h := NewHandler("h", limited(2))
		var order []int
		release := make(chan struct{})
		for i := range 6 {
			b.submit(Task{h, func(context.Context) error {
				order = append(order, i)
				<-release
				return nil
			}})
			synctest.Wait()
		}
		b.requireStats(h, 2, 4, 0)
		for i := 2; i < 6; i++ {
			release <- struct{}{}
			b.requireStats(h, 2, 5-i, 0)
		}
		close(release)
		b.requireStats(h, 0, 0, 0)
		require.Equal(t, []int{0, 1, 2, 3, 4, 5}, order)
	})
}

func TestConcurrencyIsRaisedAndLoweredWhileTasksWait(t *testing.T) {
	t.Parallel()
	inBubble(t, 8, func(t *testing.T, b *testBundle) {
		h := NewHandler("h", limited(1))
		release := make(chan struct{})
		for range 6 {
			b.submit(Task{h, ignores(release)})
		}
		b.requireStats(h, 1, 5, 0)
		h.Apply(limited(3))
		b.requireStats(h, 3, 3, 0)
		h.Apply(limited(1))
		b.requireStats(h, 3, 3, 0)
		release <- struct{}{}
		b.requireStats(h, 2, 3, 0)
		release <- struct{}{}
		b.requireStats(h, 1, 3, 0)
		release <- struct{}{}
		b.requireStats(h, 1, 2, 0)
		h.Apply(limited(0))
		b.requireStats(h, 3, 0, 0)
		h.Apply(limited(1))
		b.submit(Task{h, ignores(release)})
		b.requireStats(h, 3, 1, 0)
		close(release)
		b.requireStats(h, 0, 0, 0)
		require.EqualValues(t, 7, b.finished.Load())
	})
}

func TestTimeoutStartsAfterWaitingForTheLimit(t *testing.T) {
	t.Parallel()
	inBubble(t, 4, func(t *testing.T, b *testBundle) {
		h := NewHandler("h", limited(1))
		eight := func(ctx context.Context) error {
			select {
			case <-time.After(8 * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		var all []<-chan []Result
		for range 4 {
			all = append(all, b.submit(Task{h, eight}))
		}
		for _, done := range all {
			result := (<-done)[0]
			require.Equal(t, Succeeded, result.Status)
			require.Equal(t, 8*time.Second, result.Took)
		}
	})
}

func TestAbandonedRunLeavesTheLimit(t *testing.T) {
	t.Parallel()
	inBubble(t, 2, func(t *testing.T, b *testBundle) {
		h := NewHandler("h", limited(1))
		release := make(chan struct{})
		deaf := b.submit(Task{h, ignores(release)})
		synctest.Wait() // so that this one comes first
		waits := b.submit(Task{h, returns(nil)})
		b.requireStats(h, 1, 1, 0)
		require.ErrorIs(t, (<-deaf)[0].Err, errs.Abandoned)
		require.Equal(t, Succeeded, (<-waits)[0].Status)
		close(release)
	})
}

func TestCapThatIsReachedWhileWaiting(t *testing.T) {
	t.Parallel()
	inBubble(t, 3, func(t *testing.T, b *testBundle) {
		h := NewHandler("h", with(func(s *Settings) { s.Concurrency, s.MaxAbandoned = 1, 1 }))
		release := make(chan struct{})
		b.submit(Task{h, ignores(release)})
		synctest.Wait() // so that this one comes first
		first, second := b.submit(Task{h, returns(nil)}), b.submit(Task{h, returns(nil)})
		require.Equal(t, AtAbandonedCap, (<-first)[0].Reason)
		require.Equal(t, AtAbandonedCap, (<-second)[0].Reason)
		b.requireStats(h, 0, 0, 1)
		close(release)
	})
}

func TestDisabledHandlerPutsOff(t *testing.T) {
	t.Parallel()
	off := with(func(s *Settings) { s.Enabled, s.Concurrency = false, 1 })
	inBubble(t, 3, func(t *testing.T, b *testBundle) {
		h := NewHandler("h", off)
		reason, wait := h.Blocked()
		require.Equal(t, Disabled, reason)
		require.Zero(t, wait)
		result := b.run(h, func(context.Context) error { t.Error("ran though disabled"); return nil })
		require.Equal(t, PutOff, result.Status)
		require.Equal(t, Disabled, result.Reason)

		h.Apply(limited(1))
		reason, _ = h.Blocked()
		require.Empty(t, reason)
		release := make(chan struct{})
		runs := b.submit(Task{h, ignores(release)})
		synctest.Wait() // so that this one comes first
		waits := b.submit(Task{h, returns(nil)})
		b.requireStats(h, 1, 1, 0)
		h.Apply(off)
		require.Equal(t, Disabled, (<-waits)[0].Reason, "a waiting task must not hold its slot meanwhile")
		close(release)
		require.Equal(t, Succeeded, (<-runs)[0].Status)
		require.Equal(t, off, h.Settings())
	})
}

func TestAppliedTimeoutHoldsForTheNextRun(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, b *testBundle) {
		h := NewHandler("h", usual())
		running := b.submit(Task{h, heeds})
		synctest.Wait()
		h.Apply(with(func(s *Settings) { s.Timeout = time.Second }))
		require.Equal(t, 10*time.Second, (<-running)[0].Took)
		require.Equal(t, time.Second, b.run(h, heeds).Took)
	})
}
