package port

import (
	"io"
	"net"
	"sync"
	"time"

	"github.com/seed4933/eventbus/internal/quiet"
)

// Who has memory that others wait for must keep up with a pace: one that is mayPause
// behind who sends, or takes, leastRate bytes a second loses its turn, and one that is
// mayLag behind its connection. So does one that has had the lane for longer than
// mayHold, and less than laneRate bytes a second in that time, however steadily they
// come: who is next waits for two of them at most.
const (
	leastRate = 1 << 20
	laneRate  = 8 << 20
	mayPause  = 20 * time.Millisecond
	mayLag    = 500 * time.Millisecond
	mayHold   = 700 * time.Millisecond
)

// pace tells how far a client is behind leastRate. Only the time counts in which the
// server waits for the client to send or to take bytes.
type pace struct {
	mu     sync.Mutex
	lag    time.Duration // up to when the server has waited last
	waited time.Duration // since begin
	bytes  int           // since begin
	since  time.Time     // when the wait under way began; zero: there is none
	reads  bool          // it is for what the client sends
}

// wait does what waits for the client, and counts it; it returns what that returned.
func (p *pace) wait(reads bool, do func() (int, error)) (int, error) {
	p.mu.Lock()
	p.since, p.reads = time.Now(), reads
	p.mu.Unlock()
	n, err := do()
	p.mu.Lock()
	defer p.mu.Unlock()
	worth := time.Duration(n) * time.Second / leastRate
	took := time.Since(p.since)
	p.lag = max(p.lag+took-worth, 0)
	p.waited += took
	p.bytes += n
	p.since = time.Time{}
	return n, err
}

// behind reports whether the client at a connection is waited for, and further behind
// than so much. One that has sent what is not read yet is not: the server is late.
func (p *pace) behind(most time.Duration, conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waitsFor(conn) && p.lag+time.Since(p.since) > most
}

// holdsUp reports whether the client is waited for, has been for longer than mayHold
// since begin, and was slower than laneRate.
func (p *pace) holdsUp(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.waitsFor(conn) {
		return false
	}
	waited := p.waited + time.Since(p.since)
	return waited > mayHold && float64(p.bytes) < laneRate*waited.Seconds()
}

// begin has holdsUp look at what comes from now on.
func (p *pace) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waited, p.bytes = 0, 0
}

// waitsFor tells that the server waits for the client. The pace is locked.
func (p *pace) waitsFor(conn net.Conn) bool {
	return !p.since.IsZero() && (!p.reads || quiet.Socket(conn))
}

// reset begins anew, for the next message.
func (p *pace) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lag, p.waited, p.bytes, p.since = 0, 0, 0, time.Time{}
}

// pacedReader reads from a client.
type pacedReader struct {
	io.Reader
	pace *pace
}

// Read implements io.Reader.
func (r pacedReader) Read(b []byte) (int, error) {
	return r.pace.wait(true, func() (int, error) { return r.Reader.Read(b) })
}

// writePaced writes the pieces of an answer to a client, some at a time, so that its
// progress shows.
func writePaced(p *pace, pieces [][]byte, write func(pieces [][]byte) (int, error)) error {
	for len(pieces) > 0 {
		some := pieces[:min(len(pieces), piecesAtOnce)]
		pieces = pieces[len(some):]
		if _, err := p.wait(false, func() (int, error) { return write(some) }); err != nil {
			return err
		}
	}
	return nil
}

// piecesAtOnce is how many pieces of an answer are written in one go.
const piecesAtOnce = 8
