package handlers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/quiet"
)

// thriftMethod is the one method of the service.
const thriftMethod = "handle"

// maxThriftContainer bounds how many elements a list of an answer may claim. The
// answer as this version of the IDL has it holds none.
const maxThriftContainer = 1 << 16

// thriftConn is one connection, used by one call at a time.
type thriftConn struct {
	handler *Thrift
	conn    net.Conn // TLS where there is any
	raw     net.Conn // the socket below
	socket  *thriftSocket
	layer   thrift.TTransport // what makes frames of it, or a buffer
	in, out thrift.TProtocol
	seq     int32
	expiry  *time.Timer // the pool's
}

// thriftAnswer is what a call came to.
type thriftAnswer struct {
	result *thriftbus.HandleResult_
	err    error
	// reusable says that the answer was read to its end, and nothing follows it.
	reusable bool
	// unsent says that not all of the event could be written.
	unsent bool
}

// dial connects. Its error is a *ThriftError.
func (t *Thrift) dial(ctx context.Context) (*thriftConn, error) {
	limited, cancel := context.WithTimeout(ctx, t.cfg.DialTimeout)
	defer cancel()
	raw, err := (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext(limited, "tcp", t.address)
	if err != nil {
		return nil, t.failed(ctx, stepConnect, err, nil)
	}
	conn := raw
	if t.cfg.TLS != nil {
		secured := tls.Client(raw, t.cfg.TLS)
		if err := secured.HandshakeContext(limited); err != nil {
			_ = raw.Close() // what failed is told already
			return nil, t.failed(ctx, stepHandshake, err, nil)
		}
		conn = secured
	}
	return t.speak(conn, raw), nil
}

// speak lays the protocol over a connection.
func (t *Thrift) speak(conn, raw net.Conn) *thriftConn {
	c := &thriftConn{handler: t, conn: conn, raw: raw, socket: newThriftSocket(conn)}
	var protocol thrift.TProtocol
	switch {
	case t.cfg.Protocol == ThriftHeader:
		header := thrift.NewTHeaderProtocolConf(c.socket, t.limits)
		if t.cfg.Token != "" {
			header.SetWriteHeader("authorization", "Bearer "+t.cfg.Token)
		}
		protocol, c.layer = header, header.Transport()
	case t.cfg.Unframed:
		c.layer = thrift.NewTBufferedTransport(c.socket, thriftBuffer)
	default:
		c.layer = thrift.NewTFramedTransportConf(c.socket, t.limits)
	}
	switch t.cfg.Protocol {
	case ThriftBinary:
		protocol = thrift.NewTBinaryProtocolConf(c.layer, t.limits)
	case ThriftCompact:
		protocol = thrift.NewTCompactProtocolConf(c.layer, t.limits)
	}
	c.in, c.out = protocol, protocol
	if t.cfg.Service != "" {
		c.out = thrift.NewTMultiplexedProtocol(protocol, t.cfg.Service)
	}
	return c
}

// call sends an event and reads the answer to it. The end of ctx ends it at once,
// and the connection with it: an answer that comes then is nobody's.
func (c *thriftConn) call(ctx context.Context, event *thriftbus.Event) (answer thriftAnswer) {
	stop := context.AfterFunc(ctx, c.abort)
	defer func() {
		if !stop() {
			answer.reusable = false
		}
	}()
	deadline, _ := ctx.Deadline() // zero: none
	_ = c.conn.SetDeadline(deadline)
	c.socket.begin()
	c.seq++
	if err := c.send(event); err != nil {
		return thriftAnswer{err: c.failed(ctx, stepSend, err), unsent: true}
	}
	result, complete, err := c.receive()
	if err != nil {
		err = c.failed(ctx, stepAnswer, err)
	}
	return thriftAnswer{result: result, err: err, reusable: complete && !c.leftover()}
}

// send writes the call. The runtime gets no context: with one it would read again
// after timeouts, and what ends a call here is the end of the connection.
func (c *thriftConn) send(event *thriftbus.Event) error {
	ctx := context.Background()
	if err := c.out.WriteMessageBegin(ctx, thriftMethod, thrift.CALL, c.seq); err != nil {
		return err
	}
	args := thriftbus.EventHandlerHandleArgs{Event: event}
	if err := args.Write(ctx, c.out); err != nil {
		return err
	}
	if err := c.out.WriteMessageEnd(ctx); err != nil {
		return err
	}
	return c.out.Flush(ctx)
}

// receive reads the answer. complete says that it was read to its end and is
// the one to this call, which an exception may be, too.
func (c *thriftConn) receive() (result *thriftbus.HandleResult_, complete bool, err error) {
	ctx := context.Background()
	name, kind, seq, err := c.in.ReadMessageBegin(ctx)
	if err != nil {
		return nil, false, err
	}
	if kind == thrift.EXCEPTION {
		// Its name is that of the call as the server understood it.
		exception := thrift.NewTApplicationException(thrift.UNKNOWN_APPLICATION_EXCEPTION, "")
		if err := errors.Join(exception.Read(ctx, c.in), c.in.ReadMessageEnd(ctx)); err != nil {
			return nil, false, err
		}
		return nil, seq == c.seq, thrift.NewTApplicationException(exception.TypeId(), cutText(exception.Error()))
	}
	switch {
	case kind != thrift.REPLY:
		return nil, false, &strangeAnswerError{fmt.Sprintf("it is a message of type %d, not a reply (%d)", kind, thrift.REPLY)}
	case seq != c.seq:
		return nil, false, &strangeAnswerError{fmt.Sprintf("it answers the call %d, where %d was asked", seq, c.seq)}
	case name != thriftMethod:
		return nil, false, &strangeAnswerError{fmt.Sprintf("it answers %q, where %s was asked", excerpt([]byte(name)), thriftMethod)}
	}
	var reply thriftbus.EventHandlerHandleResult
	if err := errors.Join(reply.Read(ctx, c.in), c.in.ReadMessageEnd(ctx)); err != nil {
		return nil, false, err
	}
	if reply.Success == nil {
		return nil, true, errNoResult
	}
	return reply.Success, true, nil
}

// leftover says that something follows the answer, which is nobody's.
func (c *thriftConn) leftover() bool {
	if buffer, ok := c.layer.(*thrift.TBufferedTransport); ok {
		return buffer.Reader.Buffered() > 0
	}
	rest := c.layer.RemainingBytes() // of the frame
	return rest != 0 && rest != thrift.UnknownRemainingBytes
}

// quiet says that the server has neither closed the connection nor said anything
// more. TLS's own end of a connection counts as something said.
func (c *thriftConn) quiet() bool { return quiet.Socket(c.raw) }

// abort ends the connection at once.
func (c *thriftConn) abort() { _ = c.raw.Close() }

// end ends a connection in order: TLS says farewell.
func (c *thriftConn) end() {
	_ = c.conn.Close()
	_ = c.raw.Close()
}
