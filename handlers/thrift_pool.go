package handlers

import (
	"slices"
	"sync"
	"time"
)

// thriftPool keeps connections that nobody uses, for reuse. What is in use it
// does not know: whoever took a connection puts it back or ends it.
type thriftPool struct {
	maxIdle     int
	idleTimeout time.Duration

	mu     sync.Mutex
	closed bool
	idle   []*thriftConn // the one that was used last is last
}

// take returns the kept connection that was used last, or nil when there is none.
// Those that the server has closed, or on which it has said something that nobody
// asked for, are ended on the way.
func (p *thriftPool) take() *thriftConn {
	for {
		p.mu.Lock()
		last := len(p.idle) - 1
		if last < 0 {
			p.mu.Unlock()
			return nil
		}
		conn := p.idle[last]
		p.idle[last] = nil
		p.idle = p.idle[:last]
		p.mu.Unlock()
		conn.expiry.Stop()
		if conn.quiet() {
			return conn
		}
		conn.abort()
	}
}

// put keeps a connection, or ends it when there are enough.
func (p *thriftPool) put(conn *thriftConn) {
	p.mu.Lock()
	keep := !p.closed && len(p.idle) < p.maxIdle
	if keep {
		p.idle = append(p.idle, conn)
		if conn.expiry == nil {
			conn.expiry = time.AfterFunc(p.idleTimeout, func() { p.expire(conn) })
		} else {
			conn.expiry.Reset(p.idleTimeout)
		}
	}
	p.mu.Unlock()
	if !keep {
		conn.end()
	}
}

// expire ends a connection unless it was taken meanwhile.
func (p *thriftPool) expire(conn *thriftConn) {
	p.mu.Lock()
	at := slices.Index(p.idle, conn)
	if at >= 0 {
		p.idle = slices.Delete(p.idle, at, at+1)
	}
	p.mu.Unlock()
	if at >= 0 {
		conn.end()
	}
}

// close ends all, and what is put back later.
func (p *thriftPool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, conn := range idle {
		conn.expiry.Stop()
		conn.end()
	}
}
