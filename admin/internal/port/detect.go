package port

import (
	"encoding/binary"

	"github.com/seed4933/eventbus/internal/protocol"
)

// word is how many bytes tell what a client speaks.
const word = protocol.Word

// dialect is what a client speaks.
type dialect int

const (
	unknown dialect = iota
	speaksHTTP
	speaksTLS
	framed          // a length, and a message or THeader in so many bytes
	overlong        // the same, if that is what follows, with a length that is not taken
	unframedBinary  // a message of the binary protocol
	unframedCompact // a message of the compact protocol
)

// httpWords are the beginnings of HTTP requests. As the length of a frame each
// would be more than a gigabyte.
var httpWords = [...]string{"GET ", "HEAD", "POST", "PUT ", "DELE", "OPTI", "PATC", "CONN", "TRAC", "PRI "}

// detect tells a dialect by the first word. There is no doubt: lengths of frames
// begin with a byte below 0x11 (see maxMaxMessage), TLS with 0x16, HTTP with a letter, the
// protocols with 0x80 and 0x82.
//
// Binary messages of before the protocol had versions begin with the length of
// the method's name, as a frame does, and cannot be told from one; Thrift's
// libraries have long ceased to send them.
func detect(first []byte, maxMessage int) dialect {
	switch {
	case first[0] == 0x16 && first[1] == 0x03:
		return speaksTLS
	case protocol.IsBinary(first):
		return unframedBinary
	case protocol.IsCompact(first):
		return unframedCompact
	case int64(binary.BigEndian.Uint32(first)) <= int64(maxMessage):
		return framed
	case int64(binary.BigEndian.Uint32(first)) <= maxMaxMessage:
		return overlong
	}
	for _, w := range httpWords {
		if string(first[:word]) == w {
			return speaksHTTP
		}
	}
	return unknown
}
