package dispatch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Config of a Pool.
type Config struct {
	// Size is how many jobs run at once; at least 1.
	Size int
	// OnRelease is called after a job has finished and left its slot, from a
	// goroutine of the pool, with the number of slots that were free then. It
	// must not block. Nil means nobody asks.
	OnRelease func(free int)
}

// Pool runs jobs in a bounded number of slots. It is safe for concurrent use.
type Pool struct {
	size      int
	onRelease func(free int)

	hard       context.Context // parent of every run's context
	cancelHard context.CancelCauseFunc
	hardAt     atomic.Pointer[time.Time] // when that was called
	soft       chan struct{}             // closed when a stop begins
	stopping   atomic.Bool               // set just before

	watch watch

	live atomic.Int64 // jobs whose Finish or OnRelease is still to come

	mu       sync.Mutex
	free     int
	jobs     int            // submitted and not finished
	topics   map[string]int // the same by topic
	working  queue          // those that hold a slot and are carried
	ready    queue          // those that hold a slot and wait for a carrier
	waiting  queue          // those that wait for a slot
	parked   *carrier       // goroutines without work
	waking   bool           // one of them was woken, or a new one started, and has not looked yet
	draining bool           // a goroutine gives back those that wait
	idle     chan struct{}  // closed when live is 0; nil while nobody waits for it
}

// New returns a pool that takes jobs at once. Whoever made it calls Stop.
func New(cfg Config) *Pool {
	size := max(cfg.Size, 1)
	hard, cancel := context.WithCancelCause(context.Background())
	p := &Pool{
		size:       size,
		onRelease:  cfg.OnRelease,
		hard:       hard,
		cancelHard: cancel,
		soft:       make(chan struct{}),
		free:       size,
		topics:     make(map[string]int),
	}
	p.watch.init(p)
	return p
}

// Submit gives jobs to the pool and returns without waiting. A job for which
// no slot is free waits for one, behind those that came before: whoever submits
// asks Free first, and so bounds how many can wait. After Stop has begun every
// task of the jobs is Unfinished.
func (p *Pool) Submit(jobs ...*Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stopping := p.stopping.Load()
	p.live.Add(int64(len(jobs)))
	p.jobs += len(jobs)
	for _, j := range jobs {
		e := &j.execution
		e.pool, e.job = p, j
		e.results = e.firstResult[:0]
		p.topics[j.Topic]++
		if p.free == 0 || stopping {
			p.waiting.push(e)
			continue
		}
		p.free--
		e.slot = true
		p.ready.push(e)
	}
	if stopping {
		p.drain()
		return
	}
	p.wake()
}

// next returns the job that is to be carried next, nil where there is none. The
// pool's lock is held.
func (p *Pool) next() *execution {
	e := p.ready.pop()
	if e != nil {
		p.working.push(e)
		p.wake()
	}
	return e
}

// finish ends a job. It returns the one to go on with, be it after some time; nil
// when the carrier c is to end.
//
// The order matters: Finish first, so that its blocking holds back whoever
// claims; then the slot, then OnRelease, which may ask Free; then Stop may return.
func (p *Pool) finish(e *execution, c *carrier) (next *execution) {
	topic := e.job.Topic
	e.job.Work.Finish(e.results)

	p.mu.Lock()
	p.jobs--
	if p.topics[topic]--; p.topics[topic] == 0 {
		delete(p.topics, topic)
	}
	parked := false
	if e.slot {
		p.working.remove(e)
		if w := p.waiting.pop(); w != nil {
			w.slot = true
			p.ready.push(w)
		} else {
			p.free++
		}
		if next = p.next(); next == nil {
			parked = p.park(c)
		}
	}
	free := p.free
	p.mu.Unlock()

	if p.onRelease != nil {
		p.onRelease(free)
	}
	if p.live.Add(-1) == 0 && p.stopping.Load() {
		p.tellIdle()
	}
	if parked {
		next = p.await(c)
	}
	return next
}

// runs returns the last run of each job that is carried.
func (p *Pool) runs() (all []*run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for e := p.working.first; e != nil; e = e.after {
		if r := e.current.Load(); r != nil {
			all = append(all, r)
		}
	}
	return all
}

// Free returns how many more jobs would run at once; 0 after Stop has begun.
func (p *Pool) Free() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping.Load() {
		return 0
	}
	return p.free
}

// Running returns how many jobs are submitted and not finished.
func (p *Pool) Running() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.jobs
}

// RunningOf returns how many jobs of a topic are submitted and not finished.
func (p *Pool) RunningOf(topic string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.topics[topic]
}
