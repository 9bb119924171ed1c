package port

import (
	"bufio"
	"context"
	"errors"
	"io"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
)

// chunk is how much is read, or kept of an answer, at once.
const chunk = 32 << 10

// exchange is one message and its answer: the transport below the protocols
// that read the one and write the other. The message is never buffered as a
// whole: the protocol reads it from the connection, byte by byte against what
// the message may still have and what memory it was given. It is for one
// goroutine, but for IsOpen.
type exchange struct {
	in      *bufio.Reader
	form    form
	left    int // how many bytes the message may still have
	framed  bool
	long    *longMessage // its frame is too long: it is to be refused
	account *account
	until   time.Time // when the message must have come
	paid    int       // how many bytes to come are paid for
	readErr error     // the first error of reading; it stays

	answer answer
	oneway bool                   // the answer goes nowhere
	sent   bool                   // an answer was written, or the attempt was made
	send   func(b [][]byte) error // writes an answer
	outErr error                  // the first error of writing; it stays
	free   bool                   // the answer is a short one that needs no memory of the budget
	opened func() bool            // see IsOpen
	write  time.Duration          // how long the answer may wait for memory
	conf   *thrift.TConfiguration
	admit  func(Client) error // nil: all; see Config.Admit
	bare   bool               // who is refused is told so by the caller of call
}

var _ interface {
	thrift.TTransport
	thrift.TRichTransport
} = (*exchange)(nil)

// protocol returns a new protocol, of the kind that the client speaks, over the
// exchange. Reading and writing need one each: the compact protocol keeps the
// place in the struct that it reads or writes, and is lost after an error.
func (x *exchange) protocol() thrift.TProtocol {
	if x.form.compact {
		return thrift.NewTCompactProtocolConf(x, x.conf)
	}
	return thrift.NewTBinaryProtocolConf(x, x.conf)
}

// Read reads from the message.
func (x *exchange) Read(p []byte) (int, error) {
	if len(p) == 0 || x.readErr != nil {
		return 0, x.readErr
	}
	if x.left == 0 {
		return 0, x.fail(x.over())
	}
	n := min(len(p), x.left, chunk)
	if n > x.paid {
		if err := x.pay(n); err != nil {
			return 0, err
		}
	}
	got, err := x.in.Read(p[:n])
	x.paid -= got
	x.left -= got
	if err != nil {
		return got, x.fail(err)
	}
	return got, nil
}

// ReadByte reads one byte of the message.
func (x *exchange) ReadByte() (byte, error) {
	if x.readErr != nil {
		return 0, x.readErr
	}
	if x.left == 0 {
		return 0, x.fail(x.over())
	}
	if x.paid == 0 {
		if err := x.pay(1); err != nil {
			return 0, err
		}
	}
	b, err := x.in.ReadByte()
	if err != nil {
		return 0, x.fail(err)
	}
	x.paid--
	x.left--
	return b, nil
}

// pay takes memory for the n bytes that come next, once the first of them is there: a
// client that gets no further must not stand among those who wait for memory.
func (x *exchange) pay(n int) error {
	if x.in.Buffered() == 0 {
		if _, err := x.in.Peek(1); err != nil {
			return x.fail(err)
		}
	}
	if err := x.charge(bytesCost(n) - bytesCost(x.paid)); err != nil {
		return err
	}
	x.paid = n
	return nil
}

func (x *exchange) fail(err error) error {
	if x.readErr == nil {
		x.readErr = err
	}
	return err
}

func (x *exchange) over() error {
	if x.framed {
		return malformed(thrift.INVALID_DATA, "the message goes on after the end of its frame")
	}
	return malformed(thrift.SIZE_LIMIT, "%w", &longMessage{most: x.answer.max})
}

// charge takes memory for what is about to be made of the message.
func (x *exchange) charge(cost int64) error {
	if x.readErr != nil {
		return x.readErr
	}
	err := x.account.take(cost, x.until)
	if err == nil {
		return nil
	}
	if errors.As(err, new(refusal)) {
		x.outErr = err // what the processor would say is that it could not read
	}
	return x.fail(err)
}

// RemainingBytes is what a list that claims to be long is measured by. Of an
// unframed message it is how much the message may have, more than what comes.
func (x *exchange) RemainingBytes() uint64 { return uint64(x.left) }

// Write adds to the answer.
func (x *exchange) Write(p []byte) (int, error) {
	if x.outErr != nil {
		return 0, x.outErr
	}
	if x.oneway {
		return len(p), nil
	}
	err := x.answer.add(p, func(cost int64) error {
		if x.free {
			return nil
		}
		x.account.size = unsized
		return x.account.take(cost, time.Now().Add(x.write))
	})
	if err != nil {
		x.outErr = err
		return 0, err
	}
	return len(p), nil
}

// WriteByte adds a byte to the answer.
func (x *exchange) WriteByte(c byte) error {
	_, err := x.Write([]byte{c})
	return err
}

// WriteString adds a string to the answer.
func (x *exchange) WriteString(s string) (int, error) { return x.Write([]byte(s)) }

// Flush sends the answer. It does so even when ctx is done: the call has been
// made, and who made it should know.
func (x *exchange) Flush(context.Context) error {
	if x.outErr != nil || x.answer.empty() {
		return x.outErr
	}
	x.sent = true
	x.outErr = x.send(x.answer.bytes(x.form))
	return x.outErr
}

// IsOpen tells the generated code whether to go on with a call. It does not
// look at the connection: a call that has begun is ended, whether or not its
// client has waited.
func (x *exchange) IsOpen() bool { return x.opened() }

// Open does nothing: the server has opened it.
func (x *exchange) Open() error { return nil }

// Close does nothing: the server closes the connection.
func (x *exchange) Close() error { return nil }

// answer is what was written so far, in pieces, so that it is not copied as it
// grows.
type answer struct {
	max    int
	size   int
	pieces [][]byte
}

// errLongAnswer is returned when an answer is longer than a message may be.
var errLongAnswer = errors.New("the answer is longer than a message may be")

func (a *answer) empty() bool { return a.size == 0 }

func (a *answer) reset() { a.size, a.pieces = 0, nil }

func (a *answer) add(p []byte, charge func(cost int64) error) error {
	if len(p) > a.max-a.size {
		return errLongAnswer
	}
	a.size += len(p)
	for len(p) > 0 {
		last := len(a.pieces) - 1
		if last < 0 || len(a.pieces[last]) == cap(a.pieces[last]) {
			room := chunk
			if last < 0 {
				room = 512 // as much as most answers need
			}
			if err := charge(int64(room)); err != nil {
				return err
			}
			piece := make([]byte, 0, room)
			if last < 0 {
				piece = piece[:prefixRoom]
			}
			a.pieces = append(a.pieces, piece)
			last++
		}
		piece := a.pieces[last]
		n := min(len(p), cap(piece)-len(piece))
		a.pieces[last] = append(piece, p[:n]...)
		p = p[n:]
	}
	return nil
}

// bytes returns the answer in its form, and forgets it.
func (a *answer) bytes(f form) [][]byte {
	pieces := a.pieces
	pieces[0] = f.prefix(pieces[0], a.size)
	a.reset()
	return pieces
}

var _ io.ReadWriteCloser = (*exchange)(nil)
