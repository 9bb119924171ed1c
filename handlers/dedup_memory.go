package handlers

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// DefaultDedupCapacity is how many events a MemoryDedup remembers by default.
const DefaultDedupCapacity = 100_000

// MemoryDedup is a DedupStore in the memory of this process: for a group that
// has one process, and for tests.
type MemoryDedup struct {
	capacity int

	mu   sync.Mutex
	keys map[string]*dedupKey
	done list.List // keys (string) that are marked done, the oldest first
}

// dedupKey is one key: claimed while token is not empty, done otherwise.
type dedupKey struct {
	token  string
	until  time.Time
	inDone *list.Element
}

// NewMemoryDedup returns a store that remembers up to capacity handled events
// and forgets the oldest beyond that, though their window has not passed. A
// capacity that is not above zero means DefaultDedupCapacity (100 000).
func NewMemoryDedup(capacity int) *MemoryDedup {
	if capacity <= 0 {
		capacity = DefaultDedupCapacity
	}
	return &MemoryDedup{capacity: capacity, keys: make(map[string]*dedupKey)}
}

// Claim is DedupStore's.
func (m *MemoryDedup) Claim(_ context.Context, key, token string, lease time.Duration) (DedupState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if k := m.keys[key]; k != nil && now.Before(k.until) {
		switch k.token {
		case "":
			return DedupDone, nil
		case token:
		default:
			return DedupInProgress, nil
		}
	}
	m.set(key, &dedupKey{token: token, until: now.Add(lease)})
	return DedupClaimed, nil
}

// Done is DedupStore's.
func (m *MemoryDedup) Done(_ context.Context, key string, window time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.set(key, &dedupKey{until: now.Add(window), inDone: m.done.PushBack(key)})
	for front := m.done.Front(); front != nil; front = m.done.Front() {
		oldest := front.Value.(string)
		if m.done.Len() <= m.capacity && now.Before(m.keys[oldest].until) {
			break
		}
		m.forget(oldest)
	}
	return nil
}

// Release is DedupStore's.
func (m *MemoryDedup) Release(_ context.Context, key, token string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.keys[key]; k != nil && k.token == token {
		m.forget(key)
	}
	return nil
}

func (m *MemoryDedup) set(key string, k *dedupKey) {
	m.forget(key)
	m.keys[key] = k
}

func (m *MemoryDedup) forget(key string) {
	k := m.keys[key]
	if k == nil {
		return
	}
	if k.inDone != nil {
		m.done.Remove(k.inDone)
	}
	delete(m.keys, key)
}
