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

// Calm is for how long a link must have worked before its next failure counts as
// the first one again. It may fail and work in turns, where one call is refused
// and another one is not; the log says so once, and then only of an outage that
// lasts longer than Calm.
const Calm = 10 * time.Second

// Link is safe for use by many goroutines.
type Link struct {
	log *slog.Logger

	mu    sync.Mutex
	up    chan struct{} // closed while the link works
	err   error
	since time.Time
	began time.Time // when it last began to work
	turns int       // how often it has failed without a calm
	told  bool      // the log knows that it does not work

	probes chan struct{}
}

// New returns a link that works.
func New(log *slog.Logger) *Link {
	l := &Link{log: log, up: make(chan struct{}), probes: make(chan struct{}, 1)}
	close(l.up)
	return l
}

// Down says that a call failed in a way that concerns all calls.
func (l *Link) Down(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.err == nil
	changed := first || l.err.Error() != err.Error()
	l.err = err
	l.Suspect()
	if first {
		l.fail()
	}
	switch {
	case !l.told && (l.turns == 1 || time.Since(l.since) > Calm):
		l.log.Error("redis does not serve the bus; trying again until it does", "err", err)
		l.told = true
	case !l.told && l.turns == 2:
		l.log.Error("redis serves the bus in turns; only longer outages are logged until it is calm", "err", err)
		l.told = true
	case changed:
		l.log.Debug("redis still does not serve the bus", "err", err)
	}
}

func (l *Link) fail() {
	l.up, l.since, l.told = make(chan struct{}), time.Now(), false
	if l.since.Sub(l.began) > Calm {
		l.turns = 0
	}
	l.turns++
}

// Suspect asks for a probe: a call has failed in a way that may concern all
// calls, or only itself.
func (l *Link) Suspect() {
	select {
	case l.probes <- struct{}{}:
	default:
	}
}

// Probes tells whoever tries whether the link works that somebody wants to know.
func (l *Link) Probes() <-chan struct{} { return l.probes }

// Up says that a call that writes has succeeded.
func (l *Link) Up() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		return
	}
	if l.told {
		l.log.Info("redis serves the bus again", "after", time.Since(l.since).Round(time.Millisecond))
	}
	l.err, l.began = nil, time.Now()
	close(l.up)
}

// Err returns why the link is down, and since when; nil while it works.
func (l *Link) Err() (since time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.since, l.err
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
