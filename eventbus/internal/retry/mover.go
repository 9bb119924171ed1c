package retry

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/link"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/eventbus/internal/told"
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
// end, Sweep looks each second how many retry sets exist, in one call. When there
// are more than are known it looks at all of them, and otherwise, since one that
// is known may have something earlier by now, at some of them in turn. So what
// others left is late by a second while up to sweepLooks topics are served, and
// with more of them by a second for each sweepLooks of them.
type Mover struct {
	store Store
	link  *link.Link
	log   *slog.Logger

	mu    sync.Mutex
	next  map[string]time.Time   // by retry key; absent: the set is empty
	keys  map[string]*store.Keys // the topics served, by retry key
	turn  []string               // retry keys in the order in which sweeps look at them
	told  told.Errors[string]    // by retry key: the topic's own errors
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
	maps.DeleteFunc(m.next, func(retry string, _ time.Time) bool { return keys[retry] == nil })
	for retry := range m.keys {
		if keys[retry] == nil {
			m.told.Well(retry)
		}
	}
	m.keys = keys
	m.turn = slices.Sorted(maps.Keys(keys))
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

// sweepLooks is how many topics one sweep looks at while anything is to be
// retried.
const sweepLooks = 32

// Sweep makes the mover look where others may have left something. While there is
// nothing to be retried it costs one call.
func (m *Mover) Sweep(ctx context.Context) error {
	m.mu.Lock()
	all, known := slices.Clone(m.turn), int64(len(m.next))
	m.mu.Unlock()
	if len(all) == 0 {
		return nil
	}
	n, err := m.store.AnyExists(ctx, all)
	switch {
	case err != nil || n == 0:
		return err
	case n > known:
		m.LookAll()
	default:
		m.lookAtSome()
	}
	return nil
}

// lookAtSome makes the mover look at the topics whose turn it is.
func (m *Mover) lookAtSome() {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := min(sweepLooks, len(m.turn))
	for _, retry := range m.turn[:n] {
		if !m.told.Ill(retry) { // else it is tried at its own pace
			m.note(retry, time.Now())
		}
	}
	m.turn = append(slices.Clone(m.turn[n:]), m.turn[:n]...)
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
	case ctx.Err() != nil:
		return
	case err == nil:
		m.judge(k, nil)
		if next < 0 {
			return
		}
	case store.OfTopic(err):
		m.judge(k, err)
		next = afterTopicError
	default:
		m.link.Down(err)
		next = 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(k.Retry, time.Now().Add(next))
}

// judge notes whether a topic has an error of its own, and logs it once.
func (m *Mover) judge(k *store.Keys, err error) {
	if err == nil {
		m.told.Well(k.Retry)
		return
	}
	if m.told.First(k.Retry, err) {
		m.log.Error("retries of a topic do not move; trying again until they do", "topic", k.Topic, "group", k.Group, "every", afterTopicError, "err", err)
	}
}
