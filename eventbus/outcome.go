package eventbus

import (
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/outcome"
)

// What becomes of an event when a handler returns an error is said by the error
// itself. A plain error is a failed attempt: it is tried again after the
// handler's backoff until its attempts are used up. The three below say
// otherwise; each may be wrapped further with %w.

// Reject says that no later attempt can succeed: the failure goes to the dead
// set at once, whatever attempts are left. Reject(nil) is a rejection without
// a reason.
func Reject(err error) error { return outcome.Reject(err) }

// RetryAfter is a failed attempt like a plain error, but the next attempt comes
// after d instead of the handler's backoff. A negative d counts as zero.
func RetryAfter(d time.Duration, err error) error { return outcome.RetryAfter(d, err) }

// Snooze asks to be run again after d and uses up no attempt: for work that is
// not yet due, or for a limit that was met. Less than 50 ms counts as 50 ms, so
// that no event goes round in a hot loop.
func Snooze(d time.Duration) error { return outcome.Snooze(d) }
