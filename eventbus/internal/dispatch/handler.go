package dispatch

import (
	"sync"
	"sync/atomic"
	"time"
)

// Settings of one handler. They are replaced as a whole at run time; whoever
// sets them has checked them.
type Settings struct {
	// Enabled is whether the handler runs at all.
	Enabled bool
	// Timeout is how long one run may take; positive.
	Timeout time.Duration
	// Concurrency is how many runs may be under way at once; 0 means no limit
	// but the pool's.
	Concurrency int
	// MaxAbandoned is at how many abandoned runs the handler is given no more
	// tasks; positive. Runs that are under way when it is reached may still be
	// abandoned, so up to a pool's Size more are possible.
	MaxAbandoned int
	// BreakerFailures is how many failures in a row open the breaker; 0 means
	// no breaker.
	BreakerFailures int
	// BreakerOpen is how long the breaker stays open before one run is tried.
	BreakerOpen time.Duration
	// BreakerAnew changes with each wish that the breaker begins anew, closed.
	BreakerAnew int64
}

// Handler is the state of one registered handler: its settings, its limit, its
// breaker and its abandoned runs. It is safe for concurrent use.
type Handler struct {
	id string

	mu        sync.Mutex
	settings  Settings
	limit     limit
	abandoned int
	breaker   *breaker // nil without one

	failed atomic.Pointer[error] // the last one that the breaker was told of

	// OnBreaker is called when the breaker opens, again for each trial that fails,
	// and when it closes; with the error that opened it. It must not block. Nil means
	// nobody asks; set it before the first run.
	OnBreaker func(now BreakerState, failed error)
}

func (h *Handler) tellBreaker(now BreakerState) {
	if h.OnBreaker == nil {
		return
	}
	var failed error
	if last := h.failed.Load(); last != nil && now != Closed {
		failed = *last
	}
	h.OnBreaker(now, failed)
}

// NewHandler returns a handler. The id names it in errors.
func NewHandler(id string, s Settings) *Handler {
	h := &Handler{
		id:       id,
		settings: s,
		limit:    limit{max: s.Concurrency},
	}
	h.breaker = newBreaker(id, s.BreakerFailures, s.BreakerOpen, h.tellBreaker)
	return h
}

// ID returns the handler's id.
func (h *Handler) ID() string { return h.id }

// Settings returns the settings in force.
func (h *Handler) Settings() Settings {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.settings
}

// Apply puts new settings in force for every run that has not started yet. A
// raised concurrency lets waiting tasks go on at once, a lowered one lets running
// ones end; disabling puts the waiting ones off. The breaker starts anew only if
// its own settings changed, BreakerAnew among them.
func (h *Handler) Apply(s Settings) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.settings
	h.settings = s
	if s.BreakerFailures != old.BreakerFailures || s.BreakerOpen != old.BreakerOpen || s.BreakerAnew != old.BreakerAnew {
		h.breaker = newBreaker(h.id, s.BreakerFailures, s.BreakerOpen, h.tellBreaker)
	}
	if !s.Enabled {
		h.limit.turnAway()
	}
	h.limit.resize(s.Concurrency)
}

// BreakerIsOpen says that the handler has a breaker and it is open, or half-open.
func (h *Handler) BreakerIsOpen() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.breaker != nil && h.breaker.isOpen()
}

// Blocked says why a task of this handler would be put off now, and after what
// time it would not; "" when it would run. The time is zero when it is not
// known (Disabled, AtAbandonedCap). It reserves nothing: a poller uses it to
// leave events where they are while no handler of a topic can run.
func (h *Handler) Blocked() (reason Reason, wait time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.blocked()
}

func (h *Handler) blocked() (Reason, time.Duration) {
	if reason := h.shut(); reason != "" {
		return reason, 0
	}
	if h.breaker != nil {
		if wait, blocked := h.breaker.blocked(); blocked {
			return BreakerOpen, wait
		}
	}
	return "", 0
}

func (h *Handler) shut() Reason {
	switch {
	case !h.settings.Enabled:
		return Disabled
	case h.abandoned >= h.settings.MaxAbandoned:
		return AtAbandonedCap
	}
	return ""
}

// Stats returns how many runs are under way, how many tasks wait for the
// handler's limit, and how many runs were given up and have not returned.
func (h *Handler) Stats() (running, waiting, abandoned int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.limit.running, h.limit.waiters.Len(), h.abandoned
}

// permit is the right to one run. Whoever has it calls leave, unless the run is
// given up, and report once.
type permit struct {
	timeout time.Duration
	breaker func(error) // nil without a breaker
}

// report tells the breaker what came of the run.
func (p permit) report(err error) {
	if p.breaker != nil {
		p.breaker(err)
	}
}

// enter asks for one run and waits for the limit if it must. Without a permit
// the result says why: put off, or Unfinished because stop was closed.
//
// The breaker is asked last, when nothing can hold the run up any more: a probe
// that stood in the line would keep the breaker half-open meanwhile.
func (h *Handler) enter(stop <-chan struct{}) (permit, Result, bool) {
	h.mu.Lock()
	if reason := h.shut(); reason != "" {
		h.mu.Unlock()
		return permit{}, h.putOff(reason, 0), false
	}
	if !h.limit.acquire() {
		if refusal, ok := h.lineUp(stop); !ok {
			h.mu.Unlock()
			return permit{}, refusal, false
		}
	}
	leave := permit{timeout: h.settings.Timeout}
	circuit := h.breaker
	h.mu.Unlock()

	if circuit == nil {
		return leave, Result{}, true
	}
	report, wait, ok := circuit.allow()
	if !ok {
		h.leave()
		return permit{}, h.putOff(BreakerOpen, wait), false
	}
	leave.breaker = report
	return leave, Result{}, true
}

// lineUp waits for a place of the limit. It is called with the lock held, lets
// go of it while it waits, and returns with it held.
func (h *Handler) lineUp(stop <-chan struct{}) (Result, bool) {
	if reason, wait := h.blocked(); reason != "" {
		return h.putOff(reason, wait), false
	}
	w := h.limit.enqueue()
	h.mu.Unlock()
	select {
	case <-w.ready:
	case <-stop:
	}
	h.mu.Lock()
	if h.limit.withdraw(w) {
		return Result{Handler: h, Status: Unfinished}, false
	}
	if !w.granted {
		return h.putOff(Disabled, 0), false
	}
	if reason := h.shut(); reason != "" { // it may have come to that while waiting
		h.limit.release()
		return h.putOff(reason, 0), false
	}
	return Result{}, true
}

func (h *Handler) putOff(reason Reason, wait time.Duration) Result {
	return Result{Handler: h, Status: PutOff, Reason: reason, Wait: wait}
}

// leave ends a run that returned.
func (h *Handler) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.limit.release()
}

// abandon turns a run into an abandoned one if claim wins it. Claim is asked
// under the lock, so that the loser's comeBack finds the run counted.
func (h *Handler) abandon(claim func() bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !claim() {
		return false
	}
	h.abandoned++
	h.limit.release()
	return true
}

// comeBack ends a run that was abandoned.
func (h *Handler) comeBack() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.abandoned--
}
