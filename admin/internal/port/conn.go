package port

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/seed4933/eventbus/internal/credentials"
)

const (
	// readBuffer is the buffer of each connection, enough for most calls.
	readBuffer = 4 << 10
	// lingerTime and lingerBytes are how much is still read of a client that
	// was answered and will not be listened to: it may read the answer only once
	// it has sent all, and were the connection closed with bytes unread, its
	// system would throw the answer away.
	lingerTime  = 5 * time.Second
	lingerBytes = 64 << 20
)

// conn is a connection that is served by its own goroutine, until it is closed
// or turns out to speak HTTP.
type conn struct {
	server *Server
	entry  *entry
	net    net.Conn // over TLS, when there is TLS
	in     *bufio.Reader
	client Client
	pace   pace
	served bool      // it has had a message
	until  time.Time // when the message that comes in must be there
}

func (s *Server) newConn(e *entry) *conn {
	return &conn{server: s, entry: e, net: e.conn, client: Client{Addr: e.conn.RemoteAddr().String()}}
}

// serve serves the connection and closes it, or hands it over to HTTP.
func (c *conn) serve() {
	handedOver := false
	defer func() {
		if r := recover(); r != nil {
			c.server.log.Error("serving a connection panicked", "client", c.client.Addr, "panic", r, "stack", string(debug.Stack()))
		}
		if !handedOver {
			c.close()
		}
	}()
	if err := c.handshake(); err != nil {
		kind := &c.server.warnings.handshake
		if errors.Is(err, errPlain) {
			kind = &c.server.warnings.tls
		}
		c.server.turnedAway(kind, c.client, err)
		return
	}
	c.in = bufio.NewReaderSize(pacedReader{c.net, &c.pace}, readBuffer)
	for {
		first, err := c.next()
		if err != nil {
			c.server.closed(c.client, err)
			return
		}
		if !c.served {
			switch detect(first, c.server.limits.MaxMessage) {
			case speaksHTTP:
				handedOver = c.server.http.take(c)
				return
			case speaksTLS:
				c.server.turnedAway(&c.server.warnings.tls, c.client, errTLS)
				return
			}
		}
		c.served = true
		switch err := c.exchange(); {
		case errors.Is(err, errSlow):
			c.server.turnedAway(&c.server.warnings.slow, c.client, err)
			return
		case errors.As(err, new(*longMessage)):
			c.server.turnedAway(&c.server.warnings.long, c.client, err)
			return
		case err != nil:
			c.server.closed(c.client, err)
			return
		}
	}
}

// What is logged of clients that are turned away.
var (
	errSlow  = fmt.Errorf("it had memory that others waited for, and sent, or took, less than %d bytes a second, or less than %d for longer than %v", leastRate, laneRate, mayHold)
	errTLS   = errors.New("it speaks TLS, and this port does not: let it connect without, or give the server a certificate")
	errPlain = errors.New("it does not speak TLS, and this port does: let it connect with TLS")
	// errRefused is for clients that have hung up over our certificate.
	errRefused = errors.New("it refuses this server's certificate: it does not trust who signed it, or the certificate is not for the name that it asked for, or does not hold now")
)

// plainHTTP is for HTTP clients that come without TLS.
const plainHTTP = "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nThis port speaks TLS: use https.\n"

// handshake makes the TLS handshake, on a server with TLS.
func (c *conn) handshake() error {
	if c.server.tls == nil {
		return nil
	}
	limited := &handshakeConn{Conn: c.entry.conn, left: maxHandshake}
	conn := tls.Server(limited, c.server.tls)
	_ = conn.SetDeadline(time.Now().Add(c.server.limits.Handshake)) // fails when closed: so does the handshake
	if err := conn.HandshakeContext(c.server.base); err != nil {
		var notTLS tls.RecordHeaderError
		if errors.As(err, &notTLS) {
			if detect(notTLS.RecordHeader[:word], c.server.limits.MaxMessage) == speaksHTTP {
				_, _ = io.WriteString(c.entry.conn, plainHTTP) // the deadline of the handshake holds
			}
			return errors.Join(errPlain, err)
		}
		if credentials.Refused(err) {
			return fmt.Errorf("%w: %w", errRefused, err)
		}
		return fmt.Errorf("shake hands: %w", err)
	}
	limited.done = true
	_ = conn.SetDeadline(time.Time{})
	c.net = conn
	if state := conn.ConnectionState(); len(state.VerifiedChains) > 0 {
		c.client.Cert = state.VerifiedChains[0][0].Subject.CommonName
	}
	return nil
}

// next waits for a message and returns its first word.
func (c *conn) next() ([]byte, error) {
	if c.in.Buffered() == 0 {
		wait := c.server.limits.FirstByte
		if c.served {
			wait = c.server.limits.Idle
			if !c.entry.move(idle) {
				return nil, net.ErrClosed
			}
		}
		_ = c.net.SetReadDeadline(time.Now().Add(wait)) // fails when closed: so does what follows
		if _, err := c.in.Peek(1); err != nil {
			return nil, fmt.Errorf("wait for a message: %w", err)
		}
	}
	until, ok := c.entry.read(time.Now().Add(c.server.limits.Read))
	if !ok {
		return nil, net.ErrClosed
	}
	c.until = until
	first, err := c.in.Peek(word)
	if err != nil {
		return nil, fmt.Errorf("read the first bytes of a message: %w", err)
	}
	return first, nil
}

// exchange serves one message.
func (c *conn) exchange() error {
	s := c.server
	c.pace.reset()
	a := s.budget.open(c.entry, &c.pace)
	defer a.close()
	x := s.newExchange(c.in, a, c.until)
	x.send = c.send
	err := x.begin()
	if err == nil {
		client := c.client
		client.Headers = x.form.headers
		ctx := thrift.AddReadTHeaderToContext(s.base, x.form.headers)
		err = x.call(withClient(ctx, client), s.processor, func() { c.entry.move(calling) }, s.log)
	}
	var refused thrift.TApplicationException
	if errors.As(err, &refused) && !x.sent {
		x.free = true
		_ = writeException(s.base, x.protocol(), "", int32(x.form.sequence), refused)
	}
	if err != nil && x.sent && x.outErr == nil {
		c.linger()
	}
	if a.slow.Load() {
		return errSlow
	}
	return err
}

// send writes an answer.
func (c *conn) send(b [][]byte) (err error) {
	c.entry.during(writing, func() {
		_ = c.net.SetWriteDeadline(time.Now().Add(c.server.limits.Write)) // fails when closed: so does what follows
		err = writePaced(&c.pace, b, func(some [][]byte) (int, error) {
			buffers := net.Buffers(some)
			n, err := buffers.WriteTo(c.net)
			return int(n), err
		})
	})
	return err
}

// linger lets an answer arrive before the connection is closed.
func (c *conn) linger() {
	half, ok := c.net.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	if _, ok := c.entry.read(time.Now().Add(lingerTime)); ok {
		_, _ = io.CopyN(io.Discard, c.in, lingerBytes) // it is about to be closed, whatever comes
	}
}

// close closes the connection, over TLS with a word of farewell.
func (c *conn) close() {
	if conn, ok := c.net.(*tls.Conn); ok {
		c.entry.move(writing)
		_ = conn.Close()
	}
	c.entry.close()
}

// isEnd tells that a connection has only ended.
func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) }
