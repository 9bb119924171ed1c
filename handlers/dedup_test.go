package handlers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func TestDeduplicate_SkipsWhatWasHandled(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s dedupBundle) {
		handle, runs := counted(Deduplicate(s, s.unit))
		for range 3 {
			require.NoError(t, handle.Handle(t.Context(), newEvent("1", "1")))
		}
		require.EqualValues(t, 1, runs.Load())
		s.pass()
		require.NoError(t, handle.Handle(t.Context(), newEvent("1", "1")))
		require.EqualValues(t, 2, runs.Load(), "after the window")
	})
}

func TestDeduplicate_KeepsApart(t *testing.T) {
	t.Parallel()
	handle, runs := counted(Deduplicate(NewMemoryDedup(0), 0))
	for _, change := range []func(*eventbus.Event){
		func(*eventbus.Event) {},
		func(e *eventbus.Event) { e.ID = "2" },
		func(e *eventbus.Event) { e.Handler = "h2" },
		func(e *eventbus.Event) { e.Topic = "t2" },
		func(e *eventbus.Event) { e.Group = "g2" },
		func(e *eventbus.Event) { e.Handler, e.ID = "h/h", "h|1" },
		func(e *eventbus.Event) { e.Handler, e.ID = "h/h|h", "1" },
	} {
		event := newEvent("1", "1")
		change(event)
		require.NoError(t, handle.Handle(t.Context(), event))
	}
	require.EqualValues(t, 6, runs.Load(), "all but the last, which no bus would make")
}

func TestDeduplicate_FailureIsNotMarked(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s dedupBundle) {
		results := []error{errors.New("no luck"), eventbus.Snooze(time.Second), eventbus.Reject(nil), nil}
		runs := 0
		handle := Deduplicate(s, s.unit)(eventbus.HandleFunc(func(context.Context, *eventbus.Event) error {
			runs++
			return results[runs-1]
		}))
		for _, want := range results {
			require.Equal(t, want, handle.Handle(t.Context(), newEvent("1", "1")))
		}
		require.NoError(t, handle.Handle(t.Context(), newEvent("1", "1")))
		require.Equal(t, 4, runs)
	})
}

func TestDeduplicate_SecondRunIsPutOff(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s dedupBundle) {
		entered, release := make(chan struct{}), make(chan struct{})
		handle := Deduplicate(s, time.Hour)(eventbus.HandleFunc(func(context.Context, *eventbus.Event) error {
			close(entered)
			<-release
			return nil
		}))
		first := make(chan error)
		go func() { first <- handle.Handle(t.Context(), newEvent("1", "1")) }()
		<-entered
		err := handle.Handle(t.Context(), newEvent("1", "1"))
		require.ErrorIs(t, err, ErrInProgress)
		requireOutcome(t, eventbus.Snooze(dedupSnooze), err)
		close(release)
		require.NoError(t, <-first)
		require.NoError(t, handle.Handle(t.Context(), newEvent("1", "1")))
	})
}

func TestDeduplicate_ManyAtOnceRunOnce(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s dedupBundle) {
		const events, copies = 20, 8
		var mu sync.Mutex
		ran := map[string]int{}
		handle := Deduplicate(s, time.Hour)(eventbus.HandleFunc(func(_ context.Context, e *eventbus.Event) error {
			mu.Lock()
			defer mu.Unlock()
			ran[e.ID]++
			return nil
		}))
		var calls sync.WaitGroup
		for i := range events {
			for range copies {
				calls.Go(func() {
					err := handle.Handle(t.Context(), newEvent(fmt.Sprint(i), "1"))
					if err != nil && !errors.Is(err, ErrInProgress) {
						t.Error(err)
					}
				})
			}
		}
		calls.Wait()
		require.Len(t, ran, events)
		for id, n := range ran {
			require.Equal(t, 1, n, id)
		}
	})
}

func TestDeduplicate_PanicFreesTheClaim(t *testing.T) {
	t.Parallel()
	store := NewMemoryDedup(0)
	panics := Deduplicate(store, 0)(eventbus.HandleFunc(func(context.Context, *eventbus.Event) error { panic("boom") }))
	require.PanicsWithValue(t, "boom", func() { _ = panics.Handle(t.Context(), newEvent("1", "1")) })
	handle, runs := counted(Deduplicate(store, 0))
	require.NoError(t, handle.Handle(t.Context(), newEvent("1", "1")))
	require.EqualValues(t, 1, runs.Load())
}

// A process that dies leaves its claim behind, which ends five seconds after the
// run could at most have lasted.
func TestDeduplicate_DeadProcess(t *testing.T) {
	t.Parallel()
	for _, timeout := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			ctx, left := t.Context(), eventbus.DefaultTimeout
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, timeout)
				defer cancel()
				left = timeout
			}
			store := NewMemoryDedup(0)
			dies := deadStore{store}
			handle, runs := counted(Deduplicate(dies, 0))
			require.NoError(t, handle.Handle(ctx, newEvent("1", "1")))
			handle, again := counted(Deduplicate(store, 0))
			<-time.After(left + dedupGrace - time.Millisecond)
			require.ErrorIs(t, handle.Handle(t.Context(), newEvent("1", "1")), ErrInProgress)
			<-time.After(time.Millisecond)
			require.NoError(t, handle.Handle(t.Context(), newEvent("1", "1")))
			require.EqualValues(t, 1, runs.Load())
			require.EqualValues(t, 1, again.Load())
		})
	}
}

// deadStore claims, and then nothing more comes of it.
type deadStore struct{ DedupStore }

func (deadStore) Done(context.Context, string, time.Duration) error { return errors.New("dead") }
func (deadStore) Release(context.Context, string, string) error     { return errors.New("dead") }

// A run whose context has ended is settled all the same.
func TestDeduplicate_ContextEndsDuringTheRun(t *testing.T) {
	t.Parallel()
	_, rdb := startMiniredis(t)
	store := NewRedisDedup(rdb, "")
	ctx, cancel := context.WithCancel(t.Context())
	handle := Deduplicate(store, 0)(eventbus.HandleFunc(func(context.Context, *eventbus.Event) error {
		cancel()
		return nil
	}))
	require.NoError(t, handle.Handle(ctx, newEvent("1", "1")))
	handle, runs := counted(Deduplicate(store, 0))
	require.NoError(t, handle.Handle(t.Context(), newEvent("1", "1")))
	require.Zero(t, runs.Load())
}

// A store that hangs holds a finished run up for two seconds at most.
func TestDeduplicate_SettlingIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handle, runs := counted(Deduplicate(hangingStore{NewMemoryDedup(0)}, 0))
		start := time.Now()
		require.NoError(t, handle.Handle(t.Context(), newEvent("1", "1")), "it has succeeded")
		require.Equal(t, dedupSettle, time.Since(start))
		require.EqualValues(t, 1, runs.Load())
	})
}

type hangingStore struct{ DedupStore }

func (hangingStore) Done(ctx context.Context, _ string, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestDeduplicate_StoreFails(t *testing.T) {
	t.Parallel()
	server, rdb := startMiniredis(t)
	handle, runs := counted(Deduplicate(NewRedisDedup(rdb, ""), 0))
	server.SetError("MISCONF no disk")
	err := handle.Handle(t.Context(), newEvent("1", "1"))
	require.ErrorContains(t, err, "claim event 1 for deduplication: ")
	var redisError redis.Error
	require.ErrorAs(t, err, &redisError)
	require.Zero(t, runs.Load())
	server.SetError("")
	require.NoError(t, handle.Handle(t.Context(), newEvent("1", "1")))
	require.EqualValues(t, 1, runs.Load())
}

func TestDeduplicate_NilStore(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { Deduplicate(nil, 0) })
}

// A store may answer what this package does not know: the event is not lost.
func TestDeduplicate_UnknownState(t *testing.T) {
	t.Parallel()
	handle, runs := counted(Deduplicate(oddStore{}, 0))
	require.ErrorIs(t, handle.Handle(t.Context(), newEvent("1", "1")), ErrInProgress)
	require.Zero(t, runs.Load())
}

type oddStore struct{ DedupStore }

func (oddStore) Claim(context.Context, string, string, time.Duration) (DedupState, error) {
	return 0, nil
}
