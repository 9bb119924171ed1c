//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package quiet_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/internal/quiet"
)

// pair returns both ends of a connection.
func pair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	near, err = net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = near.Close() })
	far, err = listener.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = far.Close() })
	for _, end := range []net.Conn{near, far} {
		require.NoError(t, end.SetDeadline(time.Now().Add(10*time.Second)))
	}
	return near, far
}

// becomesLoud waits for what the other end has done to arrive.
func becomesLoud(t *testing.T, conn net.Conn) {
	t.Helper()
	require.Eventually(t, func() bool { return !quiet.Socket(conn) }, 10*time.Second, time.Millisecond)
}

func TestConnectionOnWhichNothingWasSaidIsQuiet(t *testing.T) {
	t.Parallel()
	near, far := pair(t)
	require.True(t, quiet.Socket(near))
	require.True(t, quiet.Socket(far))

	// What was said and read is past.
	_, err := far.Write([]byte("answer"))
	require.NoError(t, err)
	_, err = io.ReadFull(near, make([]byte, 6))
	require.NoError(t, err)
	require.True(t, quiet.Socket(near))
}

// What has arrived stays there to be read.
func TestUnreadBytesAreNotQuiet(t *testing.T) {
	t.Parallel()
	near, far := pair(t)
	_, err := far.Write([]byte("more"))
	require.NoError(t, err)
	becomesLoud(t, near)
	require.False(t, quiet.Socket(near), "a second look sees the same")
	got := make([]byte, 4)
	_, err = io.ReadFull(near, got)
	require.NoError(t, err)
	require.Equal(t, "more", string(got))
	require.True(t, quiet.Socket(near))
}

func TestEndOfTheConnectionIsNotQuiet(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(far *net.TCPConn) error{
		"closed":      func(far *net.TCPConn) error { return far.Close() },
		"half closed": func(far *net.TCPConn) error { return far.CloseWrite() },
		"reset": func(far *net.TCPConn) error {
			if err := far.SetLinger(0); err != nil {
				return err
			}
			return far.Close()
		},
	} {
		near, far := pair(t)
		require.NoError(t, end(far.(*net.TCPConn)), name)
		becomesLoud(t, near)
	}
	near, _ := pair(t)
	require.NoError(t, near.Close())
	require.False(t, quiet.Socket(near), "closed here")
}

// A connection that has no socket cannot be looked at: its next call tells.
func TestConnectionWithoutASocketIsQuiet(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	require.NoError(t, far.Close())
	require.True(t, quiet.Socket(near))
	require.NoError(t, near.Close())
}
