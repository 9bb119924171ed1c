package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/internal/redistest"
)

func open(t *testing.T, rdb redis.UniversalClient) *store.Store {
	t.Helper()
	s, err := store.Open(rdb, "ns")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestCheckRefusesAnotherLayout(t *testing.T) {
	t.Parallel()
	_, rdb := redistest.Miniredis(t)
	s := open(t, rdb)
	require.NoError(t, s.Check(t.Context()))
	require.NoError(t, s.Check(t.Context()), "its own layout is right")
	for _, other := range []string{"2", "", "10"} {
		require.NoError(t, rdb.Set(t.Context(), "ns:layout", other, 0).Err())
		require.ErrorIs(t, s.Check(t.Context()), errs.LayoutMismatch)
		require.Equal(t, other, rdb.Get(t.Context(), "ns:layout").Val(), "it is not touched")
	}
	require.NoError(t, rdb.Del(t.Context(), "ns:layout").Err())
	require.NoError(t, rdb.LPush(t.Context(), "ns:layout", "x").Err())
	require.ErrorIs(t, s.Check(t.Context()), errs.WrongType)
}

func TestCheckSaysWhyAServerCannotBeUsed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{Password: "right"})
	wrong := server.Options()
	wrong.Password = "wrong"
	none := server.Options()
	none.Password = ""
	for _, o := range []*redis.Options{wrong, none} {
		rdb := redis.NewClient(o)
		err := open(t, rdb).Check(t.Context())
		require.ErrorIs(t, err, errs.Unavailable)
		require.ErrorContains(t, err, "password")
		require.NoError(t, rdb.Close())
	}
	rdb := server.Client(t)
	s := open(t, rdb)
	server.Stop()
	require.ErrorIs(t, s.Check(t.Context()), errs.Unavailable)
}

// The caller's client stays the caller's: it is neither used nor closed, and its
// settings do not weaken the store's deadlines.
func TestOpenLeavesTheCallersClientAlone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	rdb := server.Client(t)
	s, err := store.Open(rdb, "ns")
	require.NoError(t, err)
	require.NoError(t, s.Check(t.Context()))
	require.Zero(t, rdb.PoolStats().TotalConns)
	require.NoError(t, s.Close())
	require.NoError(t, rdb.Ping(t.Context()).Err())
	_, err = store.Open(nil, "ns")
	require.ErrorIs(t, err, errs.InvalidArgument)
}

func TestASilentServerCostsNoMoreThanTheDeadline(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), ReadTimeout: -1, WriteTimeout: -1})
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	s := open(t, rdb)
	require.NoError(t, s.Ping(t.Context()))
	server.Pause()
	began := time.Now()
	err := s.Ping(t.Context())
	require.ErrorIs(t, err, errs.Unavailable)
	require.True(t, store.Unanswered(err))
	require.Less(t, time.Since(began), 20*time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Ping(ctx), context.Canceled)
	server.Resume()
	require.NoError(t, s.Ping(t.Context()))
}

// A block below a second is cut to zero by clients, and that is for ever.
func TestBlockerWaitsForASecondAtLeast(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	blocker := open(t, server.Client(t)).NewBlocker()
	for _, timeout := range []time.Duration{-1, 0, time.Millisecond, 1999 * time.Millisecond} {
		began := time.Now()
		key, element, err := blocker.Pop([]string{"nothing"}, timeout)
		require.NoError(t, err)
		require.Empty(t, key)
		require.Nil(t, element)
		require.GreaterOrEqual(t, time.Since(began), time.Second)
	}
	require.NoError(t, server.Admin().RPush(t.Context(), "b", "\x00\xff").Err())
	key, element, err := blocker.Pop([]string{"a", "b"}, time.Second)
	require.NoError(t, err)
	require.Equal(t, "b", key)
	require.Equal(t, "\x00\xff", string(element))
	require.NoError(t, server.Admin().Set(t.Context(), "c", "x", 0).Err())
	_, _, err = blocker.Pop([]string{"c"}, time.Second)
	require.ErrorIs(t, err, errs.WrongType)
	require.True(t, store.OfTopic(err))
	require.NoError(t, blocker.Close())
	_, _, err = blocker.Pop([]string{"a"}, time.Second)
	require.ErrorIs(t, err, errs.Unavailable)
}
