package dispatch

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/seed4933/eventbus/eventbus/internal/outcome"
)

// probeWait is for how long, at most, a task is put off that meets a half-open
// breaker whose probe is under way. The probe's end is not known beforehand;
// zero would send such tasks round in a hot loop.
const probeWait = time.Second

// What a run tells its breaker, beside nil for success.
var (
	errFailed  = errors.New("failed")
	errNeutral = errors.New("neither failed nor succeeded")
)

// breaker is a handler's circuit breaker: closed until so many runs in a row
// have failed, then open for a time, then half-open: one run is let through as a
// probe, whose success closes it and whose failure opens it again.
//
// Neutral results are excluded from its counts altogether. In the half-open
// state that takes the probe out of the count of requests, so that the next run
// becomes the probe; counted as neither, it would hold the one place for ever.
type breaker struct {
	circuit *gobreaker.TwoStepCircuitBreaker[struct{}]
	open    time.Duration
	until   atomic.Pointer[time.Time] // when it will be half-open; nil unless open
	tell    func(BreakerState)        // what has become of it; must not block
}

// BreakerState is what has become of a handler's circuit breaker.
type BreakerState int

const (
	// Closed: runs go on, the trial has succeeded.
	Closed BreakerState = iota
	// Opened: runs have failed in a row, and none begins for a while.
	Opened
	// Reopened: so has the trial after that while.
	Reopened
)

// newBreaker returns nil, which stands for no breaker, when failures is not positive.
func newBreaker(id string, failures int, open time.Duration, tell func(BreakerState)) *breaker {
	if failures <= 0 {
		return nil
	}
	b := &breaker{open: max(open, 1), tell: tell} // zero would mean gobreaker's own default
	b.circuit = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:          id,
		MaxRequests:   1,
		Timeout:       b.open,
		ReadyToTrip:   func(c gobreaker.Counts) bool { return int64(c.ConsecutiveFailures) >= int64(failures) },
		OnStateChange: b.changed,
		IsExcluded:    func(err error) bool { return err == errNeutral },
	})
	return b
}

func (b *breaker) changed(_ string, from, to gobreaker.State) {
	switch {
	case to == gobreaker.StateClosed:
		b.tell(Closed)
	case to == gobreaker.StateOpen && from == gobreaker.StateClosed:
		b.tell(Opened)
	case to == gobreaker.StateOpen:
		b.tell(Reopened)
	}
	if to != gobreaker.StateOpen {
		b.until.Store(nil)
		return
	}
	// gobreaker is half-open only after its expiry, not at it. The nanosecond
	// makes a wait of what remaining says long enough.
	until := time.Now().Add(b.open + 1)
	b.until.Store(&until)
}

// allow asks for one run. When it is granted, report must be called once with
// what came of it; otherwise wait says when to ask again.
func (b *breaker) allow() (report func(error), wait time.Duration, ok bool) {
	report, err := b.circuit.Allow()
	switch {
	case err == nil:
		return report, 0, true
	case errors.Is(err, gobreaker.ErrTooManyRequests):
		return nil, b.probeWait(), false
	default:
		return nil, b.remaining(), false
	}
}

// blocked says whether allow would refuse, and until when, without asking.
func (b *breaker) blocked() (time.Duration, bool) {
	switch b.circuit.State() {
	case gobreaker.StateOpen:
		return b.remaining(), true
	case gobreaker.StateHalfOpen:
		if c := b.circuit.Counts(); c.Requests > c.TotalExclusions {
			return b.probeWait(), true
		}
	}
	return 0, false
}

// isOpen says that it is not closed: it lets nothing through, or no more than a probe.
func (b *breaker) isOpen() bool { return b.circuit.State() != gobreaker.StateClosed }

func (b *breaker) remaining() time.Duration {
	until := b.until.Load()
	if until == nil {
		return 0
	}
	return max(time.Until(*until), 0)
}

func (b *breaker) probeWait() time.Duration { return min(b.open, probeWait) }

// hasAnswered tells whether an error says of itself that what the handler depends on
// has answered, and is not down.
func hasAnswered(err error) bool {
	var e interface{ Answered() bool }
	return errors.As(err, &e) && e.Answered()
}

// reportOf is what the breaker is told of a run: a rejection or a snooze is about the
// event, and says nothing of what the handler depends on.
func reportOf(v verdict) error {
	if v.kind == outcome.Done || v.answered {
		return nil
	}
	switch v.kind {
	case outcome.Fail, outcome.Later:
		return errFailed
	default:
		return errNeutral
	}
}
