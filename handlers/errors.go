package handlers

import (
	"errors"

	"github.com/seed4933/eventbus/eventbus"
)

// Errors with which the middleware of this package puts an event off. Each
// comes together with an eventbus.Snooze, so that no attempt is used up.
var (
	// ErrRateLimited: RateLimit found no token that would come in time. The
	// handler did not run.
	ErrRateLimited = errors.New("rate limit reached")
	// ErrInProgress: Deduplicate found another run of the same handler on the
	// same event under way. The handler did not run.
	ErrInProgress = errors.New("another run of this event is in progress")
)

// invalid returns an error that is an *eventbus.ArgumentError. value is shown as
// it is. The cause, where there is one, is said by the reason already; it is
// there for errors.Is and errors.As.
func invalid(field, value, reason string, cause error) error {
	argument := &eventbus.ArgumentError{Field: field, Value: value, Reason: reason}
	if cause == nil {
		return argument
	}
	return &causedError{argument, cause}
}

type causedError struct {
	argument *eventbus.ArgumentError
	cause    error
}

func (e *causedError) Error() string   { return e.argument.Error() }
func (e *causedError) Unwrap() []error { return []error{e.argument, e.cause} }
