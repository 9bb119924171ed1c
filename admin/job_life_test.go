package admin_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
)

// A job is its server's: it goes on when the connection that began it ends, be it
// before the answer.
func TestJobOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	address, _ := serve(t, s, admin.ServerConfig{})
	for what, patience := range map[string]time.Duration{"after the answer": time.Minute, "before it": 100 * time.Millisecond} {
		buried(t, s, rdb, 10_000)
		stop := slow(t, rdb)
		c, err := admin.NewClient(admin.ClientConfig{Address: address})
		require.NoError(t, err)
		require.NoError(t, c.Ping(t.Context()), what)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		j, err := c.ReplayFailures(ctx, topic, "", eventbus.FailureFilter{All: true})
		if cancel(); err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded, what)
			require.Eventually(t, func() bool {
				keys, err := rdb.Keys(t.Context(), "eventbus:job:*").Result()
				require.NoError(t, err)
				j.ID = strings.TrimPrefix(strings.Join(keys, ""), "eventbus:job:")
				return j.ID != ""
			}, 10*time.Second, time.Millisecond, what)
		}
		require.NoError(t, c.Close())
		now, err := s.GetJob(t.Context(), j.ID)
		require.NoError(t, err, what)
		require.Equal(t, admin.JobRunning, now.State, what)
		stop()
		j = ended(t, s, j.ID)
		require.Equal(t, admin.JobDone, j.State, what)
		require.EqualValues(t, 10_000, j.Moved, what)
		require.NoError(t, s.DeleteTopic(t.Context(), topic))
		require.NoError(t, rdb.Del(t.Context(), "eventbus:job:"+j.ID).Err())
	}
}

func TestJobIsCancelled(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	buried(t, s, rdb, 10_000)
	other, err := admin.New(rdb, eventbus.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	for by, canceller := range map[string]*admin.Service{"its own": s, "another": other} {
		j, stop := underWay(t, s, rdb)
		_, err = canceller.CancelJob(t.Context(), j.ID)
		require.NoError(t, err)
		j = ended(t, s, j.ID)
		stop()
		require.Equal(t, admin.JobCancelled, j.State, by)
		require.Less(t, j.Moved, j.Total, by)

		// Nothing is lost: what it moved waits, the rest is dead.
		stats, err := s.Stats(t.Context(), topic)
		require.NoError(t, err)
		require.EqualValues(t, 10_000, stats[0].Waiting+stats[0].Dead, by)
		again, err := s.CancelJob(t.Context(), j.ID) // one that has ended stays as it is
		require.NoError(t, err)
		require.Equal(t, admin.JobCancelled, again.State)
		require.Equal(t, j.Moved, again.Moved)
	}
}

// What runs when a service is closed is interrupted, and so is, after some time,
// what ran in a process that died.
func TestJobIsInterrupted(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	buried(t, s, rdb, 10_000)
	closed, err := admin.New(rdb, eventbus.Config{})
	require.NoError(t, err)
	j, stop := underWay(t, closed, rdb)
	require.NoError(t, closed.Close())
	stop()
	j, err = s.GetJob(t.Context(), j.ID)
	require.NoError(t, err)
	require.Equal(t, admin.JobInterrupted, j.State)
	_, err = closed.ReplayFailures(t.Context(), topic, "", eventbus.FailureFilter{All: true})
	require.ErrorIs(t, err, eventbus.ErrClosed)

	// The rest is replayed by beginning it again.
	again, err := s.ReplayFailures(t.Context(), topic, "", eventbus.FailureFilter{All: true})
	require.NoError(t, err)
	again = ended(t, s, again.ID)
	require.Equal(t, admin.JobDone, again.State)
	require.EqualValues(t, 10_000, j.Moved+again.Moved)

	key := "eventbus:job:" + again.ID
	require.NoError(t, rdb.HSet(t.Context(), key, "state", "running", "updated", time.Now().Add(-10*time.Second).UnixMilli()).Err())
	j, err = s.GetJob(t.Context(), again.ID)
	require.NoError(t, err)
	require.Equal(t, admin.JobRunning, j.State)
	require.NoError(t, rdb.HSet(t.Context(), key, "updated", time.Now().Add(-20*time.Second).UnixMilli()).Err())
	j, err = s.GetJob(t.Context(), again.ID)
	require.NoError(t, err)
	require.Equal(t, admin.JobInterrupted, j.State)
}
