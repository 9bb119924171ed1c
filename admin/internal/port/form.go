package port

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/seed4933/eventbus/internal/protocol"
)

// The format of THeader is described at
// https://github.com/apache/thrift/blob/master/doc/specs/HeaderFormat.md:
//
//	length 4 | 0x0fff 2 | flags 2 | sequence 4 | words 2 | headers words*4 | message
//
// and the headers are varints and strings, filled up with zeros:
//
//	protocol | count, transforms | 1, count, keys and values | 0…
//
// It is read here and not by thrift.THeaderTransport, which collects each
// frame in a buffer that doubles, up to three times the frame's size, before
// anything could be checked, keeps the buffer in a pool of the process, and
// gives the headers of one call to the next that has none.
const (
	metaSize   = 10 // magic, flags, sequence, words
	ownHeaders = 4  // protocol, no transforms, two zeros
	prefixRoom = 4 + metaSize + ownHeaders
)

// form is how a client packs its messages, and the server its answers to them.
type form struct {
	compact  bool // or binary
	framed   bool
	header   bool // THeader, which is framed
	flags    uint16
	sequence uint32
	headers  map[string]string // of THeader; nil when there are none
}

// prefix puts before an answer of size bytes what its form wants there. The
// piece begins with prefixRoom bytes for it.
func (f form) prefix(piece []byte, size int) []byte {
	switch {
	case f.header:
		binary.BigEndian.PutUint32(piece, uint32(metaSize+ownHeaders+size))
		binary.BigEndian.PutUint16(piece[4:], uint16(thrift.THeaderHeaderMagic>>16))
		binary.BigEndian.PutUint16(piece[6:], f.flags)
		binary.BigEndian.PutUint32(piece[8:], f.sequence)
		binary.BigEndian.PutUint16(piece[12:], ownHeaders/4)
		clear(piece[14:prefixRoom])
		if f.compact {
			piece[14] = byte(thrift.THeaderProtocolCompact)
		}
		return piece
	case f.framed:
		piece = piece[prefixRoom-4:]
		binary.BigEndian.PutUint32(piece, uint32(size))
		return piece
	}
	return piece[prefixRoom:]
}

// malformed returns the error for a message that is not as it should be.
func malformed(kind int, format string, args ...any) error {
	return thrift.NewTProtocolExceptionWithType(kind, fmt.Errorf(format, args...))
}

// longMessage is the error for a message that is longer than it may be.
type longMessage struct {
	size int // 0 when it is not known
	most int
}

func (e *longMessage) Error() string {
	if e.size == 0 {
		return fmt.Sprintf("the message has more than %d bytes, the most that are taken; send less at once", e.most)
	}
	return fmt.Sprintf("the message has %d bytes, and at most %d are taken; send less at once", e.size, e.most)
}

// begin reads what stands before a message, whose first word is there, and
// leaves the exchange at its first byte. An error that is a
// thrift.TApplicationException is to be told to the client.
func (x *exchange) begin() error {
	first, err := x.in.Peek(word)
	if err != nil {
		return err
	}
	switch detect(first, x.left) {
	case unframedBinary:
		return nil
	case unframedCompact:
		x.form.compact = true
		return nil
	case framed:
		return x.beginFrame(int(binary.BigEndian.Uint32(first)))
	case overlong:
		// Who sent it is told, if it can be told to whom and in which form.
		both, err := x.in.Peek(2 * word)
		if err != nil {
			return err
		}
		if begin := both[word:]; protocol.IsHeader(begin) || protocol.IsBinary(begin) || protocol.IsCompact(begin) {
			size := int(binary.BigEndian.Uint32(first))
			x.long = &longMessage{size: size, most: x.left}
			return x.beginFrame(size)
		}
	}
	return malformed(thrift.INVALID_DATA, "%q begins neither a message nor a frame of at most %d bytes", first, x.left)
}

func (x *exchange) beginFrame(size int) error {
	if size < word {
		return malformed(thrift.INVALID_DATA, "a frame of %d bytes has no message", size)
	}
	if _, err := x.in.Discard(word); err != nil {
		return err
	}
	x.left, x.framed, x.form.framed = size, true, true
	x.account.size = size
	first, err := x.in.Peek(word)
	if err != nil {
		return err
	}
	switch {
	case protocol.IsHeader(first):
		x.form.header = true
		x.answer.max = max(x.answer.max-metaSize-ownHeaders, 0)
		return x.beginHeader()
	case protocol.IsBinary(first):
		return nil
	case protocol.IsCompact(first):
		x.form.compact = true
		return nil
	}
	return malformed(thrift.BAD_VERSION, "a frame of %d bytes begins with %q, and not with a message of the binary or the compact protocol", size, first)
}

func (x *exchange) beginHeader() error {
	var meta [metaSize]byte
	if _, err := io.ReadFull(x, meta[:]); err != nil {
		return err
	}
	x.form.flags = binary.BigEndian.Uint16(meta[2:])
	x.form.sequence = binary.BigEndian.Uint32(meta[4:])
	size := 4 * int(binary.BigEndian.Uint16(meta[8:]))
	if size > min(x.left, maxHeaders) {
		return malformed(thrift.SIZE_LIMIT, "the headers have %d bytes; the frame has %d more, and at most %d are read", size, x.left, maxHeaders)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(x, b); err != nil {
		return err
	}
	return x.form.parse(b)
}

// parse reads the headers.
func (f *form) parse(b []byte) error {
	r := headerReader{b: b}
	protocol := thrift.THeaderProtocolID(r.number())
	transforms := r.number()
	switch {
	case r.bad:
		return malformed(thrift.INVALID_DATA, "the headers are cut off")
	case protocol == thrift.THeaderProtocolCompact:
		f.compact = true
	case protocol != thrift.THeaderProtocolBinary:
		return thrift.NewTApplicationException(thrift.INVALID_PROTOCOL,
			fmt.Sprintf("there is no protocol %d; use %d, binary, or %d, compact",
				protocol, thrift.THeaderProtocolBinary, thrift.THeaderProtocolCompact))
	}
	for range transforms {
		// What a transform makes of a message has no limit that the client
		// pays for with bytes.
		if id := thrift.THeaderTransformID(r.number()); !r.bad && id != thrift.TransformNone {
			return thrift.NewTApplicationException(thrift.INVALID_TRANSFORM,
				fmt.Sprintf("transform %d is not taken; send messages without one", id))
		}
		if r.bad {
			break
		}
	}
	for !r.bad && len(r.b) > 0 && thrift.THeaderInfoType(r.number()) == thrift.InfoKeyValue {
		for range r.number() {
			key, value := r.text(), r.text()
			if r.bad {
				break
			}
			if f.headers == nil {
				f.headers = map[string]string{}
			}
			if f.headers[key] = value; len(f.headers) > mostHeaders {
				return malformed(thrift.SIZE_LIMIT, "%w", errManyHeaders)
			}
		}
	}
	if r.bad {
		return malformed(thrift.INVALID_DATA, "the headers are cut off")
	}
	return nil
}

// headerReader takes numbers and strings off the headers until it is bad.
type headerReader struct {
	b   []byte
	bad bool
}

func (r *headerReader) number() uint32 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > 1<<31-1 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[size:]
	return uint32(n)
}

func (r *headerReader) text() string {
	n := int(r.number())
	if n > len(r.b) {
		r.bad = true
	}
	if r.bad {
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}
