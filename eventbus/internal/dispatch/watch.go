package dispatch

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// watch wakes the pool when a run may have to be given up. One timer serves all
// runs: most of them end long before, and a timer of its own would cost a short
// run as much as the call of its handler.
type watch struct {
	pool  *Pool
	began time.Time    // what next counts from
	next  atomic.Int64 // when the timer fires, in ns; never where it is not set

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

const never = math.MaxInt64

func (w *watch) init(p *Pool) {
	w.pool, w.began = p, time.Now()
	w.next.Store(never)
}

// over sees to it that the pool looks at its runs no later than at. The run that
// ends then must be visible in the pool before it is called.
func (w *watch) over(at time.Time) {
	due := int64(at.Sub(w.began))
	if due >= w.next.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if due >= w.next.Load() || w.stopped {
		return
	}
	w.next.Store(due)
	left := time.Until(at)
	if w.timer == nil {
		w.timer = time.AfterFunc(left, w.look)
		return
	}
	w.timer.Reset(left)
}

// look gives up the runs whose time is over, and watches over the others.
func (w *watch) look() {
	// From here on whoever starts a run sets the timer himself: it is seen below,
	// or it sees this.
	w.next.Store(never)
	now := time.Now()
	first := time.Time{}
	for _, r := range w.pool.runs() {
		switch {
		case r.state.Load() != running:
		case !now.Before(r.giveUpAt()):
			go r.giveUp()
		case first.IsZero() || r.giveUpAt().Before(first):
			first = r.giveUpAt()
		}
	}
	if !first.IsZero() {
		w.over(first)
	}
}

// stop ends the watch: no run is left.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
}
