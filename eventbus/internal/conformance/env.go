package conformance

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// patience is how long a test waits for what must come. It says nothing of how
// fast it should come: a loaded machine must not fail a test.
const patience = 30 * time.Second

// env is the world of one test: a namespace, a topic name, and a bus of group
// "default" that administers and sends, and does not run.
type env struct {
	*testing.T
	rdb       redis.UniversalClient
	namespace string
	topic     string
	bus       *eventbus.Bus

	ready map[*eventbus.Bus]chan struct{} // closed once the bus takes events
}

func setup(t *testing.T, rdb redis.UniversalClient) *env {
	id := uuid.Must(uuid.NewRandom()).String()[:13]
	// The topic's name decides its slot: on a Cluster the tests use all nodes.
	e := &env{T: t, rdb: rdb, namespace: "ns-" + id, topic: "orders-" + id, ready: map[*eventbus.Bus]chan struct{}{}}
	e.bus = e.newBus(eventbus.Config{})
	return e
}

// newBus makes a bus in the test's namespace, closed at the test's end.
func (e *env) newBus(cfg eventbus.Config) *eventbus.Bus {
	e.Helper()
	if cfg.Namespace == "" {
		cfg.Namespace = e.namespace
	}
	cfg.Logger = slog.New(slog.NewTextHandler(e.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	ready := make(chan struct{})
	then := cfg.OnReady
	cfg.OnReady = func() {
		close(ready)
		if then != nil {
			then()
		}
	}
	b, err := eventbus.New(e.rdb, cfg)
	require.NoError(e, err)
	e.ready[b] = ready
	e.Cleanup(func() { require.NoError(e, b.Close()) })
	return b
}

// create makes the test's topic.
func (e *env) create(cfg eventbus.TopicConfig) {
	e.Helper()
	require.NoError(e, e.bus.Topics().Create(e.Context(), e.topic, cfg))
}

// start runs a bus and returns once it takes events. The function it returns
// stops the bus and waits; so does the end of the test.
func (e *env) start(b *eventbus.Bus) (stop func()) {
	e.Helper()
	cancel, wait := e.launch(b)
	return func() {
		cancel()
		wait()
	}
}

// launch is start in two steps: one begins the stop, the other waits for its end.
func (e *env) launch(b *eventbus.Bus) (cancel, wait func()) {
	e.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	wait = sync.OnceFunc(func() { require.NoError(e, <-ended) })
	e.Cleanup(func() {
		cancel()
		wait()
	})
	select {
	case <-e.ready[b]:
	case err := <-ended:
		ended <- nil
		require.Fail(e, "the bus ended", "%v", err)
	}
	return cancel, wait
}

// runError runs a bus that should refuse to run, and returns why it does.
func (e *env) runError(b *eventbus.Bus) error {
	ctx, cancel := context.WithTimeout(e.Context(), patience)
	defer cancel()
	return b.Run(ctx)
}

func (e *env) consumers() map[string]bool {
	e.Helper()
	list, err := e.bus.Consumers(e.Context())
	require.NoError(e, err)
	ids := map[string]bool{}
	for _, c := range list {
		ids[c.ID] = true
	}
	return ids
}

// run is a new bus of group "default" with one handler of the test's topic,
// running.
func (e *env) run(id string, f func(ctx context.Context, event *eventbus.Event) error, cfg ...eventbus.HandleConfig) *probe {
	e.Helper()
	b := e.newBus(eventbus.Config{})
	p := e.handle(b, id, f, cfg...)
	e.start(b)
	return p
}

// send sends values to the test's topic, one by one, and returns their ids.
func (e *env) send(values ...any) []string {
	e.Helper()
	ids := make([]string, len(values))
	for i, v := range values {
		var err error
		ids[i], err = e.bus.Send(e.Context(), e.topic, v)
		require.NoError(e, err)
	}
	return ids
}

// numbers are the first n whole numbers as messages of a batch.
func numbers(n int) []eventbus.Message {
	messages := make([]eventbus.Message, n)
	for i := range messages {
		messages[i].Value = i
	}
	return messages
}

// sendNumbers sends 0 to n-1 to the test's topic in one batch.
func (e *env) sendNumbers(n int) []string {
	e.Helper()
	ids, err := e.bus.SendBatch(e.Context(), e.topic, numbers(n))
	require.NoError(e, err)
	require.Len(e, ids, n)
	return ids
}

// eventually waits until the condition holds. It is called in the test's own
// goroutine, so that it may itself fail the test.
func (e *env) eventually(what string, condition func() bool) {
	e.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-limit.C:
			require.Fail(e, "waited in vain for "+what, "for %v", patience)
		}
	}
}

// stats reads the figures of the test's topic in group "default".
func (e *env) stats() eventbus.Stats {
	e.Helper()
	s, err := e.bus.GroupStats(e.Context(), e.topic)
	require.NoError(e, err)
	return s
}

// idle waits until nothing of the test's topic waits, is in flight or is to be
// retried: in the groups, or in all of them where none is named. Figures are read
// one after another, and an event that moves meanwhile may be in none of them: so
// two readings in a row must say the same.
func (e *env) idle(groups ...string) {
	e.Helper()
	var before []eventbus.Stats
	e.eventually("the topic to be idle", func() bool {
		now, err := e.bus.Stats(e.Context(), e.topic)
		require.NoError(e, err)
		now = slices.DeleteFunc(now, func(s eventbus.Stats) bool { return len(groups) > 0 && !slices.Contains(groups, s.Group) })
		idle := !slices.ContainsFunc(now, func(s eventbus.Stats) bool { return s.Waiting+s.InFlight+s.Retrying > 0 })
		for i := range now {
			now[i].ReadAt = time.Time{}
		}
		same := slices.Equal(before, now)
		before = now
		return idle && same
	})
}

// dead waits until the topic has n dead failures in group "default", and returns
// them, the oldest first.
func (e *env) dead(n int) []eventbus.Failure {
	e.Helper()
	e.eventually("the dead failures", func() bool { return e.count().Dead >= int64(n) })
	page, err := e.bus.Failures().List(e.Context(), e.topic, eventbus.FailureQuery{Limit: 1000})
	require.NoError(e, err)
	require.Len(e, page.Failures, n)
	return page.Failures
}

func (e *env) count() eventbus.FailureCount {
	e.Helper()
	n, err := e.bus.Failures().Count(e.Context(), e.topic)
	require.NoError(e, err)
	return n
}

// retrying lists what is to be retried in group "default".
func (e *env) retrying() []eventbus.Failure {
	e.Helper()
	page, err := e.bus.Failures().List(e.Context(), e.topic, eventbus.FailureQuery{State: eventbus.Retrying})
	require.NoError(e, err)
	return page.Failures
}

// get reads a failure with its event.
func (e *env) get(id string) eventbus.Failure {
	e.Helper()
	f, err := e.bus.Failures().Get(e.Context(), e.topic, id)
	require.NoError(e, err)
	return f
}

// replay replays by the filter and returns how many were.
func (e *env) replay(filter eventbus.FailureFilter) int64 {
	e.Helper()
	n, err := e.bus.Failures().Replay(e.Context(), e.topic, filter)
	require.NoError(e, err)
	return n
}

// key is the name of a key of the test's topic.
func (e *env) key(part string) string { return e.namespace + ":{" + e.topic + "}:" + part }

// list reads a whole list, what is handed out next at the end.
func (e *env) list(key string) []string {
	e.Helper()
	all, err := e.rdb.LRange(e.Context(), key, 0, -1).Result()
	require.NoError(e, err)
	return all
}

// keys returns the names of all keys that contain the text, on all nodes. It
// leaves out the tokens by which processes are woken: on a Cluster they lie beside
// their topic, and expire by themselves.
func (e *env) keys(containing string) []string {
	e.Helper()
	var mu sync.Mutex
	var found []string
	scan := func(ctx context.Context, node *redis.Client) error {
		keys := node.Scan(ctx, 0, "*", 1000).Iterator()
		for keys.Next(ctx) {
			if strings.Contains(keys.Val(), containing) && !strings.Contains(keys.Val(), ":wake:") {
				mu.Lock()
				found = append(found, keys.Val())
				mu.Unlock()
			}
		}
		return keys.Err()
	}
	switch c := e.rdb.(type) {
	case *redis.ClusterClient:
		require.NoError(e, c.ForEachMaster(e.Context(), scan))
	case *redis.Client:
		require.NoError(e, scan(e.Context(), c))
	default:
		require.Fail(e, "no way to scan this client", "%T", c)
	}
	return found
}
