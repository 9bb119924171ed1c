package handlers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/apache/thrift/lib/go/thrift"
)

// ThriftError says why a call of a server brought no outcome.
type ThriftError struct {
	// Address is the server's.
	Address string
	// Step is what was being done: "begin", where the Thrift was closed; "connect";
	// "begin TLS"; "send the event"; "read the answer"; or "it answered with an exception".
	Step string
	// Hint is what would be right, where that can be told.
	Hint string
	// Err is what went wrong: the context's error where the call ran out of time or
	// was ended, a thrift.TApplicationException where the server answered with an
	// exception, else one of the network, of TLS or of Thrift.
	Err error
}

// Error returns one line of text, but for what the server said.
func (e *ThriftError) Error() string {
	text := fmt.Sprintf("call handler at %s: %s: %v", e.Address, e.Step, e.Err)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Unwrap returns what went wrong.
func (e *ThriftError) Unwrap() error { return e.Err }

// Answered tells the circuit breaker that the server is not down: its method threw
// something at this event, or returned nothing for it. Any other exception, such as over
// an unknown method, says that no event can be handled there.
func (e *ThriftError) Answered() bool {
	if errors.Is(e.Err, errNoResult) {
		return true
	}
	var exception thrift.TApplicationException
	return errors.As(e.Err, &exception) && isThrown(exception)
}

// isThrown tells that a server answers so when its method has thrown something: those of
// Java, Go and Python with INTERNAL_ERROR, those of C++ and JavaScript with UNKNOWN.
func isThrown(exception thrift.TApplicationException) bool {
	switch exception.TypeId() {
	case thrift.INTERNAL_ERROR, thrift.UNKNOWN_APPLICATION_EXCEPTION:
		return true
	}
	return false
}

// Steps of a call, for errors.
const (
	stepBegin     = "begin"
	stepConnect   = "connect"
	stepHandshake = "begin TLS"
	stepSend      = "send the event"
	stepAnswer    = "read the answer"
	stepException = "it answered with an exception"
)

// errThriftClosed is the cause of a call's end that Close brought about.
var errThriftClosed = fmt.Errorf("it was closed: %w", net.ErrClosed)

// errNoResult is what is wrong with an answer to handle in which nothing stands.
var errNoResult = errors.New("it holds no HandleResult")

// strangeAnswerError says in what way an answer is not the one that was asked for.
type strangeAnswerError struct{ what string }

func (e *strangeAnswerError) Error() string { return e.what }

// failed is the error of a step, with the hint that fits; head is the beginning
// of the answer.
func (t *Thrift) failed(ctx context.Context, step string, err error, head []byte) error {
	var exception thrift.TApplicationException
	switch {
	case errors.As(err, &exception):
		step = stepException
	case ctx.Err() != nil:
		// What the end of the context did to the connection is not the cause.
		err = context.Cause(ctx)
	case step != stepConnect && step != stepHandshake && errors.Is(err, os.ErrDeadlineExceeded):
		err = context.DeadlineExceeded // the socket's deadline is the context's
	}
	return &ThriftError{Address: t.address, Step: step, Err: err, Hint: t.hint(step, err, head)}
}

func (c *thriftConn) failed(ctx context.Context, step string, err error) error {
	return c.handler.failed(ctx, step, err, c.socket.beginning())
}
