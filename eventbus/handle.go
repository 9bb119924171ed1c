package eventbus

import (
	"context"
	"time"
)

// EventHandle is what runs for an event. It is called from many goroutines at
// once. Its context ends at the handler's timeout and when the bus stops hard;
// it should return soon after. A nil error means that the event is done for
// this handler; see Reject, RetryAfter and Snooze for what an error can say.
type EventHandle interface {
	Handle(ctx context.Context, event *Event) error
}

// HandleFunc adapts a function to EventHandle.
type HandleFunc func(ctx context.Context, event *Event) error

// Handle calls f.
func (f HandleFunc) Handle(ctx context.Context, event *Event) error { return f(ctx, event) }

// Typed returns an EventHandle that decodes the JSON payload into a T and calls
// f with it. A payload that does not decode is rejected: the failure is in the
// dead set, with the reason, and f is not called. The event itself is at hand
// through EventFrom(ctx).
func Typed[T any](f func(ctx context.Context, value T) error) EventHandle {
	return HandleFunc(func(ctx context.Context, event *Event) error {
		var value T
		if err := event.Unmarshal(&value); err != nil {
			return err
		}
		return f(context.WithValue(ctx, eventKey{}, event), value)
	})
}

type eventKey struct{}

// EventFrom returns the event that a Typed handler is running for, or nil when
// ctx is not the context of one.
func EventFrom(ctx context.Context) *Event {
	event, _ := ctx.Value(eventKey{}).(*Event)
	return event
}

// Middleware wraps a handler, as net/http's does: what comes first in a list is
// outermost. Panics need none: the bus turns them into failures itself.
type Middleware func(next EventHandle) EventHandle

func chain(handle EventHandle, lists ...[]Middleware) EventHandle {
	for i := len(lists) - 1; i >= 0; i-- {
		for j := len(lists[i]) - 1; j >= 0; j-- {
			handle = lists[i][j](handle)
		}
	}
	return handle
}

// Defaults of HandleConfig.
const (
	DefaultTimeout      = 10 * time.Second
	DefaultMaxAttempts  = 10
	DefaultRetryInitial = time.Second
	DefaultRetryMax     = 5 * time.Minute
	DefaultMaxAbandoned = 16
	DefaultBreakerOpen  = 30 * time.Second
)

// HandleConfig is the settings of one handler. The zero value means the
// defaults. All but Middleware can be changed at run time (see Handlers); what
// is set there goes before what stands here.
type HandleConfig struct {
	// Timeout is how long one run may take. The handler's context ends then; one
	// that goes on all the same is given up, and its failure is recorded.
	// Defaults to DefaultTimeout (10 s).
	Timeout time.Duration
	// Retry says how often and when a failed attempt is repeated.
	Retry RetryPolicy
	// Concurrency is how many runs of this handler may be under way at once in
	// this process. Defaults to no limit but the pool's.
	Concurrency int
	// MaxAbandoned is how many runs that ignored their timeout may still be
	// under way before no more events are given to this handler until some
	// return. Defaults to DefaultMaxAbandoned (16).
	MaxAbandoned int
	// Breaker stops calling a handler that keeps failing. Off by default.
	Breaker BreakerConfig
	// Disabled starts the handler switched off: its share of each event waits.
	Disabled bool
	// Middleware wraps this handler, inside of Config.Middleware.
	Middleware []Middleware
}

// RetryPolicy says when a failed attempt is repeated: after a random time
// between zero and min(Max, Initial·2^(n-1)) following the n-th attempt, which
// is the "full jitter" of Marc Brooker, "Exponential Backoff And Jitter" (AWS
// Architecture Blog, 2015).
type RetryPolicy struct {
	// MaxAttempts is how many runs there are in all before the failure goes to
	// the dead set; 1 means no retry. Defaults to DefaultMaxAttempts (10).
	MaxAttempts int
	// Initial is the upper bound of the first delay. Defaults to
	// DefaultRetryInitial (1 s).
	Initial time.Duration
	// Max caps the upper bound. Defaults to DefaultRetryMax (5 min), or to Initial
	// where that is more.
	Max time.Duration
}

// BreakerConfig is the settings of a handler's circuit breaker. While it is
// open the handler is not called, its share of an event is put off, and no
// attempt is used up. Rejections and snoozes do not count as failures, nor does an
// error in whose chain one has a method Answered() bool that returns true: what the
// handler depends on has answered, and is not down.
type BreakerConfig struct {
	// Failures is how many consecutive failures open the breaker. Defaults to 0:
	// no breaker.
	Failures int
	// Open is how long it stays open before one call is let through to try.
	// Defaults to DefaultBreakerOpen (30 s).
	Open time.Duration
}
