package admin_test

import (
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
	buried(t, s, rdb, 10_000)
	var pid int
	text, err := rdb.Info(t.Context(), "server").Result()
	require.NoError(t, err)
	_, text, _ = strings.Cut(text, "process_id:")
	_, err = fmt.Sscan(text, &pid)
	require.NoError(t, err)
	j, stop := underWay(t, s, rdb)
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
	buried(t, s, rdb, 10_000)
	j, stop := underWay(t, s, rdb)
	stop()
	_ = rdb.ShutdownNoSave(t.Context()).Err() // its connection ends without a reply
	require.Eventually(t, func() bool {
		_, err := s.GetJob(t.Context(), j.ID)
		return errors.Is(err, eventbus.ErrUnavailable)
	}, 10*time.Second, time.Millisecond)
	within(t, 4*time.Second, "Close", func() { err = s.Close() })
	require.NoError(t, err)
}
