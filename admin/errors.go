package admin

import (
	"errors"

	"github.com/seed4933/eventbus/eventbus"
)

var (
	// ErrJobNotFound says that there is no job of that id (any more): jobs are known
	// for 24 hours after their end.
	ErrJobNotFound = errors.New("no such job")
	// ErrTooManyJobs says that a service runs as many jobs as it may. Nothing was
	// begun. Wait for one to end, or cancel one.
	ErrTooManyJobs = errors.New("too many replays and discardings run")
	// ErrUnauthenticated says that a call had no token, or a wrong one.
	ErrUnauthenticated = errors.New("unauthenticated")
	// ErrUnreachable says that a Client had no answer from its server. What was asked
	// may be done, unless the error says that it was not made, or is that of a
	// connection that was refused.
	// eventbus.ErrUnavailable matches as well.
	ErrUnreachable error = unreachable{}
)

type unreachable struct{}

func (unreachable) Error() string { return "cannot be reached" }

// Unwrap makes errors.Is(err, eventbus.ErrUnavailable) hold.
func (unreachable) Unwrap() error { return eventbus.ErrUnavailable }
