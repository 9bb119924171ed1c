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
	// OnRelease is called after a job of the topic has finished and left its
	// slot, from a goroutine of the pool. It must not block. Nil means nobody
	// asks.
	OnRelease func(topic string)
}

// Pool runs jobs in a bounded number of slots. It is safe for concurrent use.
type Pool struct {
	size      int
	onRelease func(topic string)

	hard       context.Context // parent of every run's context
	cancelHard context.CancelCauseFunc
	hardAt     atomic.Pointer[time.Time] // when that was called
	soft       chan struct{}             // closed when a stop begins
	stopping   atomic.Bool               // set just before

	live atomic.Int64 // jobs whose Finish or OnRelease is still to come

	mu       sync.Mutex
	free     int
	jobs     int            // submitted and not finished
	topics   map[string]int // the same by topic
	working  queue          // those that hold a slot
	waiting  queue          // those that wait for one
	parked   *carrier       // goroutines without work
	draining bool           // a goroutine gives back those that wait
	idle     chan struct{}  // closed when live is 0; nil while nobody waits for it
}

// New returns a pool that takes jobs at once. Whoever made it calls Stop.
func New(cfg Config) *Pool {
	size := max(cfg.Size, 1)
	hard, cancel := context.WithCancelCause(context.Background())
	return &Pool{
		size:       size,
		onRelease:  cfg.OnRelease,
		hard:       hard,
		cancelHard: cancel,
		soft:       make(chan struct{}),
		free:       size,
		topics:     make(map[string]int),
	}
}

// Submit gives a job to the pool and returns without waiting. A job for which
// no slot is free waits for one, behind those that came before: whoever submits
// asks Free first, and so bounds how many can wait. After Stop has begun every
// task of the job is Unfinished.
func (p *Pool) Submit(j *Job) {
	e := &execution{pool: p, job: j}
	e.results = e.firstResult[:0]
	p.mu.Lock()
	p.live.Add(1)
	p.jobs++
	p.topics[j.Topic]++
	if p.free == 0 || p.stopping.Load() {
		p.waiting.push(e)
		if p.stopping.Load() {
			p.drain()
		}
		p.mu.Unlock()
		return
	}
	p.free--
	p.occupy(e)
	p.start(e)
	p.mu.Unlock()
}

// occupy gives e a slot that is already taken off the free ones.
func (p *Pool) occupy(e *execution) {
	e.slot = true
	p.working.push(e)
}

// finish ends a job. It returns the one to go on with: that to which the slot
// falls, or the next one that comes; nil when the carrier c is to end.
//
// The order matters: Finish first, so that its blocking holds back whoever
// claims; then the slot, then OnRelease, which may ask Free; then Stop may return.
func (p *Pool) finish(e *execution, c *carrier) (next *execution) {
	e.job.Finish(e.results)

	p.mu.Lock()
	p.jobs--
	if p.topics[e.job.Topic]--; p.topics[e.job.Topic] == 0 {
		delete(p.topics, e.job.Topic)
	}
	parked := false
	if e.slot {
		p.working.remove(e)
		if next = p.waiting.pop(); next != nil {
			p.occupy(next)
		} else {
			p.free++
			if parked = !p.stopping.Load(); parked {
				p.park(c)
			}
		}
	}
	p.mu.Unlock()

	if p.onRelease != nil {
		p.onRelease(e.job.Topic)
	}
	if p.live.Add(-1) == 0 && p.stopping.Load() {
		p.tellIdle()
	}
	if parked {
		next = <-c.work
	}
	return next
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
