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

// Limits are what a client can use of a server. Fields of 0 or less mean the
// default: on a port that strangers reach none of them can be switched off.
type Limits struct {
	// MaxConnections is how many connections are open at once. One more takes
	// the place of the one that nobody has used for the longest time. It is
	// lowered to half of the files that the process may open.
	// Defaults to DefaultMaxConnections.
	MaxConnections int
	// MaxMessage is how many bytes a message may have, framed or not, and an
	// answer too, what THeader puts before it included; at most 256 MiB.
	// Defaults to DefaultMaxMessage.
	MaxMessage int
	// MaxContainer is how many elements a list, set or map may have.
	// Defaults to DefaultMaxContainer.
	MaxContainer int
	// Memory is how many bytes all messages together may take up, as the
	// server reckons what they cost it (see the budget). It is raised to what
	// one message of MaxMessage costs. With garbage that is not collected yet
	// the process may use about twice as much. Defaults to DefaultMemory.
	Memory int64
	// FirstByte is for how long a new connection may be silent.
	// Defaults to DefaultFirstByte.
	FirstByte time.Duration
	// Handshake is how long a TLS handshake may take. Defaults to DefaultHandshake.
	Handshake time.Duration
	// Idle is for how long a connection may be silent between two calls.
	// Defaults to DefaultIdle.
	Idle time.Duration
	// Read is how long a message may take from its first byte to its last,
	// waiting for memory included. Defaults to DefaultRead.
	Read time.Duration
	// Write is how long an answer may take. Defaults to DefaultWrite.
	Write time.Duration
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
