package port

import (
	"errors"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// troubled is a listener whose Accept fails a few times before each connection.
type troubled struct {
	net.Listener
	err   error
	times atomic.Int64
}

func (l *troubled) Accept() (net.Conn, error) {
	if l.times.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", l.err)}
	}
	return l.Listener.Accept()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return l
}

// Accept fails for want of files: the idle connection goes, and the server on.
func TestServer_OutOfFiles(t *testing.T) {
	t.Parallel()
	for _, lack := range []error{syscall.EMFILE, syscall.ENFILE} {
		b := setup(t, nil)
		mute := dial(t, b.addr)
		b.waitFor(t, map[state]int{silent: 1})
		l := &troubled{Listener: listen(t), err: lack}
		l.times.Store(3)
		served := make(chan error, 1)
		go func() { served <- b.server.Serve(l) }()
		closes(t, mute)
		stillServes(t, l.Addr().String())
		require.NoError(t, b.server.Shutdown(t.Context()))
		require.NoError(t, <-served)
	}
}

func TestServer_AcceptFails(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	mute := dial(t, b.addr)
	b.waitFor(t, map[state]int{silent: 1})
	l := &troubled{Listener: listen(t), err: errors.New("something new")}
	l.times.Store(3)
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(l) }()
	stillServes(t, l.Addr().String())
	require.Equal(t, 1, b.count(silent), "it was closed for nothing")
	require.Equal(t, 1, strings.Count(b.log.String(), "level=WARN"), "a warning each second fills the log")
	require.Equal(t, 3, strings.Count(b.log.String(), "a connection could not be accepted"))
	require.NoError(t, mute.Close())
	require.NoError(t, l.Close())
	require.ErrorIs(t, <-served, net.ErrClosed)
}
