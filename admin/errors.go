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
	// ErrBusy says that a server has no room for the call now. Nothing was done; try
	// again later. eventbus.ErrUnavailable matches as well.
	ErrBusy error = unavailableError("the server is busy")
	// ErrUnreachable says that a Client had no answer from its server. What was asked
	// may be done, unless the error says that it was not made, or is that of a
	// connection that was refused.
	// eventbus.ErrUnavailable matches as well.
	ErrUnreachable error = unavailableError("cannot be reached")
)

// unavailableError is an ErrUnavailable of another text than that of Redis.
type unavailableError string

func (e unavailableError) Error() string { return string(e) }

// Unwrap makes errors.Is(err, eventbus.ErrUnavailable) hold.
func (unavailableError) Unwrap() error { return eventbus.ErrUnavailable }
