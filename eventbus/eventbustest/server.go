package eventbustest

import (
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// Redis starts an in-memory stand-in for Redis, and returns a client of it and a
// function that ends both: for examples and for programs that have no test to
// give. It panics when no port can be had.
func Redis() (rdb *redis.Client, stop func()) {
	m, err := miniredis.Run()
	if err != nil {
		panic("eventbustest: start the in-memory Redis: " + err.Error())
	}
	rdb = redis.NewClient(&redis.Options{Addr: m.Addr()})
	return rdb, func() {
		_ = rdb.Close() // nothing is lost with it
		m.Close()
	}
}

// server is one stand-in and what its buses share.
type server struct {
	mini  *miniredis.Miniredis
	rdb   *redis.Client
	clock *Clock
	runs  *recorder

	patience time.Duration // of the helpers

	mu     sync.Mutex
	stores map[string]*store.Store // by namespace
}

func newServer(t testing.TB) *server {
	s := &server{mini: miniredis.RunT(t), runs: newRecorder(), patience: defaultPatience, stores: map[string]*store.Store{}}
	s.rdb = redis.NewClient(&redis.Options{Addr: s.mini.Addr()})
	s.clock = &Clock{t: t, server: s}
	s.mini.Server().SetPreHook(s.clock.answer)
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, st := range s.stores {
			if err := st.Close(); err != nil {
				t.Errorf("eventbustest: %v", err)
			}
		}
		if err := s.rdb.Close(); err != nil {
			t.Errorf("eventbustest: close the client: %v", err)
		}
	})
	return s
}

// store gives access to the keys of a namespace.
func (s *server) store(t testing.TB, namespace string) *store.Store {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.stores[namespace]; st != nil {
		return st
	}
	st, err := store.Open(s.rdb, namespace)
	if err != nil {
		t.Fatalf("eventbustest: %v", err)
	}
	s.stores[namespace] = st
	return st
}

// all lists the stores of all namespaces in which buses were made.
func (s *server) all() []*store.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*store.Store, 0, len(s.stores))
	for _, st := range s.stores {
		list = append(list, st)
	}
	return list
}
