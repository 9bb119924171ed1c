package dispatch

// carrier is a goroutine that carries jobs. Those that have nothing to do are
// parked until the pool stops: a goroutine started for every job would have to
// grow its stack each time, which costs more than the rest of a short job. Working
// and parked ones together are never more than Size, since a new one is started
// only where none is parked and a job holds a slot that nobody carries.
//
// One is woken at a time; it wakes the next one when it finds more to do than it
// takes. Where jobs are short, those that are awake carry them all, and most of
// the others are never woken; where they block, waking goes on until each has its
// carrier.
type carrier struct {
	work chan struct{} // closed when the pool stops; holds one, so that waking never blocks
	next *carrier      // below it in the pool's stack
}

// wake sees to it that somebody looks for jobs that wait for a carrier. The pool's
// lock is held.
func (p *Pool) wake() {
	if p.waking || p.ready.first == nil {
		return
	}
	p.waking = true
	c := p.parked
	if c == nil {
		go (&carrier{}).run(p)
		return
	}
	p.parked, c.next = c.next, nil // parked last: its stack is likely still in the cache
	c.work <- struct{}{}
}

// run carries jobs from the first to the last that the carrier finds.
func (c *carrier) run(p *Pool) {
	if e := p.look(); e != nil {
		e.carry(c)
	}
}

// look is the first thing that a woken carrier does.
func (p *Pool) look() *execution {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waking = false
	return p.next()
}

// park puts c on the stack of those that wait for work, unless the pool stops. The
// pool's lock is held.
func (p *Pool) park(c *carrier) bool {
	if p.stopping.Load() {
		return false
	}
	if c.work == nil {
		c.work = make(chan struct{}, 1)
	}
	c.next, p.parked = p.parked, c
	return true
}

// await returns the next job for c, which is parked; nil when the pool stops.
func (p *Pool) await(c *carrier) *execution {
	for {
		_, woken := <-c.work
		p.mu.Lock()
		if woken {
			p.waking = false
		}
		e := p.next()
		parked := e == nil && p.park(c)
		p.mu.Unlock()
		if !parked {
			return e
		}
	}
}

// dismissParked ends those that wait. The pool's lock is held, and stopping is set,
// so that no other follows them.
func (p *Pool) dismissParked() {
	for c := p.parked; c != nil; c = c.next {
		close(c.work)
	}
	p.parked = nil
}
