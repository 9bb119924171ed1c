package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/seed4933/eventbus/eventbus"
)

// Latency is a summary of how long something took each time.
type Latency struct {
	Samples            int64
	P50, P90, P99, Max time.Duration
}

// latencies collects durations, up to a minute, to three digits.
type latencies struct {
	mu sync.Mutex
	h  *hdrhistogram.Histogram
}

func newLatencies() *latencies {
	return &latencies{h: hdrhistogram.New(1, time.Minute.Nanoseconds(), 3)}
}

func (l *latencies) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// What is out of range counts as its end.
	_ = l.h.RecordValue(min(max(d.Nanoseconds(), 1), l.h.HighestTrackableValue()))
}

func (l *latencies) summary() Latency {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := func(q float64) time.Duration { return time.Duration(l.h.ValueAtQuantile(q)) }
	return Latency{Samples: l.h.TotalCount(), P50: at(50), P90: at(90), P99: at(99), Max: time.Duration(l.h.Max())}
}

// idleFor is how long the bus rests between two samples, so that its poller is
// back in its wait.
const idleFor = 5 * time.Millisecond

// pickup sends events one at a time to an idle bus.
func (b *bench) pickup(ctx context.Context) (l Latency, err error) {
	begun := make(chan time.Time, 16)
	c, err := b.start(ctx, func(context.Context, *eventbus.Event) error {
		select {
		case begun <- time.Now():
		default: // nobody waits for so many
		}
		return nil
	})
	if err != nil {
		return Latency{}, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	all := newLatencies()
	rest := time.NewTicker(idleFor)
	defer rest.Stop()
	patience := time.NewTimer(0)
	defer patience.Stop()
	for range b.cfg.Samples {
		if err := b.drained(ctx, c); err != nil {
			return Latency{}, err
		}
		rest.Reset(idleFor)
		select {
		case <-rest.C:
		case <-ctx.Done():
			return Latency{}, ctx.Err()
		}
		for len(begun) > 0 { // handed out again, after the last sample
			<-begun
			b.repeated++
		}
		sent := time.Now()
		if _, err := b.sender.Send(ctx, b.topic, eventbus.Raw{Payload: b.payload}); err != nil {
			return Latency{}, err
		}
		patience.Reset(stalled)
		select {
		case at := <-begun:
			all.add(at.Sub(sent))
		case <-patience.C:
			return Latency{}, errors.Join(fmt.Errorf("an event was not handled within %v", stalled), c.bus.Health(ctx))
		case <-ctx.Done():
			return Latency{}, ctx.Err()
		}
	}
	return all.summary(), nil
}

// seen tells which events were handed out before.
type seen struct {
	mu       sync.Mutex
	ids      map[string]struct{}
	repeated atomic.Int64
}

func newSeen(n int) *seen { return &seen{ids: make(map[string]struct{}, n)} }

func (s *seen) add(id string) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.ids[id]; ok {
		s.repeated.Add(1)
		return false
	}
	s.ids[id] = struct{}{}
	return true
}
