package admin_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
)

// refuseJobs lets a user use all but the records of jobs.
func refuseJobs(t *testing.T, rdb *redis.Client, user string) {
	t.Helper()
	require.NoError(t, rdb.ACLSetUser(t.Context(), user, "on", "nopass", "resetkeys", "~eventbus:{*", "~eventbus:topics", "~eventbus:layout",
		"~eventbus:revision", "~eventbus:consumers*", "&*", "+@all").Err())
}

// asUser returns a service of a user who may do all.
func asUser(t *testing.T, rdb *redis.Client, user string) *admin.Service {
	t.Helper()
	require.NoError(t, rdb.ACLSetUser(t.Context(), user, "on", "nopass", "allkeys", "&*", "+@all").Err())
	o := *rdb.Options()
	o.Username, o.Password = user, "any"
	own := redis.NewClient(&o)
	t.Cleanup(func() { require.NoError(t, own.Close()) })
	s, err := admin.New(own, eventbus.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestRefusedRecordSaysWhatToAllow(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	refused := asUser(t, rdb, "refused")
	refuseJobs(t, rdb, "refused")
	_, err := refused.ReplayFailures(t.Context(), topic, "", eventbus.FailureFilter{All: true})
	require.ErrorIs(t, err, eventbus.ErrUnavailable)
	require.ErrorContains(t, err, "the server's ACL refuses this user")
	_, err = refused.GetJob(t.Context(), "x")
	require.ErrorContains(t, err, "the server's ACL refuses this user")

	// What is wrong with the filter is told first.
	_, err = refused.ReplayFailures(t.Context(), topic, "", eventbus.FailureFilter{})
	require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
}

// A job that has begun is no error, and is cancelled where it runs, also while its
// record cannot be read.
func TestJobGoesOnWithoutItsRecord(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	buried(t, s, rdb, 10_000)
	refused := asUser(t, rdb, "refused")
	stop := slow(t, rdb)
	defer stop()
	begun := make(chan admin.Job, 1)
	failed := make(chan error, 1)
	go func() {
		j, err := refused.ReplayFailures(t.Context(), topic, "", eventbus.FailureFilter{All: true})
		begun <- j
		failed <- err
	}()
	require.Eventually(t, func() bool {
		keys, err := rdb.Keys(t.Context(), "eventbus:job:*").Result()
		require.NoError(t, err)
		return len(keys) == 1
	}, 10*time.Second, time.Millisecond)
	refuseJobs(t, rdb, "refused")
	j := <-begun
	require.NoError(t, <-failed)
	require.Equal(t, admin.JobRunning, j.State)
	require.NotEmpty(t, j.ID)
	require.EqualValues(t, 10_000, j.Total)
	require.False(t, j.Started.IsZero())

	_, err := refused.CancelJob(t.Context(), j.ID)
	require.NoError(t, err)
	_, err = refused.CancelJob(t.Context(), "of another")
	require.ErrorIs(t, err, eventbus.ErrUnavailable)
	require.NoError(t, rdb.ACLSetUser(t.Context(), "refused", "allkeys").Err())
	j = ended(t, s, j.ID)
	require.Equal(t, admin.JobCancelled, j.State)
}

// A record that was evicted comes back as it was.
func TestEvictedRecordComesBack(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	buried(t, s, rdb, 10_000)
	j, stop := underWay(t, s, rdb)
	defer stop()
	require.NoError(t, rdb.Del(t.Context(), "eventbus:job:"+j.ID).Err())
	var again admin.Job
	require.Eventually(t, func() bool {
		var err error
		again, err = s.GetJob(t.Context(), j.ID)
		return err == nil
	}, 10*time.Second, time.Millisecond)
	require.Equal(t, j.Started, again.Started)
}
