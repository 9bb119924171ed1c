package store

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

// dialer is how go-redis opens a connection.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// patient is a connection whose deadlines are those of silence: it moves its read
// deadline on while bytes come. A reply that is still coming is not given up, however
// large it is and however slow the network: a reply of a claim that were given up
// would be put back and claimed again, without end. It is read by one goroutine at a
// time, as go-redis does.
type patient struct {
	net.Conn
	until time.Time // the deadline as it was set last
	last  time.Time // no byte moves it beyond this
	ended func()    // called when it is closed, if not nil
}

// asConn returns p as go-redis is to see it.
func (p *patient) asConn() net.Conn {
	if raw, ok := p.Conn.(syscall.Conn); ok {
		return &patientRaw{patient: p, raw: raw}
	}
	return p
}

// Close closes the connection.
func (p *patient) Close() error {
	if p.ended != nil {
		p.ended()
	}
	if err := p.Conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil // also where it was closed before, with all others
}

// SetReadDeadline sets the deadline up to which nothing may come.
func (p *patient) SetReadDeadline(t time.Time) error {
	p.until, p.last = t, time.Now().Add(longestCall)
	return p.Conn.SetReadDeadline(t)
}

// SetDeadline does the same for writes too.
func (p *patient) SetDeadline(t time.Time) error {
	p.until, p.last = t, time.Now().Add(longestCall)
	return p.Conn.SetDeadline(t)
}

// Read reads, and moves the deadline on where it comes near.
func (p *patient) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if n > 0 && !p.until.IsZero() {
		const near = callTimeout - time.Second
		if now := time.Now(); p.until.Sub(now) < near && now.Add(callTimeout).Before(p.last) {
			p.until = now.Add(callTimeout)
			_ = p.Conn.SetReadDeadline(p.until) // the next read tells what is wrong
		}
	}
	return n, err
}

// patientRaw lets go-redis look whether the peer has closed an idle connection.
type patientRaw struct {
	*patient
	raw syscall.Conn
}

// SyscallConn makes it a syscall.Conn.
func (p *patientRaw) SyscallConn() (syscall.RawConn, error) { return p.raw.SyscallConn() }
