package admin_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
)

// buried makes the test's topic, with n dead failures.
func buried(t *testing.T, s admin.API, rdb *redis.Client, n int) {
	t.Helper()
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	bury(t, s, rdb, n)
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

// underWay begins to replay all failures, and slows that down until stop is called.
func underWay(t *testing.T, s admin.API, rdb *redis.Client) (j admin.Job, stop func()) {
	t.Helper()
	stop = slow(t, rdb)
	j, err := s.ReplayFailures(t.Context(), topic, "", eventbus.FailureFilter{All: true})
	require.NoError(t, err)
	require.Equal(t, admin.JobRunning, j.State)
	return j, stop
}
