package handlers

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/internal/redistest"
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
		rdb := redistest.Start(t, redistest.Options{}).Client(t)
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
