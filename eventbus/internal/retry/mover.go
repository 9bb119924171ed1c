package retry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/link"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// Store is what a Mover needs of Redis.
type Store interface {
	MoveDue(ctx context.Context, k *store.Keys) (moved int, next time.Duration, orphans []string, err error)
	AnyExists(ctx context.Context, keys []string) (int64, error)
}

// Mover moves failures that are due back to the queue, for all topics that a
// process serves, with one timer.
//
// It knows for each topic the time of the next move: as the last move returned
// it, or earlier where this process has recorded a failure since. What other
// processes record they move themselves; for what they leave behind when they
// die, Sweep compares once a second how many retry sets exist with how many are
// known, in one call, and looks at all of them when there are more. A lost
// timer therefore costs one sweep.
type Mover struct {
	store Store
	link  *link.Link
	log   *slog.Logger

	mu    sync.Mutex
	next  map[string]time.Time   // by retry key; absent: the set is empty
	keys  map[string]*store.Keys // the topics served, by retry key
	wakes chan struct{}
}

// NewMover returns a mover that serves no topic yet.
func NewMover(s Store, l *link.Link, log *slog.Logger) *Mover {
	return &Mover{store: s, link: l, log: log, next: map[string]time.Time{}, keys: map[string]*store.Keys{}, wakes: make(chan struct{}, 1)}
}

// Serve replaces the topics that are served; new ones are looked at at once.
func (m *Mover) Serve(topics []*store.Keys) {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := make(map[string]*store.Keys, len(topics))
	for _, k := range topics {
		keys[k.Retry] = k
		if m.keys[k.Retry] == nil {
			m.next[k.Retry] = time.Now()
		}
	}
	for retry := range m.next {
		if keys[retry] == nil {
			delete(m.next, retry)
		}
	}
	m.keys = keys
	m.wake()
}

// Note says that a failure of the topic is due after d.
func (m *Mover) Note(k *store.Keys, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(k.Retry, time.Now().Add(d))
}

func (m *Mover) note(retry string, at time.Time) {
	if m.keys[retry] == nil {
		return
	}
	if known, ok := m.next[retry]; !ok || at.Before(known) {
		m.next[retry] = at
		m.wake()
	}
}

func (m *Mover) wake() {
	select {
	case m.wakes <- struct{}{}:
	default:
	}
}

// Sweep looks whether there are retry sets that the mover does not know.
func (m *Mover) Sweep(ctx context.Context) error {
	m.mu.Lock()
	all := make([]string, 0, len(m.keys))
	for retry := range m.keys {
		all = append(all, retry)
	}
	known := int64(len(m.next))
	m.mu.Unlock()
	if len(all) == 0 {
		return nil
	}
	n, err := m.store.AnyExists(ctx, all)
	if err != nil || n <= known {
		return err
	}
	m.LookAll()
	return nil
}

// LookAll makes the mover look at every topic now: at start, and after a
// consumer has died.
func (m *Mover) LookAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for retry := range m.keys {
		m.note(retry, time.Now())
	}
}

// Run moves until ctx ends.
func (m *Mover) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		k, wait := m.due()
		if k != nil {
			if m.link.Wait(ctx) != nil {
				return
			}
			m.move(ctx, k)
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-m.wakes:
		case <-timer.C:
		}
	}
}

// due returns a topic whose next move is due, or the time until one is.
func (m *Mover) due() (*store.Keys, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wait := time.Hour
	for retry, at := range m.next {
		d := time.Until(at)
		if d <= 0 {
			return m.keys[retry], 0
		}
		wait = min(wait, d)
	}
	return nil, wait
}

const afterTopicError = 5 * time.Second

func (m *Mover) move(ctx context.Context, k *store.Keys) {
	m.mu.Lock()
	delete(m.next, k.Retry) // a Note from now on counts
	m.mu.Unlock()
	_, next, orphans, err := m.store.MoveDue(ctx, k)
	if len(orphans) > 0 {
		m.log.Error("failures without a record were found in the retry set and removed", "topic", k.Topic, "group", k.Group, "ids", orphans)
	}
	switch {
	case err == nil:
		if next < 0 {
			return
		}
	case ctx.Err() != nil:
		return
	case store.OfTopic(err):
		m.log.Error("retries of a topic do not move", "topic", k.Topic, "group", k.Group, "err", err)
		next = afterTopicError
	default:
		m.link.Down(err)
		next = 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(k.Retry, time.Now().Add(next))
}
