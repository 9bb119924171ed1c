package dispatch

import (
	"context"
	"errors"
	"time"
)

// ErrStopping is the cause of a run's context that a hard stop ended.
var ErrStopping = errors.New("bus is stopping")

// grace is how long a hard stop waits for handlers after it has ended their
// contexts.
const grace = time.Second

// Stop ends the pool, first softly, then hard. At once nothing new starts: jobs
// that wait for a slot, tasks that wait for their handler's limit and tasks that
// have not begun are Unfinished. What runs may end. When ctx ends, the contexts
// of the running handlers are cancelled with the cause ErrStopping; those that
// have not returned a second later are cut off, and Unfinished.
//
// Stop returns when Finish has been called, and has returned, for every job:
// at the latest a second after ctx has ended, unless a Finish blocks. Handlers
// that ignore their context may still be running then. It may be called again
// and by several at once: each call returns when all is done, and the first ctx
// to end makes the stop hard. A handler must not call it with a ctx that does not
// end: it would wait for itself.
func (p *Pool) Stop(ctx context.Context) {
	p.beginStop()
	defer p.watch.stop()
	defer p.cancelHard(ErrStopping)
	if p.waitIdle(ctx.Done()) {
		return
	}
	now := time.Now()
	p.hardAt.CompareAndSwap(nil, &now)
	p.cancelHard(ErrStopping)
	last, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if p.waitIdle(last.Done()) {
		return
	}
	p.cutAll()
	p.waitIdle(nil)
}

func (p *Pool) beginStop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopping.Swap(true) {
		close(p.soft)
		p.dismissParked()
	}
	p.drain()
}

// drain sees to it that a goroutine gives back the jobs that wait for a slot. One
// is enough, however many there are: they only have their Finish called. The lock
// is held.
func (p *Pool) drain() {
	if !p.draining && p.waiting.first != nil {
		p.draining = true
		go p.giveBack()
	}
}

func (p *Pool) giveBack() {
	for {
		p.mu.Lock()
		e := p.waiting.pop()
		p.draining = e != nil
		p.mu.Unlock()
		if e == nil {
			return
		}
		e.carry(&carrier{})
	}
}

// waitIdle returns true once no job is left, or false when cancel is closed before.
func (p *Pool) waitIdle(cancel <-chan struct{}) bool {
	for {
		p.mu.Lock()
		if p.live.Load() == 0 {
			p.mu.Unlock()
			return true
		}
		if p.idle == nil {
			p.idle = make(chan struct{})
		}
		idle := p.idle
		p.mu.Unlock()
		select {
		case <-idle: // a job may have come meanwhile: look again
		case <-cancel:
			return false
		}
	}
}

// tellIdle wakes those that wait for idle. A job that ends while nothing stops
// does not come here: waitIdle looks at live after stopping was set, so either it
// sees the zero, or whoever made it zero saw stopping.
func (p *Pool) tellIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idle != nil && p.live.Load() == 0 {
		close(p.idle)
		p.idle = nil
	}
}

// cutAll gives up every run that is still under way. At most Size jobs are cut,
// each carried to its end by a goroutine of its own.
func (p *Pool) cutAll() {
	for _, r := range p.runs() {
		if r.cutOff() {
			go r.of.carry(&carrier{})
		}
	}
}
