package port

import (
	"fmt"
	"net"
)

// maxHandshake is how many bytes of a client's TLS handshake are read. A chain of
// certificates has some thousands; package crypto/tls would keep 256 KiB of one that
// never ends.
const maxHandshake = 32 << 10

// errLongHandshake is returned for a longer one.
var errLongHandshake = fmt.Errorf("the handshake has more than %d bytes, the most that are read; show a shorter chain of certificates", maxHandshake)

// handshakeConn is a connection below TLS, from which so many bytes are read until the
// handshake is done.
type handshakeConn struct {
	net.Conn
	left int
	done bool
}

// Read implements net.Conn.
func (c *handshakeConn) Read(p []byte) (int, error) {
	if c.done {
		return c.Conn.Read(p)
	}
	if c.left == 0 {
		return 0, errLongHandshake
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
