package admin_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

func TestReplayIsAJob(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	bury(t, s, rdb, 3000)

	j, err := s.ReplayFailures(t.Context(), topic, "", eventbus.FailureFilter{All: true})
	require.NoError(t, err)
	require.Equal(t, admin.JobReplay, j.Kind)
	require.Equal(t, topic, j.Topic)
	require.Equal(t, "default", j.Group)
	require.EqualValues(t, 3000, j.Total)
	j = ended(t, s, j.ID)
	require.Equal(t, admin.JobDone, j.State)
	require.EqualValues(t, 3000, j.Moved)
	require.WithinDuration(t, time.Now(), j.Started, time.Minute)
	require.False(t, j.Updated.Before(j.Started))
	require.Positive(t, rdb.TTL(t.Context(), "eventbus:job:"+j.ID).Val())

	stats, err := s.Stats(t.Context(), topic)
	require.NoError(t, err)
	require.EqualValues(t, 3000, stats[0].Waiting)
	require.Zero(t, stats[0].Dead)

	// Another service of the namespace knows it.
	other, err := admin.New(rdb, eventbus.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	same, err := other.GetJob(t.Context(), j.ID)
	require.NoError(t, err)
	require.Equal(t, j, same)
}

// A job is its server's: it goes on when the connection that began it ends, be it
// before the answer.
func TestJobOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	address, _ := serve(t, s, admin.ServerConfig{})
	for what, patience := range map[string]time.Duration{"after the answer": time.Minute, "before it": 100 * time.Millisecond} {
		require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
		bury(t, s, rdb, 10_000)
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

func TestWrongReplayIsNoJob(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	for what, want := range map[string]struct {
		topic, group string
		filter       eventbus.FailureFilter
		err          error
	}{
		"nothing picked": {topic, "", eventbus.FailureFilter{}, eventbus.ErrInvalidArgument},
		"two picks":      {topic, "", eventbus.FailureFilter{IDs: []string{"x"}, All: true}, eventbus.ErrInvalidArgument},
		"no topic":       {"none", "", eventbus.FailureFilter{All: true}, eventbus.ErrTopicNotFound},
		"no group":       {topic, "none", eventbus.FailureFilter{All: true}, eventbus.ErrGroupNotFound},
		"braces":         {"a{b}", "", eventbus.FailureFilter{All: true}, eventbus.ErrInvalidArgument},
	} {
		_, err := s.ReplayFailures(t.Context(), want.topic, want.group, want.filter)
		require.ErrorIs(t, err, want.err, what)
		_, err = s.DiscardFailures(t.Context(), want.topic, want.group, want.filter)
		require.ErrorIs(t, err, want.err, what)
	}
	keys, err := rdb.Keys(t.Context(), "eventbus:job:*").Result()
	require.NoError(t, err)
	require.Empty(t, keys)

	_, err = s.GetJob(t.Context(), "none")
	require.ErrorIs(t, err, admin.ErrJobNotFound)
	_, err = s.CancelJob(t.Context(), "none")
	require.ErrorIs(t, err, admin.ErrJobNotFound)
	exists, err := rdb.Exists(t.Context(), "eventbus:job:none").Result()
	require.NoError(t, err)
	require.Zero(t, exists)
}

// slow makes every step of a replay take a while: the server pauses before each.
func slow(t *testing.T, rdb *redis.Client) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	other := redis.NewClient(rdb.Options())
	go func() {
		var err error
		for ctx.Err() == nil && err == nil {
			err = other.Do(context.Background(), "CLIENT", "PAUSE", "20").Err()
		}
		failed <- err
	}()
	return func() {
		cancel()
		require.NoError(t, <-failed)
		require.NoError(t, other.Close())
	}
}

func TestJobIsCancelled(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	bury(t, s, rdb, 10_000)
	other, err := admin.New(rdb, eventbus.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	for by, canceller := range map[string]*admin.Service{"its own": s, "another": other} {
		stop := slow(t, rdb)
		j, err := s.ReplayFailures(t.Context(), topic, "", eventbus.FailureFilter{All: true})
		require.NoError(t, err)
		require.Equal(t, admin.JobRunning, j.State, by)
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
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	bury(t, s, rdb, 10_000)
	closed, err := admin.New(rdb, eventbus.Config{})
	require.NoError(t, err)
	stop := slow(t, rdb)
	j, err := closed.ReplayFailures(t.Context(), topic, "", eventbus.FailureFilter{All: true})
	require.NoError(t, err)
	require.Equal(t, admin.JobRunning, j.State)
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

func TestJobsAreBounded(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	bury(t, s, rdb, 10_000)
	stop := slow(t, rdb)
	defer stop()
	errs := make(chan error)
	for range 20 {
		go func() {
			_, err := s.DiscardFailures(t.Context(), topic, "", eventbus.FailureFilter{All: true})
			errs <- err
		}()
	}
	refused := 0
	for range 20 {
		if err := <-errs; err != nil {
			require.ErrorIs(t, err, admin.ErrTooManyJobs)
			refused++
		}
	}
	require.Equal(t, 4, refused)
}

func TestFailedJobSaysWhy(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	bury(t, s, rdb, 10_000)
	stop := slow(t, rdb)
	defer stop()
	j, err := s.ReplayFailures(t.Context(), topic, "", eventbus.FailureFilter{All: true})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		j, err = s.GetJob(t.Context(), j.ID)
		require.NoError(t, err)
		return j.Moved > 0
	}, time.Minute, time.Millisecond)
	require.NoError(t, rdb.Rename(t.Context(), "eventbus:{orders}:queue:default", "elsewhere").Err())
	require.NoError(t, rdb.Set(t.Context(), "eventbus:{orders}:queue:default", "x", 0).Err())
	j = ended(t, s, j.ID)
	require.Equal(t, admin.JobFailed, j.State)
	require.Contains(t, j.Error, "another type")
	require.True(t, strings.HasPrefix(j.Error, "replay failures of topic \"orders\""), j.Error)
}

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

// within requires that f returns in time.
func within(t *testing.T, most time.Duration, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(most):
		require.FailNow(t, what+" hangs")
	}
}

// A server that says nothing any more holds up nobody, whatever the timeouts of the
// caller's client are.
func TestSilentRedisHoldsUpNobody(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Options{}).Client(t)
	patient := redis.NewClient(&redis.Options{Addr: rdb.Options().Addr, ReadTimeout: -1})
	defer func() { require.NoError(t, patient.Close()) }()
	s, err := admin.New(patient, eventbus.Config{})
	require.NoError(t, err)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	bury(t, s, rdb, 10_000)
	var pid int
	text, err := rdb.Info(t.Context(), "server").Result()
	require.NoError(t, err)
	_, text, _ = strings.Cut(text, "process_id:")
	_, err = fmt.Sscan(text, &pid)
	require.NoError(t, err)
	stop := slow(t, rdb)
	j, err := s.ReplayFailures(t.Context(), topic, "", eventbus.FailureFilter{All: true})
	require.NoError(t, err)
	require.Equal(t, admin.JobRunning, j.State)
	stop()
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	defer func() { require.NoError(t, syscall.Kill(pid, syscall.SIGCONT)) }()

	within(t, 20*time.Second, "GetJob", func() { _, err = s.GetJob(t.Context(), j.ID) })
	require.ErrorIs(t, err, eventbus.ErrUnavailable)
	within(t, 4*time.Second, "Close", func() { err = s.Close() })
	require.NoError(t, err)
}

// The end of a job that cannot be told, since Redis is away, holds up no stop.
func TestCloseInAnOutageIsShort(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Options{}).Client(t)
	s, err := admin.New(rdb, eventbus.Config{})
	require.NoError(t, err)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	bury(t, s, rdb, 10_000)
	stop := slow(t, rdb)
	j, err := s.ReplayFailures(t.Context(), topic, "", eventbus.FailureFilter{All: true})
	require.NoError(t, err)
	stop()
	require.Equal(t, admin.JobRunning, j.State)
	_ = rdb.ShutdownNoSave(t.Context()).Err() // its connection ends without a reply
	require.Eventually(t, func() bool {
		_, err := s.GetJob(t.Context(), j.ID)
		return errors.Is(err, eventbus.ErrUnavailable)
	}, 10*time.Second, time.Millisecond)
	within(t, 4*time.Second, "Close", func() { err = s.Close() })
	require.NoError(t, err)
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
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	bury(t, s, rdb, 10_000)
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
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	bury(t, s, rdb, 10_000)
	stop := slow(t, rdb)
	defer stop()
	j, err := s.ReplayFailures(t.Context(), topic, "", eventbus.FailureFilter{All: true})
	require.NoError(t, err)
	require.NoError(t, rdb.Del(t.Context(), "eventbus:job:"+j.ID).Err())
	var again admin.Job
	require.Eventually(t, func() bool {
		again, err = s.GetJob(t.Context(), j.ID)
		return err == nil
	}, 10*time.Second, time.Millisecond)
	require.Equal(t, j.Started, again.Started)
}

func TestJobPicksABoundedNumberOfIDs(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	ids := make([]string, 1001)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}
	_, err := s.DiscardFailures(t.Context(), topic, "", eventbus.FailureFilter{IDs: ids})
	var wrong *eventbus.ArgumentError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, "ids", wrong.Field)
	_, err = s.DiscardFailures(t.Context(), topic, "", eventbus.FailureFilter{IDs: ids[:admin.MaxJobIDs]})
	require.NoError(t, err)
}
