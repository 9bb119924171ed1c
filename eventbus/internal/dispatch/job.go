package dispatch

import (
	"context"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/outcome"
)

// Job is one event with the handlers that are to run for it. It belongs to the
// pool from Submit until its Finish is called.
type Job struct {
	// Topic is what RunningOf counts by.
	Topic string
	// Handlers run one after another in this order, each as a task of the job.
	Handlers []*Handler
	Work     Work

	execution execution
}

// Work is what the pool does for a job.
type Work interface {
	// Run calls the handler of the i-th task. Its context ends at the handler's
	// timeout and, with the cause ErrStopping, when the pool stops hard. What it
	// returns is read by package outcome.
	Run(ctx context.Context, i int) error
	// Finish is called exactly once, from a goroutine of the pool, with one
	// result per task in their order; the slice is its own from then on. It may
	// block, and keeps the slot meanwhile. It must not panic.
	Finish(results []Result)
}

// Status is what became of a task. The zero value is none.
type Status int

const (
	// Succeeded: the handler returned nil.
	Succeeded Status = iota + 1
	// Failed: the handler returned an error, timed out, panicked or ended its
	// goroutine. Err says which.
	Failed
	// PutOff: not run, or asked to be run again. Reason says why and Wait how
	// long. No attempt was used.
	PutOff
	// Unfinished: not run, or cut off, because the pool stops. No attempt was used.
	Unfinished
)

// String names the status for logs.
func (s Status) String() string {
	switch s {
	case Succeeded:
		return "succeeded"
	case Failed:
		return "failed"
	case PutOff:
		return "put off"
	case Unfinished:
		return "unfinished"
	}
	return "none"
}

// Reason says why a task was put off, or why a handler can not run now.
type Reason string

const (
	// Disabled: the handler is switched off.
	Disabled Reason = "disabled"
	// BreakerOpen: the handler's circuit breaker is open, or its one probe is
	// under way.
	BreakerOpen Reason = "breaker open"
	// AtAbandonedCap: too many runs of the handler ignored their timeout and
	// have not returned yet.
	AtAbandonedCap Reason = "at the cap of abandoned runs"
	// Snoozed: the handler asked to be run later.
	Snoozed Reason = "snoozed"
)

// Result is what became of one task.
type Result struct {
	Handler *Handler
	Status  Status
	// Err is set where Status is Failed: what the handler returned, or an error
	// that wraps errs.Timeout (and errs.Abandoned), or a *PanicError. It is also
	// set where a handler returned an error and the task is put off (Snoozed) or
	// Unfinished all the same. Its text is what it was when the handler returned.
	Err error
	// Kind and Delay are what the handler asked for with Err.
	Kind  outcome.Kind
	Delay time.Duration
	// Reason is set where Status is PutOff.
	Reason Reason
	// Wait is after what time the task may be tried again, never negative. Zero
	// where that is not known: Disabled and AtAbandonedCap.
	Wait time.Duration
	// Took is how long the handler ran; zero where it did not.
	Took time.Duration
}
