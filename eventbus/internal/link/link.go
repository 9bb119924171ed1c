// Package link holds what a process knows of its connection to Redis: whether
// it works, since when not, and why. All loops that talk to Redis report to one
// Link and wait at it while it is down, so that an outage costs one prober's
// calls and one log line, not those of every loop.
package link

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Link is safe for use by many goroutines.
type Link struct {
	log *slog.Logger

	mu    sync.Mutex
	up    chan struct{} // closed while the link works
	err   error
	since time.Time
}

// New returns a link that works.
func New(log *slog.Logger) *Link {
	l := &Link{log: log, up: make(chan struct{})}
	close(l.up)
	return l
}

// Down says that a call failed in a way that concerns all calls.
func (l *Link) Down(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.err == nil
	if first {
		l.up = make(chan struct{})
		l.since = time.Now()
	}
	changed := first || l.err.Error() != err.Error()
	l.err = err
	switch {
	case first:
		l.log.Error("redis does not serve the bus; trying again until it does", "err", err)
	case changed:
		l.log.Debug("redis still does not serve the bus", "err", err)
	}
}

// Up says that a call that writes has succeeded.
func (l *Link) Up() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		return
	}
	l.log.Info("redis serves the bus again", "after", time.Since(l.since).Round(time.Millisecond))
	l.err = nil
	close(l.up)
}

// Err returns why the link is down, and since when; nil while it works.
func (l *Link) Err() (error, time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err, l.since
}

// Wait returns nil once the link works, or ctx's error.
func (l *Link) Wait(ctx context.Context) error {
	l.mu.Lock()
	up := l.up
	l.mu.Unlock()
	select {
	case <-up:
		return nil
	default:
	}
	select {
	case <-up:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
