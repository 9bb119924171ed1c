package faults_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

const (
	topic   = "orders"
	handler = "ship"
	// patience bounds every wait that is not itself what a test measures.
	patience = 60 * time.Second
	tick     = 5 * time.Millisecond
)

// world is what most tests need: a server, a bus that administers and sends
// straight to it, one topic, and a ledger of what ran.
type world struct {
	t      *testing.T
	server *redistest.Server
	sender *eventbus.Bus
	ledger *ledger
	sent   int // events sent so far, by send
	ready  map[*eventbus.Bus]chan struct{}
}

func setup(t *testing.T, o redistest.Options) *world {
	t.Helper()
	server := redistest.Start(t, o)
	w := &world{t: t, server: server, ledger: newLedger()}
	w.sender = w.bus(server.Addr(), eventbus.Config{})
	require.NoError(t, w.sender.Topics().Create(t.Context(), topic, eventbus.TopicConfig{}))
	return w
}

// bus returns a bus on the server at addr. It and its client are closed when
// the test ends.
func (w *world) bus(addr string, cfg eventbus.Config) *eventbus.Bus {
	w.t.Helper()
	return w.busOn(&redis.Options{Addr: addr, Password: w.server.Options().Password}, cfg)
}

func (w *world) busOn(o *redis.Options, cfg eventbus.Config) *eventbus.Bus {
	w.t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = newJournal().logger()
	}
	ready := make(chan struct{})
	cfg.OnReady = func() { close(ready) }
	rdb := redis.NewClient(o)
	bus, err := eventbus.New(rdb, cfg)
	require.NoError(w.t, err)
	if w.ready == nil {
		w.ready = map[*eventbus.Bus]chan struct{}{}
	}
	w.ready[bus] = ready
	w.t.Cleanup(func() {
		assert.NoError(w.t, bus.Close())
		assert.NoError(w.t, rdb.Close())
	})
	return bus
}

// consumer is a bus that runs one handler of the world's topic.
type consumer struct {
	*eventbus.Bus
	t      *testing.T
	cancel context.CancelFunc
	result chan error
}

// consume starts a bus with the handler and returns once it takes events.
func (w *world) consume(addr string, cfg eventbus.Config, h eventbus.EventHandle, hc ...eventbus.HandleConfig) *consumer {
	w.t.Helper()
	bus := w.bus(addr, cfg)
	bus.Handle(topic, handler, h, hc...)
	return w.run(bus)
}

// run starts a bus that has its handlers already, and returns once it takes
// events.
func (w *world) run(bus *eventbus.Bus) *consumer {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := &consumer{Bus: bus, t: w.t, cancel: cancel, result: make(chan error, 1)}
	w.t.Cleanup(cancel)
	go func() { c.result <- bus.Run(ctx) }()
	select {
	case <-w.ready[bus]:
	case err := <-c.result:
		require.NoError(w.t, err)
		require.Fail(w.t, "the bus has ended")
	case <-time.After(patience):
		require.Fail(w.t, "the bus does not start to take events")
	}
	return c
}

// stop ends Run as its context does, and fails the test when it does not return
// nil within the limit. It returns how long it took.
func (c *consumer) stop(limit time.Duration) time.Duration {
	c.t.Helper()
	began := time.Now()
	c.cancel()
	select {
	case err := <-c.result:
		require.NoError(c.t, err)
	case <-time.After(limit):
		require.Fail(c.t, "the bus does not stop", "Run has not returned within %v", limit)
	}
	return time.Since(began)
}

// send sends n events with new ids, in batches, and returns the ids.
func (w *world) send(n int) []string {
	w.t.Helper()
	ids := make([]string, n)
	messages := make([]eventbus.Message, n)
	for i := range messages {
		w.sent++
		ids[i] = fmt.Sprintf("e%d", w.sent)
		messages[i] = eventbus.Message{ID: ids[i], Value: i}
	}
	for at := 0; at < n; at += eventbus.MaxBatch {
		_, err := w.sender.SendBatch(w.t.Context(), topic, messages[at:min(at+eventbus.MaxBatch, n)])
		require.NoError(w.t, err)
	}
	return ids
}

// stats returns the figures of the topic; ok is false while they cannot be read.
func (w *world) stats() (s eventbus.Stats, ok bool) {
	s, err := w.sender.GroupStats(context.Background(), topic)
	return s, err == nil
}

// awaitEmpty waits until nothing of the topic waits, is in flight or is to be
// retried.
func (w *world) awaitEmpty(within time.Duration) {
	w.t.Helper()
	var last eventbus.Stats
	require.Eventually(w.t, func() bool {
		s, ok := w.stats()
		if ok {
			last = s
		}
		return ok && s.Waiting+s.InFlight+s.Retrying == 0
	}, within, 4*tick, "events remain in Redis: %v", stringer(func() string { return fmt.Sprintf("%+v", last) }))
}

// requireNothingHeld demands that no in-flight hash is left, of whatever
// consumer, registered or not.
func (w *world) requireNothingHeld() {
	w.t.Helper()
	held, err := w.server.Admin().Keys(context.Background(), "*:inflight:*").Result()
	require.NoError(w.t, err)
	require.Empty(w.t, held, "entries remain in flight")
}

// stringer delays a message until it is printed.
type stringer func() string

func (s stringer) String() string { return s() }
