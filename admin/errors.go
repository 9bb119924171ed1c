package admin

import "errors"

var (
	// ErrJobNotFound says that there is no job of that id (any more): jobs are known
	// for 24 hours after their end.
	ErrJobNotFound = errors.New("no such job")
	// ErrTooManyJobs says that a service runs as many jobs as it may. Nothing was
	// begun. Wait for one to end, or cancel one.
	ErrTooManyJobs = errors.New("too many replays and discardings run")
	// ErrUnauthenticated says that a call had no token, or a wrong one.
	ErrUnauthenticated = errors.New("unauthenticated")
)
