package admin_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
)

func TestReplayIsAJob(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	buried(t, s, rdb, 3000)

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

func TestJobPicksABoundedNumberOfIDs(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	ids := make([]string, admin.MaxJobIDs+1)
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

func TestJobsAreBounded(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	buried(t, s, rdb, 10_000)
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
	buried(t, s, rdb, 10_000)
	j, stop := underWay(t, s, rdb)
	defer stop()
	require.Eventually(t, func() bool {
		var err error
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
