package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// run counts what a handler handles: first a backlog, then single events.
type run struct {
	events int64
	n      atomic.Int64
	all    chan struct{}
	single chan time.Time
}

func newRun(events int) *run {
	return &run{events: int64(events), all: make(chan struct{}), single: make(chan time.Time, 1)}
}

// handled is called by the handler for each event.
func (r *run) handled() {
	switch n := r.n.Add(1); {
	case n == r.events:
		close(r.all)
	case n > r.events:
		select {
		case r.single <- time.Now():
		default: // one that was delivered twice
		}
	}
}

// wait waits until the backlog is handled.
func (r *run) wait(ctx context.Context) error {
	select {
	case <-r.all:
		return nil
	case <-time.After(5 * time.Minute):
		return fmt.Errorf("only %d of %d events were handled in 5 minutes", r.n.Load(), r.events)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pickups measures from the start of a send to the start of the handler, on an
// idle system: between two sends it leaves it alone for a while, at random.
func (r *run) pickups(ctx context.Context, n int, send func() error) ([]time.Duration, error) {
	all := make([]time.Duration, 0, n)
	for range n {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20*time.Millisecond + rand.N(30*time.Millisecond)):
		}
		began := time.Now()
		if err := send(); err != nil {
			return nil, fmt.Errorf("send: %w", err)
		}
		select {
		case handled := <-r.single:
			all = append(all, handled.Sub(began))
		case <-time.After(10 * time.Second):
			return nil, fmt.Errorf("an event was not picked up in 10 s")
		}
	}
	slices.Sort(all)
	return all, nil
}

func rate(n int, since time.Time) float64 { return float64(n) / time.Since(since).Seconds() }
