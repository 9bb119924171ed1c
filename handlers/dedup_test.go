package handlers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// dedupBundle is a store and how time passes for it.
type dedupBundle struct {
	DedupStore
	unit time.Duration // a lease or window
	pass func()        // returns when a unit has passed
}

// eachStore runs a test over every store.
func eachStore(t *testing.T, test func(t *testing.T, store dedupBundle)) {
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			test(t, dedupBundle{NewMemoryDedup(0), time.Minute, func() { <-time.After(time.Minute) }})
		})
	})
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		server, rdb := startMiniredis(t)
		test(t, dedupBundle{NewRedisDedup(rdb, ""), time.Minute, func() { server.FastForward(time.Minute) }})
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		rdb := startRedis(t)
		test(t, dedupBundle{NewRedisDedup(rdb, "p:"), time.Minute, func() { expire(t, rdb, time.Minute) }})
	})
}

func startMiniredis(t *testing.T) (*miniredis.Miniredis, *redis.Client) {
	t.Helper()
	server := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	return server, rdb
}

// expire makes a real server's keys, each of which must have a time to live of at
// most that, end now.
func expire(t *testing.T, rdb *redis.Client, most time.Duration) {
	t.Helper()
	for _, key := range rdb.Keys(t.Context(), "*").Val() {
		left := rdb.PTTL(t.Context(), key).Val()
		require.Positive(t, left)
		require.LessOrEqual(t, left, most)
		require.NoError(t, rdb.PExpire(t.Context(), key, time.Millisecond).Err())
	}
	require.Eventually(t, func() bool { return len(rdb.Keys(t.Context(), "*").Val()) == 0 }, 10*time.Second, time.Millisecond)
}

func claim(t *testing.T, store dedupBundle, key, token string) DedupState {
	t.Helper()
	state, err := store.Claim(t.Context(), key, token, store.unit)
	require.NoError(t, err)
	return state
}

func TestDedupStore_ClaimAndDone(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s dedupBundle) {
		require.Equal(t, DedupClaimed, claim(t, s, "k", "a"))
		require.Equal(t, DedupClaimed, claim(t, s, "k", "a"), "its own again")
		require.Equal(t, DedupInProgress, claim(t, s, "k", "b"))
		require.Equal(t, DedupClaimed, claim(t, s, "other", "b"))
		require.NoError(t, s.Done(t.Context(), "k", s.unit))
		require.Equal(t, DedupDone, claim(t, s, "k", "a"))
		require.Equal(t, DedupDone, claim(t, s, "k", "b"))
		s.pass()
		require.Equal(t, DedupClaimed, claim(t, s, "k", "b"), "after the window")
	})
}

func TestDedupStore_Release(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s dedupBundle) {
		require.Equal(t, DedupClaimed, claim(t, s, "k", "a"))
		require.NoError(t, s.Release(t.Context(), "k", "b"), "not its own")
		require.Equal(t, DedupInProgress, claim(t, s, "k", "b"))
		require.NoError(t, s.Release(t.Context(), "k", "a"))
		require.Equal(t, DedupClaimed, claim(t, s, "k", "b"))
		require.NoError(t, s.Release(t.Context(), "k", "a"), "no longer its own")
		require.Equal(t, DedupInProgress, claim(t, s, "k", "a"))
		require.NoError(t, s.Done(t.Context(), "k", s.unit))
		require.NoError(t, s.Release(t.Context(), "k", "b"), "what is done stays done")
		require.Equal(t, DedupDone, claim(t, s, "k", "b"))
	})
}

func TestDedupStore_LeaseEnds(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s dedupBundle) {
		require.Equal(t, DedupClaimed, claim(t, s, "k", "dead"))
		s.pass()
		require.Equal(t, DedupClaimed, claim(t, s, "k", "b"))
		// The first one had only been slow.
		require.NoError(t, s.Done(t.Context(), "k", s.unit))
		require.NoError(t, s.Release(t.Context(), "k", "b"))
		require.Equal(t, DedupDone, claim(t, s, "k", "c"))
	})
}

func TestMemoryDedup_Capacity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := NewMemoryDedup(2)
		s := dedupBundle{DedupStore: m, unit: time.Minute}
		for _, key := range []string{"1", "2", "1", "3"} { // "1" is younger than "2"
			require.NoError(t, m.Done(t.Context(), key, time.Minute))
		}
		require.Equal(t, DedupDone, claim(t, s, "1", "a"))
		require.Equal(t, DedupDone, claim(t, s, "3", "a"))
		require.Equal(t, DedupClaimed, claim(t, s, "2", "a"))
		require.NoError(t, m.Done(t.Context(), "4", time.Minute))
		require.Equal(t, DedupInProgress, claim(t, s, "2", "b"), "a claim is never forgotten")
		require.Len(t, m.keys, 3)

		<-time.After(time.Minute)
		require.NoError(t, m.Release(t.Context(), "2", "a"))
		require.NoError(t, m.Done(t.Context(), "5", time.Minute))
		require.Len(t, m.keys, 1, "what has passed is given free")
		require.Equal(t, 1, m.done.Len())
	})
}

func TestRedisDedup_Keys(t *testing.T) {
	t.Parallel()
	server, rdb := startMiniredis(t)
	ctx := t.Context()
	r := NewRedisDedup(rdb, "")
	_, err := r.Claim(ctx, "k", "token", 1500*time.Microsecond)
	require.NoError(t, err)
	require.Equal(t, 2*time.Millisecond, server.TTL("eventbus:dedup:k"), "rounded up, and never without end")
	require.NoError(t, r.Done(ctx, "k", time.Nanosecond))
	require.Equal(t, time.Millisecond, server.TTL("eventbus:dedup:k"))
	require.NoError(t, NewRedisDedup(rdb, "p|").Done(ctx, "k", time.Hour))
	require.Equal(t, time.Hour, server.TTL("p|k"))
}

func TestRedisDedup_Errors(t *testing.T) {
	t.Parallel()
	server, rdb := startMiniredis(t)
	ctx := t.Context()
	r := NewRedisDedup(rdb, "")
	server.Lpush("eventbus:dedup:list", "x")
	_, err := r.Claim(ctx, "list", "token", time.Second)
	require.ErrorContains(t, err, "get eventbus:dedup:list: WRONGTYPE")
	require.ErrorContains(t, r.Release(ctx, "list", "token"), "release eventbus:dedup:list: ")
	server.SetError("LOADING")
	_, err = r.Claim(ctx, "k", "token", time.Second)
	require.ErrorContains(t, err, "set eventbus:dedup:k: LOADING")
	require.ErrorContains(t, r.Done(ctx, "k", time.Second), "set eventbus:dedup:k: LOADING")
}

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
