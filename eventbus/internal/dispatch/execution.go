package dispatch

import "sync/atomic"

// execution is a job in the pool. It belongs to its carrier: results is written
// by nobody else, and passes on with the compare-and-swap of a run's state.
type execution struct {
	pool    *Pool
	job     *Job
	results []Result
	current atomic.Pointer[run] // the last run that was started

	// Most jobs have one task: its run and result are kept here.
	firstRun    run
	firstResult [1]Result

	slot          bool       // holds a slot
	before, after *execution // in the pool's lists
}

// carry runs what is left of the job, finishes it, and goes on with the jobs that
// c finds then. It returns early when another goroutine took the job over.
func (e *execution) carry(c *carrier) {
	for e != nil {
		for len(e.results) < len(e.job.Handlers) {
			if !e.step(len(e.results)) {
				return
			}
		}
		e = e.pool.finish(e, c)
	}
}

// step brings about the result of the i-th task.
func (e *execution) step(i int) (carryOn bool) {
	h := e.job.Handlers[i]
	if e.pool.stopping.Load() {
		e.record(Result{Handler: h, Status: Unfinished})
		return true
	}
	permit, refusal, ok := h.enter(e.pool.soft)
	if !ok {
		e.record(refusal)
		return true
	}
	r := &e.firstRun
	if i > 0 {
		r = &run{}
	}
	r.begin(e, i, permit)
	// First shown, then asked whether a stop has begun: a run that a stop does not
	// see here will see the stop, so none starts behind its back. The same holds
	// for the watch.
	e.current.Store(r)
	if e.pool.stopping.Load() {
		return e.callOff(r)
	}
	e.pool.watch.over(r.giveUpAt())
	return r.do()
}

// callOff ends a run that has not started.
func (e *execution) callOff(r *run) (carryOn bool) {
	if !r.state.CompareAndSwap(running, returned) {
		r.handler.comeBack()
		return false
	}
	r.permit.report(errNeutral)
	r.handler.leave()
	e.record(Result{Handler: r.handler, Status: Unfinished})
	return true
}

func (e *execution) record(result Result) { e.results = append(e.results, result) }
