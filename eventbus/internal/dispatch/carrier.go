package dispatch

// carrier is a goroutine between two jobs. Those that have nothing to do are
// parked until the pool stops: a goroutine started for every job would have to
// grow its stack each time, which costs more than the rest of a short job. Working
// and parked ones together are never more than Size, since a new one is started
// only where none is parked.
type carrier struct {
	work chan *execution // closed when the pool stops; holds one, so that handing over never blocks
	next *carrier        // below it in the pool's stack
}

// park puts c on the stack of those that wait for work. The pool's lock is held.
func (p *Pool) park(c *carrier) {
	if c.work == nil {
		c.work = make(chan *execution, 1)
	}
	c.next, p.parked = p.parked, c
}

// start has e carried, by the carrier that was parked last (its stack is likely
// still in the cache) or by a new one. The pool's lock is held.
func (p *Pool) start(e *execution) {
	c := p.parked
	if c == nil {
		go e.carry()
		return
	}
	p.parked, c.next = c.next, nil
	c.work <- e
}

// dismissParked ends those that wait. The pool's lock is held, and stopping is set,
// so that no other follows them.
func (p *Pool) dismissParked() {
	for c := p.parked; c != nil; c = c.next {
		close(c.work)
	}
	p.parked = nil
}
