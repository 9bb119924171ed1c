package admin

import (
	"time"

	"github.com/seed4933/eventbus/admin/internal/port"
)

// Limits are what clients can use of a server. Fields of 0 or less mean the default:
// none can be switched off, since strangers may reach the port.
type Limits struct {
	// MaxConnections is how many connections are open at once. One more takes the
	// place of one that has said nothing for a second, or of the one that nobody has
	// used for the longest time, or else of one that sends a message or takes an answer,
	// or whose call waits for memory; other calls under way are never ended for it. It
	// is lowered to half of the files that the process may open. Defaults to 512.
	MaxConnections int
	// MaxMessage is how many bytes a message, or an answer, may have, framed or not;
	// at most 256 MiB. Defaults to 16 384 000, the greatest frame that Thrift's
	// libraries take unless they are told otherwise.
	MaxMessage int
	// MaxContainer is how many elements a list, set or map may have.
	// Defaults to 10 000.
	MaxContainer int
	// Memory is how many bytes all messages together may take up, as the server
	// reckons what they cost it; a message that finds it in use waits, and a client
	// that has some of it and sends, or takes, less than 1 MiB a second meanwhile is
	// closed, as is one with a large message that sends less than 8 MiB a second for
	// longer than 700 ms, while others wait for theirs. Small calls never wait: an event
	// of up to 12 KiB, or a batch of up to 30 small ones. It is raised to what one
	// message of MaxMessage costs. With garbage that is not collected yet the process
	// may use about twice as much. Defaults to 24 MiB.
	Memory int64
	// FirstByte is for how long a new connection may be silent. Defaults to 10 s.
	FirstByte time.Duration
	// Handshake is how long a TLS handshake may take. Defaults to 5 s.
	Handshake time.Duration
	// Idle is for how long a connection may be silent between two calls.
	// Defaults to 5 min.
	Idle time.Duration
	// Read is how long a message may take from its first byte to its last, waiting
	// for memory included. Defaults to 30 s.
	Read time.Duration
	// Write is how long an answer may take. Defaults to 30 s.
	Write time.Duration
}

// ofPort returns the limits for the port.
func (l Limits) ofPort() port.Limits { return port.Limits(l) }
