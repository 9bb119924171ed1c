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

const topic = "orders"

// service returns a service, and its server.
func service(t *testing.T) (*admin.Service, *redis.Client) {
	t.Helper()
	rdb := redistest.Start(t, redistest.Options{}).Client(t)
	s, err := admin.New(rdb, eventbus.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, rdb
}

// run runs a bus with a handler for the test's topic until the function that it
// returns is called.
func run(t *testing.T, rdb *redis.Client, cfg eventbus.Config, f eventbus.HandleFunc) (stop func()) {
	t.Helper()
	ready := make(chan struct{})
	cfg.OnReady = func() { close(ready) }
	b, err := eventbus.New(rdb, cfg)
	require.NoError(t, err)
	b.Handle(topic, "h", f)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- b.Run(ctx) }()
	<-ready
	stop = func() {
		cancel()
		require.NoError(t, <-ran)
		require.NoError(t, b.Close())
	}
	return stop
}

// bury makes n dead failures.
func bury(t *testing.T, s admin.API, rdb *redis.Client, n int) {
	t.Helper()
	stop := run(t, rdb, eventbus.Config{}, func(context.Context, *eventbus.Event) error { return eventbus.Reject(errors.New("on purpose")) })
	defer stop()
	for sent := 0; sent < n; sent += 1000 {
		batch := make([]eventbus.Message, min(1000, n-sent))
		for i := range batch {
			batch[i].Value = sent + i
		}
		_, err := s.SendBatch(t.Context(), topic, batch)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		c, err := s.CountFailures(t.Context(), topic, "")
		require.NoError(t, err)
		return c.Dead == int64(n)
	}, time.Minute, 10*time.Millisecond)
}

func ended(t *testing.T, s admin.API, id string) admin.Job {
	t.Helper()
	var j admin.Job
	require.Eventually(t, func() bool {
		var err error
		j, err = s.GetJob(t.Context(), id)
		require.NoError(t, err)
		return j.State != admin.JobRunning
	}, time.Minute, 5*time.Millisecond)
	return j
}

func TestListsComeInPages(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	var want []string
	for i := range 25 {
		name := fmt.Sprintf("topic-%02d", i)
		want = append(want, name)
		require.NoError(t, s.CreateTopic(t.Context(), name, eventbus.TopicConfig{}))
	}
	var got []string
	var sizes []int
	for page := (admin.Page{Limit: 10}); ; {
		p, err := s.ListTopics(t.Context(), page)
		require.NoError(t, err)
		sizes = append(sizes, len(p.Topics))
		for _, topic := range p.Topics {
			got = append(got, topic.Name)
		}
		if p.Next == "" {
			break
		}
		// What is deleted or made meanwhile moves nothing of the rest.
		page.Cursor = p.Next
	}
	require.Equal(t, want, got)
	require.Equal(t, []int{10, 10, 5}, sizes)

	p, err := s.ListTopics(t.Context(), admin.Page{Limit: 10})
	require.NoError(t, err)
	require.NoError(t, s.DeleteTopic(t.Context(), "topic-09"))
	require.NoError(t, s.CreateTopic(t.Context(), "topic-0", eventbus.TopicConfig{}))
	p, err = s.ListTopics(t.Context(), admin.Page{Limit: 1, Cursor: p.Next})
	require.NoError(t, err)
	require.Equal(t, "topic-10", p.Topics[0].Name)

	for _, bad := range []admin.Page{{Limit: -1}, {Limit: 1001}, {Cursor: "no cursor!"}} {
		_, err := s.ListTopics(t.Context(), bad)
		require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
		_, err = s.ListHandlers(t.Context(), topic, "", bad)
		require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
		_, err = s.ListConsumers(t.Context(), bad)
		require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
	}
}

// A page is never too large for a frame, however large its elements are.
func TestPagesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	groups := make([]eventbus.GroupConfig, 1000)
	for i := range groups {
		groups[i].Name = fmt.Sprintf("%0250d", i)
	}
	for i := range 6 {
		require.NoError(t, s.CreateTopic(t.Context(), fmt.Sprint("t", i), eventbus.TopicConfig{Groups: groups}))
	}
	names := map[string]bool{}
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		p, err := s.ListTopics(t.Context(), admin.Page{Cursor: cursor})
		require.NoError(t, err)
		require.Less(t, len(p.Topics), 6)
		for _, topic := range p.Topics {
			require.False(t, names[topic.Name])
			names[topic.Name] = true
		}
		cursor = p.Next
	}
	require.Len(t, names, 6)
}

// What is wrong with one topic does not take the others away.
func TestTopicsThatCannotBeReadAreListed(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), "spoiled", eventbus.TopicConfig{}))
	require.NoError(t, rdb.Set(t.Context(), "eventbus:{spoiled}:config", "no settings", 0).Err())
	require.NoError(t, s.CreateTopic(t.Context(), "a", eventbus.TopicConfig{}))
	require.NoError(t, s.CreateTopic(t.Context(), "b", eventbus.TopicConfig{}))
	require.NoError(t, rdb.HSet(t.Context(), "eventbus:{a}:config", "deleting", "1").Err())
	address, _ := serve(t, s, admin.ServerConfig{})
	for _, api := range []admin.API{s, client(t, admin.ClientConfig{Address: address})} {
		p, err := api.ListTopics(t.Context(), admin.Page{})
		require.NoError(t, err)
		require.Equal(t, []string{"a"}, p.Deleting)
		require.Equal(t, []string{"spoiled"}, p.Unreadable)
		require.Len(t, p.Topics, 1)
		require.Equal(t, "b", p.Topics[0].Name)
		_, err = api.GetTopic(t.Context(), "spoiled")
		require.ErrorIs(t, err, eventbus.ErrWrongType)
	}
}

// An event that no frame takes is told of, and does not end the connection.
func TestAnEventTooLargeToShow(t *testing.T) {
	t.Parallel()
	s, c, rdb := pair(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	cfg := eventbus.Config{MaxPayload: 32 << 20}
	stop := run(t, rdb, cfg, func(context.Context, *eventbus.Event) error { return eventbus.Reject(errors.New("on purpose")) })
	defer stop()
	sender, err := eventbus.New(rdb, cfg)
	require.NoError(t, err)
	defer sender.Close()
	for _, size := range []int{15 << 20, 17 << 20} {
		_, err = sender.Send(t.Context(), topic, strings.Repeat("x", size))
		require.NoError(t, err)
	}
	var failures []eventbus.Failure
	require.Eventually(t, func() bool {
		p, err := c.ListFailures(t.Context(), topic, "", eventbus.FailureQuery{})
		require.NoError(t, err)
		failures = p.Failures
		return len(failures) == 2
	}, time.Minute, 10*time.Millisecond)
	for _, f := range failures {
		whole, err := s.GetFailure(t.Context(), topic, "", f.ID)
		require.NoError(t, err)
		shown, err := c.GetFailure(t.Context(), topic, "", f.ID)
		if f.Size < 16<<20 {
			require.NoError(t, err)
			require.Equal(t, whole.Event.Payload, shown.Event.Payload)
			continue
		}
		require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
		require.ErrorContains(t, err, fmt.Sprintf("its event has %d bytes", f.Size))
	}
}

func TestReplayIsAJob(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	bury(t, s, rdb, 3000)

	ctx, cancel := context.WithCancel(t.Context())
	j, err := s.ReplayFailures(ctx, topic, "", eventbus.FailureFilter{All: true})
	require.NoError(t, err)
	cancel() // as the end of a connection does: it goes on
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
	_, err = s.DiscardFailures(t.Context(), topic, "", eventbus.FailureFilter{IDs: ids[:1000]})
	require.NoError(t, err)
}

func TestGroupsOfOthersAreReached(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "default"}, {Name: "other"}}}))
	stop := run(t, rdb, eventbus.Config{Group: "other"}, func(context.Context, *eventbus.Event) error { return nil })
	defer stop()
	timeout := 3 * time.Second
	_, err := s.UpdateHandler(t.Context(), topic, "other", "h", eventbus.HandlerUpdate{Timeout: &timeout})
	require.NoError(t, err)
	require.NoError(t, s.DisableHandler(t.Context(), topic, "other", "h"))
	changed := time.Now()
	require.Eventually(t, func() bool {
		h, err := s.GetHandler(t.Context(), topic, "other", "h")
		require.NoError(t, err)
		return h.Settings.Timeout == timeout && !h.Settings.Enabled
	}, 10*time.Second, time.Millisecond)
	require.Less(t, time.Since(changed), time.Second)
	p, err := s.ListHandlers(t.Context(), topic, "other", admin.Page{})
	require.NoError(t, err)
	require.Len(t, p.Handlers, 1)
	p, err = s.ListHandlers(t.Context(), topic, "", admin.Page{})
	require.NoError(t, err)
	require.Empty(t, p.Handlers)
	c, err := s.ListConsumers(t.Context(), admin.Page{})
	require.NoError(t, err)
	require.Len(t, c.Consumers, 1)
	require.Equal(t, "other", c.Consumers[0].Group)
}
