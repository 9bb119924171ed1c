// Package outcome holds the error values by which a handler says what shall
// become of its event. Package eventbus documents and exports them.
package outcome

import (
	"errors"
	"fmt"
	"time"
)

// Kind is what shall become of an event after a handler has run.
type Kind int

const (
	Done   Kind = iota // the handler succeeded
	Fail               // an attempt failed; the backoff decides when the next comes
	Later              // an attempt failed; the next comes after a given delay
	Dead               // no later attempt can succeed
	PutOff             // run again after a given delay, no attempt used
)

// Error carries an outcome through a chain of wrapped errors.
type Error struct {
	Kind  Kind
	Delay time.Duration
	Err   error
}

func (e *Error) Error() string {
	switch e.Kind {
	case Dead:
		if e.Err == nil {
			return "rejected"
		}
		return fmt.Sprintf("rejected: %v", e.Err)
	case Later:
		return fmt.Sprintf("retry after %v: %v", e.Delay, e.Err)
	default:
		return fmt.Sprintf("snoozed for %v", e.Delay)
	}
}

// Unwrap returns the reason, so that errors.Is and errors.As see it.
func (e *Error) Unwrap() error { return e.Err }

// Reject, RetryAfter and Snooze: see package eventbus.
func Reject(err error) error { return &Error{Kind: Dead, Err: err} }

func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		err = errors.New("no reason given")
	}
	return &Error{Kind: Later, Delay: max(d, 0), Err: err}
}

func Snooze(d time.Duration) error { return &Error{Kind: PutOff, Delay: max(d, 0)} }

// Of reads the outcome of what a handler returned. The outermost outcome in the
// chain counts.
func Of(err error) (Kind, time.Duration) {
	if err == nil {
		return Done, 0
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Kind, e.Delay
	}
	return Fail, 0
}
