package port

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/apache/thrift/lib/go/thrift"
)

// errNoAnswer is returned when a processor neither answered nor said why not.
var errNoAnswer = errors.New("the processor did not answer")

// errPanic is returned when a processor panicked.
var errPanic = errors.New("the processor panicked")

// call reads the message of an exchange that has begun, and has it processed
// and answered. The client is known by then; what comes before its arguments has
// cost no more than any message may without asking. After an error there is no
// telling where the next message begins, or whether the client has this one's
// answer: the connection is to be closed. begun is called when the arguments are
// read.
func (x *exchange) call(ctx context.Context, p thrift.TProcessor, begun func(), log *slog.Logger) error {
	in, out := x.protocol(), x.protocol()
	name, kind, seq, err := in.ReadMessageBegin(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("read the head of a message: %w", err)
	case len(name) > maxName:
		return malformed(thrift.SIZE_LIMIT, "the name of the method has %d bytes; at most %d are taken", len(name), maxName)
	case kind == thrift.ONEWAY:
		x.oneway = true // an answer would be taken for that of the next call
	case kind != thrift.CALL:
		problem := fmt.Sprintf("a message of kind %d is no call", kind)
		x.refuse(ctx, out, name, seq, thrift.INVALID_MESSAGE_TYPE_EXCEPTION, problem)
		return malformed(thrift.INVALID_DATA, "%s", problem)
	}
	if x.long != nil {
		if !x.oneway {
			x.refuse(ctx, out, name, seq, thrift.PROTOCOL_ERROR, x.long.Error())
		}
		return x.long
	}
	x.decide(ctx)
	ctx = context.WithValue(ctx, exchangeKey{}, x)
	g := &guard{TProtocol: in, x: x, name: name, kind: kind, seq: seq, begun: begun}
	ok, err := x.process(ctx, p, g, out, log)
	return x.settle(ctx, g, ok, err)
}

// settle answers a call that its processor has not answered, and returns why
// the connection cannot be used any more.
func (x *exchange) settle(ctx context.Context, g *guard, ok bool, err error) error {
	refuse := func(kind int32, problem string) {
		if x.sent || x.oneway {
			return
		}
		x.refuse(ctx, x.protocol(), g.name, g.seq, kind, problem)
	}
	var application thrift.TApplicationException
	switch {
	case errors.Is(err, errPanic):
		refuse(thrift.INTERNAL_ERROR, "the server failed at this call; its log says why")
		return err
	case errors.As(x.readErr, new(refusal)):
		if !x.bare {
			refuse(thrift.UNKNOWN_APPLICATION_EXCEPTION, x.readErr.Error())
		}
		return fmt.Errorf("read a call of %q: %w", g.name, x.readErr)
	case g.err != nil:
		refuse(thrift.PROTOCOL_ERROR, g.err.Error())
		return fmt.Errorf("read the arguments of %q: %w", g.name, g.err)
	case errors.Is(err, thrift.ErrAbandonRequest):
		return err
	case errors.Is(x.outErr, errLongAnswer):
		refuse(thrift.INTERNAL_ERROR, fmt.Sprintf("the answer would have more than %d bytes; ask for less", x.answer.max))
	case errors.Is(x.outErr, errNoMemory) || errors.Is(x.outErr, errTooCostly):
		// The call was made: who made it must not take it for one that is lost.
		refuse(thrift.INTERNAL_ERROR, fmt.Sprintf("the call was made, but there is no room for its answer: %v", x.outErr))
	case x.outErr != nil:
		return fmt.Errorf("answer a call of %q: %w", g.name, x.outErr)
	case !ok && err != nil && !errors.As(err, &application):
		return fmt.Errorf("process a call of %q: %w", g.name, err)
	case !x.sent && !x.oneway:
		refuse(thrift.INTERNAL_ERROR, "the server has no answer")
		return fmt.Errorf("process a call of %q: %w", g.name, errors.Join(errNoAnswer, err))
	}
	switch {
	case x.outErr != nil:
		return fmt.Errorf("answer a call of %q: %w", g.name, x.outErr)
	case x.framed && x.left > 0:
		return malformed(thrift.INVALID_DATA, "%d bytes follow the message in its frame", x.left)
	case !g.ended:
		return fmt.Errorf("process a call of %q: %w", g.name, errUnread)
	}
	return nil
}

// errUnread is returned when a processor left arguments unread.
var errUnread = errors.New("the processor has not read the message to its end")

// process runs the processor, and returns errPanic when it panics.
func (x *exchange) process(ctx context.Context, p thrift.TProcessor, g *guard, out thrift.TProtocol, log *slog.Logger) (ok bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			log.ErrorContext(ctx, "the processor of a call panicked", "method", g.name, "panic", r, "stack", string(debug.Stack()))
			ok, err = false, errPanic
		}
	}()
	ok, exception := p.Process(ctx, g, out)
	if exception == nil {
		return ok, nil
	}
	return ok, exception
}

// refuse answers a call with an application exception, in the place of what was
// written of an answer, and even when there is no memory for answers. Clients
// want the name of the method in an answer without that of the service before it.
func (x *exchange) refuse(ctx context.Context, out thrift.TProtocol, name string, seq int32, kind int32, problem string) {
	x.answer.reset()
	x.outErr, x.free = nil, true
	if _, method, multiplexed := strings.Cut(name, thrift.MULTIPLEXED_SEPARATOR); multiplexed {
		name = method
	}
	// An error is in x.outErr, too.
	_ = writeException(ctx, out, name, seq, thrift.NewTApplicationException(kind, problem))
}

func writeException(ctx context.Context, out thrift.TProtocol, name string, seq int32, e thrift.TApplicationException) error {
	if err := out.WriteMessageBegin(ctx, name, thrift.EXCEPTION, seq); err != nil {
		return err
	}
	if err := e.Write(ctx, out); err != nil {
		return err
	}
	if err := out.WriteMessageEnd(ctx); err != nil {
		return err
	}
	return out.Flush(ctx)
}
