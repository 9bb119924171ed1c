package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/outcome"
)

// abandonGrace is how long after its deadline a run is given up: time for a
// handler that heeds its context to return.
const abandonGrace = 50 * time.Millisecond

// States of a run; see the package comment.
const (
	running int32 = iota
	returned
	abandoned
	cut
)

// run is one call of a handler.
type run struct {
	of      *execution
	index   int // of its task
	handler *Handler
	permit  permit
	state   atomic.Int32
	ctx     runContext
	start   time.Time
}

// verdict is what a handler said at its end.
type verdict struct {
	err      error
	kind     outcome.Kind
	delay    time.Duration
	broken   bool // it panicked or ended its goroutine
	answered bool // see hasAnswered
}

// begin is called before anybody else knows of the run.
func (r *run) begin(of *execution, i int, p permit) {
	r.of, r.index, r.handler, r.permit = of, i, of.job.Handlers[i], p
	r.start = time.Now()
	r.ctx.pool, r.ctx.deadline = of.pool, r.start.Add(p.timeout)
}

// said is an error that a handler returned, with its text as it was then: the error
// is the user's, and what it says may change or panic when it is asked again.
type said struct {
	err  error
	text string
}

func (s *said) Error() string { return s.text }

func (s *said) Unwrap() error { return s.err }

// do calls the handler and records the result. It returns whether the caller is
// still the carrier of the job.
func (r *run) do() (carryOn bool) {
	var v verdict
	ended := false
	defer func() {
		goexit := false
		if !ended {
			v = verdict{kind: outcome.Fail, broken: true}
			if value := recover(); value != nil {
				v.err = newPanicError(value)
			} else {
				v.err, goexit = fmt.Errorf("run handler %q: %w", r.handler.id, errGoexit), true
			}
		}
		carryOn = r.end(v)
		r.ctx.end() // after the other end, which asks for the context's cause
		if goexit && carryOn {
			// This goroutine runs its deferred calls and is gone.
			carryOn = false
			go r.of.carry(&carrier{})
		}
	}()
	v.err = r.of.job.Work.Run(&r.ctx, r.index)
	if v.err != nil {
		// Asked here, where a panic is the handler's: a nil pointer returned as an
		// error often panics in its own methods.
		v.kind, v.delay = outcome.Of(v.err)
		v.answered = hasAnswered(v.err)
		v.err = &said{err: v.err, text: v.err.Error()}
	}
	ended = true
	return // what the deferred function says
}

// giveUpAt is when the handler should long have returned. Timeouts of centuries
// lead beyond the clock, where it stands still: they do not become one of the past.
func (r *run) giveUpAt() time.Time { return r.ctx.deadline.Add(abandonGrace) }

// end records what a handler said, unless the run was given up before.
func (r *run) end(v verdict) bool {
	h := r.handler
	if !r.state.CompareAndSwap(running, returned) {
		h.comeBack()
		return false
	}
	result := r.read(v)
	said := reportOf(v)
	if result.Status == Unfinished {
		said = errNeutral
	}
	if said == errFailed {
		h.failed.Store(&result.Err)
	}
	r.permit.report(said) // before leave lets in the next, which asks the breaker
	h.leave()
	r.of.record(result)
	return true
}

// read turns a verdict into a result.
func (r *run) read(v verdict) Result {
	now := time.Now()
	result := Result{Handler: r.handler, Err: v.err, Kind: v.kind, Delay: v.delay, Took: now.Sub(r.start)}
	switch {
	case v.err == nil:
		result.Status = Succeeded
	case v.broken:
		result.Status = Failed
	case v.kind != outcome.Dead && r.stopped():
		result.Status = Unfinished
	case v.kind == outcome.PutOff:
		result.Status, result.Reason, result.Wait = PutOff, Snoozed, max(v.delay, 0)
	default:
		result.Status = Failed
		if !now.Before(r.ctx.deadline) && !r.stopped() {
			result.Err = fmt.Errorf("run handler %q: %w after %v: %w",
				r.handler.id, errs.Timeout, r.permit.timeout, v.err)
		}
	}
	return result
}

// stopped reports whether a hard stop ended the context, and not its deadline.
func (r *run) stopped() bool { return errors.Is(context.Cause(&r.ctx), ErrStopping) }

// giveUp is called when the run's time is over: if the handler has not returned,
// it records that and carries on with the job in the calling goroutine.
func (r *run) giveUp() {
	if r.stopped() {
		if r.cutOff() {
			r.of.carry(&carrier{})
		}
		return
	}
	err := fmt.Errorf("run handler %q: %w after %v: %w", r.handler.id, errs.Timeout, r.permit.timeout, errs.Abandoned)
	r.handler.failed.Store(&err) // before the breaker hears of it
	if !r.takeOver(abandoned, errFailed) {
		return
	}
	r.of.record(Result{
		Handler: r.handler,
		Status:  Failed,
		Kind:    outcome.Fail,
		Err:     err,
		Took:    time.Since(r.start),
	})
	r.of.carry(&carrier{})
}

// cutOff gives the run up because of a stop. If it returns true the caller is
// the job's carrier.
func (r *run) cutOff() bool {
	if !r.takeOver(cut, errNeutral) {
		return false
	}
	r.of.record(Result{Handler: r.handler, Status: Unfinished})
	return true
}

func (r *run) takeOver(to int32, said error) bool {
	return r.handler.abandon(func() bool {
		if !r.state.CompareAndSwap(running, to) {
			return false
		}
		r.permit.report(said)
		return true
	})
}
