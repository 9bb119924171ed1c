package store

import (
	"context"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"
)

// connections are the open ones of a store, so that all of them can be ended at
// once: a call that waits for a reply heeds its deadline, and nothing else.
type connections struct {
	mu    sync.Mutex
	open  map[*patient]struct{}
	halts int             // that hold now
	on    context.Context // ends at a halt
	halt  context.CancelFunc
}

func newConnections() *connections {
	c := &connections{open: map[*patient]struct{}{}}
	c.on, c.halt = context.WithCancel(context.Background())
	return c
}

// dialing returns a dialer of connections that belong to c, and are patient.
func (c *connections) dialing(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		p, err := c.dial(ctx, dial, network, address)
		if err != nil {
			return nil, err
		}
		return p.asConn(), nil
	}
}

// dial dials for as long as ctx lasts and there is no halt, also with a dialer
// that ignores its context: what that brings later is closed.
func (c *connections) dial(ctx context.Context, dial dialer, network, address string) (*patient, error) {
	c.mu.Lock()
	on := c.on
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	defer context.AfterFunc(on, cancel)()
	type dialled struct {
		conn net.Conn
		err  error
	}
	result := make(chan dialled, 1)
	go func() {
		conn, err := dial(ctx, network, address)
		result <- dialled{conn, err}
	}()
	failed := func(err error) error {
		if on.Err() != nil {
			err = redis.ErrClosed
		}
		return &net.OpError{Op: "dial", Net: network, Err: err}
	}
	select {
	case d := <-result:
		if d.err != nil && on.Err() != nil {
			return nil, failed(d.err)
		}
		if d.err != nil {
			return nil, d.err
		}
		p := &patient{Conn: d.conn}
		p.ended = func() { c.forget(p) }
		if !c.add(p, on) {
			_ = d.conn.Close() // it came too late
			return nil, failed(redis.ErrClosed)
		}
		return p, nil
	case <-ctx.Done():
		go func() {
			if d := <-result; d.err == nil {
				_ = d.conn.Close() // nobody wants it any more
			}
		}()
		return nil, failed(ctx.Err())
	}
}

// add takes a connection in, unless there was a halt since its dial began.
func (c *connections) add(p *patient, on context.Context) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if on.Err() != nil {
		return false
	}
	c.open[p] = struct{}{}
	return true
}

func (c *connections) forget(p *patient) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, p)
}

// all returns those that fulfil the condition.
func (c *connections) all(condition func(*patient) bool) (found []*patient) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.open {
		if condition(p) {
			found = append(found, p)
		}
	}
	return found
}

// Halt ends every call under way, and makes all that follow fail at once, until
// the function that it returns is called: for the end of a stop that must not wait
// for a server that does not answer. Calls that were ended may have been executed.
// It does nothing to a client that is used as it is.
func (s *Store) Halt() (resume func()) {
	c := s.conns
	c.mu.Lock()
	c.halts++
	c.halt()
	c.mu.Unlock()
	for _, p := range c.all(func(*patient) bool { return true }) {
		_ = p.Close() // whoever reads from it sees that
	}
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.halts--; c.halts == 0 {
			c.on, c.halt = context.WithCancel(context.Background())
		}
	})
}
