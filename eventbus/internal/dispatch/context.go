package dispatch

import (
	"context"
	"sync"
	"time"
)

// runContext is the context of one run: it ends at the deadline, with the pool's
// hard stop, and when the run is over. What stands behind it is made when somebody
// first asks for more than the deadline: that is more than half of what a short
// run costs, and handlers that never look at their context need none of it.
type runContext struct {
	pool     *Pool
	deadline time.Time

	mu     sync.Mutex
	inner  context.Context
	cancel context.CancelFunc
	over   bool
}

// full returns the context behind c.
func (c *runContext) full() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		parent := c.pool.hard
		if stopped := c.pool.hardAt.Load(); stopped != nil && !stopped.Before(c.deadline) {
			parent = context.WithoutCancel(parent) // the deadline came first, and nobody had asked yet
		}
		c.inner, c.cancel = context.WithDeadline(parent, c.deadline)
		if c.over {
			c.cancel()
		}
	}
	return c.inner
}

// end ends the context because its run is over.
func (c *runContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.cancel != nil {
		c.cancel()
	}
}

// Deadline tells when the run is to be over.
func (c *runContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Done returns a channel that is closed when the context ends.
func (c *runContext) Done() <-chan struct{} { return c.full().Done() }

// Err returns why the context has ended, nil while it has not.
func (c *runContext) Err() error { return c.full().Err() }

// Value is asked by package context for what it needs to derive contexts.
func (c *runContext) Value(key any) any { return c.full().Value(key) }
