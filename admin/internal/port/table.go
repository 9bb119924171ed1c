package port

import (
	"container/list"
	"net"
	"sync"
	"time"
)

// state is what a connection is doing.
type state int

const (
	silent  state = iota // it has not said anything yet
	idle                 // it is between two calls
	reading              // a message is coming in
	writing              // an answer is going out
	waiting              // a call is under way, and waits for memory
	calling              // a call is under way
	states
)

// table is the connections of a server, each state's in the order in which
// they came into it: the first of a list has been there the longest.
type table struct {
	mu       sync.Mutex
	max      int
	closing  bool      // no more are let in, and what becomes idle is closed
	arrive   time.Time // closing: by when messages that are coming in must be there
	entries  int
	in       [states]list.List // of *entry
	allGone  chan struct{}     // closed when closing and there are none
	signaled bool
}

// silentGrace is for how long a new connection may be silent before it is worth less
// than one that is idle: clients that come in a crowd must not push each other out
// before they could speak.
const silentGrace = time.Second

// entry is a connection in the table.
type entry struct {
	table *table
	came  time.Time
	conn  net.Conn      // as it was accepted, below TLS
	gone  chan struct{} // closed when the entry leaves the table
	state state
	place *list.Element // nil: it has left
}

func newTable(size int) *table {
	return &table{max: size, allGone: make(chan struct{})}
}

// add lets a connection in and returns its entry, nil when it is not let in.
// When the table is full, another leaves in its favour: see evict.
func (t *table) add(conn net.Conn) *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing || t.entries >= t.max && !t.evictLocked() {
		return nil
	}
	e := &entry{table: t, came: time.Now(), conn: conn, gone: make(chan struct{}), state: silent}
	e.place = t.in[silent].PushBack(e)
	t.entries++
	return e
}

// evict closes the connection that can be missed the most, and reports whether
// there was one. First goes one that has said nothing for silentGrace, or while more
// than half of the places are taken by those that have said nothing; then an idle one,
// then one that is slow to send a message or to take an answer, then one whose call
// waits for memory, and at last a new one; of each kind the one that has been so for the
// longest time. Another call that is under way is never ended for another.
func (t *table) evict() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.evictLocked()
}

func (t *table) evictLocked() bool {
	order := []state{idle, reading, writing, waiting, silent}
	if t.silentTooLongLocked() {
		order = []state{silent}
	}
	for _, s := range order {
		if first := t.in[s].Front(); first != nil {
			t.closeLocked(first.Value.(*entry))
			return true
		}
	}
	return false
}

func (t *table) silentTooLongLocked() bool {
	first := t.in[silent].Front()
	return first != nil && (t.in[silent].Len() > t.max/2 || time.Since(first.Value.(*entry).came) >= silentGrace)
}

// move brings a connection into a state and reports whether it may go on.
func (e *entry) move(to state) bool {
	e.table.mu.Lock()
	defer e.table.mu.Unlock()
	return e.moveLocked(to)
}

// read is move(reading) for a message that must have come by the given time,
// which it returns; it is sooner when the table is closing.
func (e *entry) read(until time.Time) (time.Time, bool) {
	t := e.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing && t.arrive.Before(until) {
		until = t.arrive
	}
	_ = e.conn.SetReadDeadline(until) // fails when it is closed, which move tells
	return until, e.moveLocked(reading)
}

// during runs f in another state, and returns to the one before.
func (e *entry) during(s state, f func()) {
	t := e.table
	t.mu.Lock()
	before := e.state
	e.moveLocked(s)
	t.mu.Unlock()
	f()
	e.move(before)
}

// waits runs f, which waits for memory. A message that comes in stays one.
func (e *entry) waits(f func()) {
	t := e.table
	t.mu.Lock()
	inCall := e.state == calling
	t.mu.Unlock()
	if !inCall {
		f()
		return
	}
	e.during(waiting, f)
}

func (e *entry) moveLocked(to state) bool {
	t := e.table
	if e.place == nil {
		return false
	}
	if to == idle && t.closing {
		t.closeLocked(e)
		return false
	}
	t.in[e.state].Remove(e.place)
	e.state = to
	e.place = t.in[to].PushBack(e)
	return true
}

// close closes a connection; it may be called more than once.
func (e *entry) close() {
	e.table.mu.Lock()
	defer e.table.mu.Unlock()
	e.table.closeLocked(e)
}

// closeLocked closes the connection below TLS, which never waits for the peer.
func (t *table) closeLocked(e *entry) {
	if e.place == nil {
		return
	}
	t.in[e.state].Remove(e.place)
	e.place = nil
	t.entries--
	close(e.gone)
	_ = e.conn.Close() // there is nobody to tell
	t.signalLocked()
}

func (t *table) signalLocked() {
	if t.closing && t.entries == 0 && !t.signaled {
		t.signaled = true
		close(t.allGone)
	}
}

// drain closes what is not in use, lets messages that are coming in arrive by
// the given time, and nobody in any more. allGone tells when the rest has gone.
func (t *table) drain(arrive time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closing, t.arrive = true, arrive
	t.closeAllLocked(silent, idle)
	for p := t.in[reading].Front(); p != nil; p = p.Next() {
		_ = p.Value.(*entry).conn.SetReadDeadline(arrive) // fails when it is closed: as well
	}
	t.signalLocked()
}

// closeAll closes every connection, calls or not.
func (t *table) closeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closing = true
	t.closeAllLocked(silent, idle, reading, writing, waiting, calling)
	t.signalLocked()
}

func (t *table) closeAllLocked(of ...state) {
	for _, s := range of {
		for t.in[s].Front() != nil {
			t.closeLocked(t.in[s].Front().Value.(*entry))
		}
	}
}
