package port

import (
	"time"

	"github.com/apache/thrift/lib/go/thrift"
)

// The limits that hold where Limits says nothing. DefaultMaxMessage is the
// greatest frame that Thrift's libraries take unless they are told otherwise: an
// answer that is longer, if by a byte, would cost Java's clients their connection.
const (
	DefaultMaxConnections = 512
	DefaultMaxMessage     = thrift.DEFAULT_MAX_FRAME_SIZE
	DefaultMaxContainer   = 10_000
	DefaultMemory         = 24 << 20
	DefaultFirstByte      = 10 * time.Second
	DefaultHandshake      = 5 * time.Second
	DefaultIdle           = 5 * time.Minute
	DefaultRead           = 30 * time.Second
	DefaultWrite          = 30 * time.Second
)

// maxMaxMessage is the largest MaxMessage there can be: a length beyond it
// would look like the words of HTTP or a TLS handshake.
const maxMaxMessage = 256 << 20

// maxName is how long the name of a method may be, with its service, in bytes.
const maxName = 512

// maxHeaders is how long the headers of a THeader message may be, in bytes. With
// the name of the method they stay within freeCost: whose message it is must be
// known before it may cost more.
const maxHeaders = 8 << 10

// Limits are what a client can use of a server: those of package admin, which says what
// each of them is. Fields of 0 or less mean the default; none can be switched off.
type Limits struct {
	MaxConnections int   // lowered to half of the files that the process may open
	MaxMessage     int   // bytes; what THeader puts before an answer counts
	MaxContainer   int   // elements
	Memory         int64 // bytes, as the budget reckons them

	FirstByte, Handshake, Idle, Read, Write time.Duration
}

// withDefaults returns the limits as they hold.
func (l Limits) withDefaults() Limits {
	l.MaxConnections = orDefault(l.MaxConnections, DefaultMaxConnections)
	if files := openFiles(); files > 0 {
		l.MaxConnections = max(min(l.MaxConnections, files/2), 1)
	}
	l.MaxMessage = min(orDefault(l.MaxMessage, DefaultMaxMessage), maxMaxMessage)
	l.MaxContainer = orDefault(l.MaxContainer, DefaultMaxContainer)
	l.Memory = orDefault(l.Memory, DefaultMemory)
	l.FirstByte = orDefault(l.FirstByte, DefaultFirstByte)
	l.Handshake = orDefault(l.Handshake, DefaultHandshake)
	l.Idle = orDefault(l.Idle, DefaultIdle)
	l.Read = orDefault(l.Read, DefaultRead)
	l.Write = orDefault(l.Write, DefaultWrite)
	return l
}

func orDefault[T int | int64 | time.Duration](value, otherwise T) T {
	if value <= 0 {
		return otherwise
	}
	return value
}
