package store_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/internal/redistest"
)

func running(id string) store.Job {
	return store.Job{ID: id, State: "running", Fields: map[string]string{"moved": "1", "error": ""}}
}

func TestJobRecords(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, rdb *redis.Client, _ bool) {
		for name, run := range map[string]func(b *bed){
			"unknown":            unknownJob,
			"ended stays so":     endedJobStaysSo,
			"evicted comes back": evictedJobComesBack,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				run(setup(t, rdb))
			})
		}
	})
}

func unknownJob(b *bed) {
	for _, call := range []func() (store.Job, bool, error){
		func() (store.Job, bool, error) { return b.store.LoadJob(b.Context(), "a") },
		func() (store.Job, bool, error) { return b.store.CancelJob(b.Context(), "a") },
	} {
		_, found, err := call()
		require.NoError(b, err)
		require.False(b, found)
	}
	require.NoError(b, b.store.ForgetJob(b.Context(), "a"))
	require.Zero(b, b.rdb.Exists(b.Context(), b.ns+":job:a").Val())
}

// A beat that nobody waited for any more may come after the end.
func endedJobStaysSo(b *bed) {
	saved, err := b.store.SaveJob(b.Context(), running("a"), time.Hour)
	require.NoError(b, err)
	require.Equal(b, "running", saved.State)
	require.WithinDuration(b, time.Now(), saved.Started, time.Minute)
	done := running("a")
	done.State, done.Fields["moved"], done.Fields["error"] = "done", "2", "e"
	done, err = b.store.SaveJob(b.Context(), done, time.Hour)
	require.NoError(b, err)
	require.Equal(b, "done", done.State)
	late, err := b.store.SaveJob(b.Context(), running("a"), time.Hour)
	require.NoError(b, err)
	late.Silent = done.Silent
	require.Equal(b, done, late)
	require.Equal(b, map[string]string{"moved": "2", "error": "e"}, late.Fields)
}

// A record has a time to live, and a server over its maxmemory may evict it.
func evictedJobComesBack(b *bed) {
	first, err := b.store.SaveJob(b.Context(), running("a"), time.Hour)
	require.NoError(b, err)
	cancelled, found, err := b.store.CancelJob(b.Context(), "a")
	require.NoError(b, err)
	require.True(b, found)
	require.True(b, cancelled.Cancelled)
	require.NoError(b, b.store.ForgetJob(b.Context(), "a"))
	again := running("a")
	again.Started, again.Cancelled = first.Started.Add(-time.Hour), true
	_, err = b.store.SaveJob(b.Context(), again, time.Hour)
	require.NoError(b, err)
	got, found, err := b.store.LoadJob(b.Context(), "a")
	require.NoError(b, err)
	require.True(b, found)
	require.True(b, got.Cancelled)
	require.Equal(b, first.Started.Add(-time.Hour), got.Started)
	require.Positive(b, b.rdb.PTTL(b.Context(), b.ns+":job:a").Val())
}

// Failures are discarded to make room: a server over its maxmemory must let it begin.
func TestJobIsKeptWithoutMemory(t *testing.T) {
	t.Parallel()
	b := setup(t, redistest.Start(t, redistest.Options{}).Client(t))
	require.NoError(t, b.rdb.ConfigSet(t.Context(), "maxmemory", "1mb").Err())
	_, err := b.store.SaveJob(t.Context(), running("a"), time.Hour)
	require.NoError(t, err)
	j, _, err := b.store.CancelJob(t.Context(), "a")
	require.NoError(t, err)
	require.True(t, j.Cancelled)
}

func TestJobErrorsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	b := setup(t, redistest.Start(t, redistest.Options{}).Client(t))
	require.NoError(t, b.rdb.Set(t.Context(), b.ns+":job:a", "x", 0).Err())
	_, err := b.store.SaveJob(t.Context(), running("a"), time.Hour)
	require.ErrorIs(t, err, errs.WrongType)
	require.ErrorContains(t, err, b.ns+":job:a")
	require.NoError(t, b.rdb.ACLSetUser(t.Context(), "u", "on", "nopass", "~"+b.ns+":{*", "&*", "+@all").Err())
	rdb := redis.NewClient(&redis.Options{Addr: b.rdb.Options().Addr, Username: "u", Password: "any"})
	defer func() { require.NoError(t, rdb.Close()) }()
	s, err := store.Open(rdb, b.ns)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	_, _, err = s.LoadJob(t.Context(), "b")
	require.ErrorIs(t, err, errs.Unavailable)
	require.ErrorContains(t, err, "the server's ACL refuses this user")
}
