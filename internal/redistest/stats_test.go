package redistest

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"
)

// plain returns a client that sends nothing on its own but HELLO.
func plain(t *testing.T, s *Server) *redis.Client {
	options := s.Options()
	options.DisableIdentity = true
	options.MaxRetries = -1
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return closing(t, redis.NewClient(options))
}

func TestCommandStatsCountOthersAndNotAdmin(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Password: "secret"})
	require.Empty(t, s.CommandStats(t), "what the harness sent while starting does not count")

	client := plain(t, s)
	for range 3 {
		require.NoError(t, client.Set(t.Context(), "k", "v", 0).Err())
		require.NoError(t, s.Admin().Set(t.Context(), "k", "v", 0).Err())
	}
	require.NoError(t, client.ConfigGet(t.Context(), "hz").Err())
	require.NoError(t, client.Eval(t.Context(), "return redis.call('GET', KEYS[1])", []string{"k"}).Err())
	_, err := s.Admin().Pipelined(t.Context(), func(p redis.Pipeliner) error {
		p.Get(t.Context(), "k")
		p.Get(t.Context(), "missing")
		return nil
	})
	require.ErrorIs(t, err, redis.Nil)
	require.Error(t, s.Admin().Do(t.Context(), "no-such-command").Err())

	require.Equal(t, map[string]int64{"hello": 1, "set": 3, "config|get": 1, "eval": 1, "get": 1}, s.CommandStats(t))
	require.EqualValues(t, 7, s.TotalCommands(t))
}

func TestCommandStatsCountRefusedCalls(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	client := plain(t, s)
	require.NoError(t, client.Ping(t.Context()).Err())
	require.NoError(t, s.Admin().ConfigSet(t.Context(), "maxmemory", "1kb").Err())
	for range 5 {
		require.ErrorContains(t, client.Set(t.Context(), "k", "v", 0).Err(), "OOM")
	}
	require.Equal(t, map[string]int64{"hello": 1, "ping": 1, "set": 5}, s.CommandStats(t))
}

func TestCommandStatsStartAnew(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	client := plain(t, s)
	require.NoError(t, client.Ping(t.Context()).Err())
	require.NoError(t, s.Admin().ConfigResetStat(t.Context()).Err())
	require.Empty(t, s.CommandStats(t))
	require.NoError(t, client.Ping(t.Context()).Err())
	require.Equal(t, map[string]int64{"ping": 1}, s.CommandStats(t))
	s.Restart()
	require.Empty(t, s.CommandStats(t))
}
