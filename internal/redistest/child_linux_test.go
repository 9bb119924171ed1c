package redistest

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestServersEndWithAKilledTestBinary(t *testing.T) {
	t.Parallel()
	p := RunSelf(t, "server", "DIR="+t.TempDir())
	address := line(t, p)
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	require.NoError(t, conn.Close())

	p.Kill()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return true
		}
		_ = conn.Close()
		return false
	}, patience, 5*time.Millisecond, "the server outlived the process that started it")
}

// The thread that a test runs on may end long before the test binary does.
func TestServersOutliveTheThreadThatAskedForThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	type result struct {
		server *Server
		err    error
		thread int
	}
	started := make(chan result)
	var start func()
	start = func() {
		runtime.LockOSThread() // without an unlock: the thread ends with the goroutine
		if syscall.Gettid() == syscall.Getpid() {
			go start() // the main thread would be parked, not ended: leave it and try another
			return
		}
		s, err := open(dir, Options{})
		started <- result{server: s, err: err, thread: syscall.Gettid()}
	}
	go start()
	r := <-started
	require.NoError(t, r.err)
	defer func() { require.NoError(t, r.server.close()) }()
	require.Eventually(t, func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", r.thread))
		return os.IsNotExist(err)
	}, patience, time.Millisecond)
	// A signal for the thread's death is pending by now, so no answer comes.
	require.NoError(t, r.server.admin.Ping(t.Context()).Err())
	require.True(t, r.server.child.running())
}

func TestAClaimedPortIsNotGivenTwice(t *testing.T) {
	t.Parallel()
	first, err := claimPort(busOffset)
	require.NoError(t, err)
	for _, offset := range []int{0, busOffset} {
		_, err = lockPort(first.port + offset)
		require.ErrorIs(t, err, syscall.EADDRINUSE)
	}
	require.NoError(t, first.release())
	again, err := lockPort(first.port)
	require.NoError(t, err)
	require.NoError(t, again.Close())
}
