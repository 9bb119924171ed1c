package dispatch

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/outcome"
)

// errGoexit wraps errs.Panic, since it is a failure of the same kind: the
// handler's code broke off without returning.
var errGoexit = fmt.Errorf("%w: it ended its goroutine with runtime.Goexit", errs.Panic)

// PanicError is the failure of a handler that panicked. It wraps errs.Panic and,
// where the handler panicked with an error, that error too.
type PanicError struct {
	// Value is what the handler panicked with; a *runtime.PanicNilError for nil.
	Value any
	// Stack is the stack of the panicking goroutine, as runtime/debug prints it.
	Stack []byte

	cause error
}

// newPanicError is called from the deferred function that recovered.
func newPanicError(value any) *PanicError {
	e := &PanicError{Value: value, Stack: debug.Stack()}
	if err, ok := value.(error); ok && plain(err) {
		e.cause = err
	}
	return e
}

// Error returns the value, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("%v: %v", errs.Panic, e.Value) }

// Unwrap returns errs.Panic and the error that the handler panicked with.
func (e *PanicError) Unwrap() []error {
	if e.cause == nil {
		return []error{errs.Panic}
	}
	return []error{errs.Panic, e.cause}
}

// plain reports whether err is an error that others can safely look into: one
// whose methods do not panic themselves (a nil pointer in an interface) and that
// carries no outcome: a panic is a failed attempt, whatever it was raised with.
func plain(err error) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	_ = err.Error()
	var asked *outcome.Error
	return !errors.As(err, &asked)
}
