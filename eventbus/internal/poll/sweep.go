package poll

import (
	"context"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/store"
)

const (
	// SweepEvery is how often all queues are looked over: it bounds the lateness
	// that a lost token costs.
	SweepEvery = time.Second
	// HotEvery is how often a queue is looked at into which others push without
	// ringing, and hotFor for how long after the last such find.
	HotEvery = 50 * time.Millisecond
	hotFor   = time.Minute
)

// Sweep looks over all queues and rings for those that have entries and no
// token. While nothing waits it is one command, whatever the number of topics.
func (p *Poller) Sweep(ctx context.Context) error {
	return p.sweep(ctx, func(st *state) bool { return true })
}

// SweepHot does the same for the queues into which others have lately pushed;
// without any it sends nothing.
func (p *Poller) SweepHot(ctx context.Context) error {
	now := time.Now()
	return p.sweep(ctx, func(st *state) bool { return now.Before(st.hot) })
}

func (p *Poller) sweep(ctx context.Context, among func(*state) bool) error {
	p.mu.Lock()
	var quiet []*state
	var keys []string
	for _, st := range p.topics {
		if st.AtMostOnce || st.ready || !among(st) {
			continue
		}
		quiet = append(quiet, st)
		keys = append(keys, st.Keys.Queue)
		if st.Keys.Shared() {
			keys = append(keys, st.Keys.Returns)
		}
	}
	p.mu.Unlock()
	if len(quiet) == 0 {
		return nil
	}
	n, err := p.cfg.Store.AnyExists(ctx, keys)
	if err != nil || n == 0 {
		return err
	}
	for _, st := range quiet {
		waiting, rang, err := p.cfg.Store.Ring(ctx, st.Keys)
		switch {
		case err == nil:
		case store.OfTopic(err) || store.OutOfMemory(err):
			p.mu.Lock()
			p.setAside(st, err)
			p.mu.Unlock()
			continue
		default:
			return err
		}
		if !waiting {
			continue
		}
		// The ring is for the others. This process looks at once: its own listener
		// may hang on a connection that has gone silent.
		p.mu.Lock()
		st.ready = true
		if rang {
			st.hot = time.Now().Add(hotFor)
		}
		p.mu.Unlock()
		p.Nudge()
	}
	return nil
}
