//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package quiet

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Socket tells whether the peer has neither closed the connection nor sent anything that
// was not read. It does not block, and leaves there what has arrived. A connection that
// is no syscall.Conn counts as quiet.
func Socket(conn net.Conn) bool {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	err = raw.Control(func(fd uintptr) {
		var one [1]byte
		for {
			_, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
			if err == unix.EINTR {
				continue
			}
			quiet = err == unix.EAGAIN
			return
		}
	})
	return err == nil && quiet
}
