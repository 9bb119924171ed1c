package redistest

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

const patience = 30 * time.Second

// impatient returns a client that gives up on a silent peer soon and does not
// try again.
func impatient(t *testing.T, addr string) *redis.Client {
	return closing(t, redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, DialerRetries: 1,
		DialTimeout: 200 * time.Millisecond, ReadTimeout: 200 * time.Millisecond,
	}))
}

func requireTimeout(t *testing.T, err error) {
	t.Helper()
	var netErr net.Error
	require.ErrorAs(t, err, &netErr)
	require.True(t, netErr.Timeout(), "%v is no timeout", err)
}

func TestStartAnswersAndEndsWithItsTest(t *testing.T) {
	t.Parallel()
	var address string
	t.Run("inner", func(t *testing.T) {
		s := Start(t, Options{})
		address = s.Addr()
		require.NotContains(t, address, ":6379")
		client := s.Client(t)
		require.NoError(t, client.Set(t.Context(), "k", "v", 0).Err())
		save, err := client.ConfigGet(t.Context(), "save").Result()
		require.NoError(t, err)
		require.Empty(t, save["save"])
	})
	_, err := net.Dial("tcp", address)
	require.Error(t, err, "the server outlived its test")
}

func TestURLAndOptionsCarryThePassword(t *testing.T) {
	t.Parallel()
	const password = `p@ss "w/ord"`
	s := Start(t, Options{Password: password})
	require.NoError(t, s.Client(t).Ping(t.Context()).Err())

	parsed, err := redis.ParseURL(s.URL())
	require.NoError(t, err)
	require.Equal(t, password, parsed.Password)
	require.Equal(t, s.Addr(), parsed.Addr)

	require.ErrorContains(t, impatient(t, s.Addr()).Ping(t.Context()).Err(), "NOAUTH")
}

func TestSetPasswordHoldsForNewClientsAdminAndRestart(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Password: "old"})
	before := closing(t, redis.NewClient(s.Options()))
	s.SetPassword("new")
	require.Error(t, before.Ping(t.Context()).Err())
	require.NoError(t, s.Client(t).Ping(t.Context()).Err())
	s.Restart()
	require.NoError(t, s.Client(t).Ping(t.Context()).Err())
	require.NoError(t, s.Admin().Ping(t.Context()).Err())
}

func TestAppendOnlyKeepsWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Server){"Stop": (*Server).Stop, "Kill": (*Server).Kill} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, Options{AppendOnly: true})
			fsync, err := s.Client(t).ConfigGet(t.Context(), "appendfsync").Result()
			require.NoError(t, err)
			require.Equal(t, "always", fsync["appendfsync"])
			require.NoError(t, s.Client(t).Set(t.Context(), "k", "v", 0).Err())
			end(s)
			require.Error(t, impatient(t, s.Addr()).Ping(t.Context()).Err())
			end(s) // once more does nothing
			addr := s.Addr()
			s.Start()
			s.Start() // nor does this
			require.Equal(t, addr, s.Addr())
			require.Equal(t, "v", s.Client(t).Get(t.Context(), "k").Val())
		})
	}
}

func TestWithoutAppendOnlyNothingIsKept(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	require.NoError(t, s.Client(t).Set(t.Context(), "k", "v", 0).Err())
	s.Restart()
	require.ErrorIs(t, s.Client(t).Get(t.Context(), "k").Err(), redis.Nil)
}

func TestStartAfterTheServerWasShutDownByAClient(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	_ = s.Client(t).ShutdownNoSave(t.Context()).Err()
	<-s.child.done
	s.Start()
	require.NoError(t, s.Client(t).Ping(t.Context()).Err())
}

func TestMaxMemoryRefusesWrites(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{MaxMemory: "1kb"})
	require.ErrorContains(t, s.Client(t).Set(t.Context(), "k", "v", 0).Err(), "OOM")
}

func TestExtraWinsOverTheDefaults(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Extra: []string{"hz 100", "save 3600 1"}})
	client := s.Client(t)
	hz, err := client.ConfigGet(t.Context(), "hz").Result()
	require.NoError(t, err)
	require.Equal(t, "100", hz["hz"])
	require.NoError(t, client.Set(t.Context(), "k", "v", 0).Err())
	s.Restart()
	require.Equal(t, "v", s.Client(t).Get(t.Context(), "k").Val(), "the snapshot that Extra asks for is kept")
}

func TestPauseSilencesUntilResume(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	client := impatient(t, s.Addr())
	require.NoError(t, client.Ping(t.Context()).Err())
	s.Pause()
	requireTimeout(t, client.Ping(t.Context()).Err())
	s.Resume()
	require.NoError(t, client.Ping(t.Context()).Err())
}

func TestPausedServerCanBeStoppedAndKilled(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Server){"Stop": (*Server).Stop, "Kill": (*Server).Kill} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, Options{})
			s.Pause()
			end(s)
			require.False(t, s.child.running())
			require.Equal(t, name == "Stop", s.child.err == nil, "Stop lets the server end by itself: %v", s.child.err)
		})
	}
}

func TestOpenReportsWhatTheServerSays(t *testing.T) {
	t.Parallel()
	_, err := open(t.TempDir(), Options{Extra: []string{"no-such-setting 1"}})
	require.ErrorContains(t, err, "no-such-setting", "the server's own words are in the error")
	require.NotErrorIs(t, err, errPortTaken)
}

func TestStartOnATakenPortSaysSo(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	s.Stop()
	squatter, err := net.Listen("tcp", s.Addr())
	require.NoError(t, err)
	require.ErrorIs(t, s.start(), errPortTaken)
	require.NoError(t, squatter.Close())
	s.Start()
	require.NoError(t, s.Admin().Ping(t.Context()).Err())
}

func TestAnotherServerOnThePortIsNotTakenForOurs(t *testing.T) {
	t.Parallel()
	other, s := Start(t, Options{}), Start(t, Options{})
	require.ErrorIs(t, (&Server{claim: other.claim, admin: other.admin}).answers(t.Context(), s.child.pid()), errPortTaken)
	require.NoError(t, s.answers(t.Context(), s.child.pid()))
}

func TestServersStartInParallelOnDifferentPorts(t *testing.T) {
	t.Parallel()
	const n = 8
	var mu sync.Mutex
	ports := map[string]bool{}
	t.Run("all", func(t *testing.T) {
		for range n {
			t.Run("one", func(t *testing.T) {
				t.Parallel()
				s := Start(t, Options{})
				mu.Lock()
				defer mu.Unlock()
				ports[s.Addr()] = true
			})
		}
	})
	require.Len(t, ports, n)
}

func TestStoppingAndStartingFromOtherGoroutines(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	var wg sync.WaitGroup
	for _, act := range []func(){s.Stop, s.Start, s.Kill, s.Start, s.Pause, s.Resume} {
		wg.Go(act)
	}
	wg.Wait()
	s.Resume()
	s.Start()
	require.NoError(t, s.Client(t).Ping(t.Context()).Err())
}

func TestClusterSpreadsKeysOverItsNodes(t *testing.T) {
	t.Parallel()
	client := StartCluster(t, 3)
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		require.NoError(t, client.Set(t.Context(), key, key, 0).Err())
	}
	var mu sync.Mutex
	var holding []int64
	require.NoError(t, client.ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error {
		size, err := node.DBSize(ctx).Result()
		mu.Lock()
		defer mu.Unlock()
		holding = append(holding, size)
		return err
	}))
	require.Len(t, holding, 3)
	require.NotContains(t, holding, int64(0))
}

func TestMiniredisComesWithItsClient(t *testing.T) {
	t.Parallel()
	server, client := Miniredis(t)
	require.NoError(t, client.Set(t.Context(), "k", "v", 0).Err())
	got, err := server.Get("k")
	require.NoError(t, err)
	require.Equal(t, "v", got)
}

// Not parallel: it changes the PATH of the whole process.
func TestWithoutRedisServerTheMessageNamesThePackage(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := open(t.TempDir(), Options{})
	require.ErrorContains(t, err, "apt-get install redis-server")
}

func TestLogIsKeptBesideTheData(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	_, err := os.Stat(filepath.Join(s.dir, logFile))
	require.False(t, errors.Is(err, os.ErrNotExist))
}
