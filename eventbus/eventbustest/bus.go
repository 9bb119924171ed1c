package eventbustest

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

const (
	// defaultPatience is how long the helpers wait for what they require.
	defaultPatience = 10 * time.Second
	// stopTimeout is shorter than a bus's own: a test should not hang on a handler.
	stopTimeout = 5 * time.Second
	// longLease is the longest that there is: in a test nobody is taken for dead,
	// wherever its clock goes.
	longLease = time.Hour
)

// Bus is a bus on an in-memory Redis. What is to be tested gets the
// *eventbus.Bus in it.
type Bus struct {
	*eventbus.Bus
	// Clock is the clock of its Redis.
	Clock *Clock

	server *server
	store  *store.Store
	group  string
	ready  chan struct{} // closed once it takes events
}

// New returns a bus on an in-memory Redis of its own. Both end with the test.
//
// At most one Config is taken. Without it, topics are created when they are
// first used (Config.AutoCreateTopics). The defaults are a bus's own but for
// these: the log goes to the test's, handlers may go on for 5 s after a stop,
// and a lease is an hour, so that moving the clock takes no process for dead.
func New(t testing.TB, cfg ...eventbus.Config) *Bus {
	t.Helper()
	return newServer(t).bus(t, cfg)
}

// Another returns one more bus on the same Redis, with the same clock: another
// process, or with another Config.Group another service.
func (b *Bus) Another(t testing.TB, cfg ...eventbus.Config) *Bus {
	t.Helper()
	return b.server.bus(t, cfg)
}

// Redis returns a client of the bus's Redis, which ends with the test.
func (b *Bus) Redis() *redis.Client { return b.server.rdb }

func (s *server) bus(t testing.TB, given []eventbus.Config) *Bus {
	t.Helper()
	cfg := eventbus.Config{AutoCreateTopics: true}
	switch len(given) {
	case 0:
	case 1:
		cfg = given[0]
	default:
		t.Fatalf("eventbustest: %d Configs are given, at most one is taken", len(given))
	}
	if cfg.Namespace == "" {
		cfg.Namespace = eventbus.DefaultNamespace
	}
	if cfg.Group == "" {
		cfg.Group = eventbus.DefaultGroup
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	if cfg.StopTimeout == 0 {
		cfg.StopTimeout = stopTimeout
	}
	if cfg.Lease == 0 {
		cfg.Lease = longLease
	}
	b := &Bus{Clock: s.clock, server: s, group: cfg.Group, ready: make(chan struct{})}
	cfg.Middleware = append([]eventbus.Middleware{s.runs.middleware}, cfg.Middleware...)
	onReady := cfg.OnReady
	cfg.OnReady = func() {
		if onReady != nil {
			onReady()
		}
		close(b.ready)
	}
	var err error
	if b.Bus, err = eventbus.New(s.rdb, cfg); err != nil {
		t.Fatalf("eventbustest: %v", err)
	}
	b.store = s.store(t, cfg.Namespace)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("eventbustest: %v", err)
		}
	})
	return b
}

// Start runs the bus in the background and returns once it takes events. It is
// stopped at the end of the test, or before that by the function returned, which
// waits for its handlers. When it can not run, or ends with an error, the test
// fails.
func (b *Bus) Start(t testing.TB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("eventbustest: %v", err)
		}
	})
	select {
	case <-b.ready:
	case err := <-ended:
		cancel()
		t.Fatalf("eventbustest: %v", err)
	}
	t.Cleanup(stop)
	return stop
}

// poll calls done until it returns true, and fails the test with what complain
// says when that takes too long.
func (s *server) poll(t testing.TB, done func() bool, complain func() string) {
	t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	limit := time.NewTimer(s.patience)
	defer limit.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-limit.C:
			t.Fatalf("eventbustest: waited %v in vain: %s", s.patience, complain())
		}
	}
}
