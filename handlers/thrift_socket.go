package handlers

import (
	"bufio"
	"context"
	"errors"
	"net"

	"github.com/apache/thrift/lib/go/thrift"
)

// thriftBuffer is the size of a connection's buffers, in bytes.
const thriftBuffer = 4 << 10

// errAnswerTooLong ends the reading of an answer.
var errAnswerTooLong = errors.New("the answer is too long")

// thriftSocket is a connection as the runtime wants it, in place of the runtime's
// TSocket, which sets deadlines of its own. It bounds what one answer can make
// this side read, frame or not, and keeps its beginning for who has to tell what
// it was. The runtime reserves memory as bytes arrive, not as they are announced.
type thriftSocket struct {
	conn net.Conn
	out  *bufio.Writer
	most int // bytes that an answer may have
	left int // bytes that this one may still have
	seen int // bytes of head
	head [thriftHead]byte
}

// thriftHead is how much of an answer's beginning is kept, in bytes.
const thriftHead = 16

// frameLength is the length that stands before a frame, in bytes.
const frameLength = 4

func newThriftSocket(conn net.Conn) *thriftSocket {
	return &thriftSocket{conn: conn, out: bufio.NewWriterSize(conn, thriftBuffer), most: MaxThriftMessage + frameLength}
}

// begin makes ready for the next call.
func (s *thriftSocket) begin() { s.left, s.seen = s.most, 0 }

// beginning is that of the answer, as far as there is any.
func (s *thriftSocket) beginning() []byte { return s.head[:s.seen] }

func (s *thriftSocket) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if s.left == 0 {
		return 0, errAnswerTooLong
	}
	n, err := s.conn.Read(p[:min(len(p), s.left)])
	s.left -= n
	s.seen += copy(s.head[s.seen:], p[:n])
	return n, err
}

func (s *thriftSocket) Write(p []byte) (int, error) { return s.out.Write(p) }

// Flush makes one packet of what is small enough.
func (s *thriftSocket) Flush(context.Context) error { return s.out.Flush() }

func (s *thriftSocket) RemainingBytes() uint64 { return uint64(s.left) }

func (s *thriftSocket) Open() error { return nil }

func (s *thriftSocket) IsOpen() bool { return true }

func (s *thriftSocket) Close() error { return s.conn.Close() }

var _ thrift.TTransport = (*thriftSocket)(nil)
