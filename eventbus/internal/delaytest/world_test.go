package delaytest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/eventbus/internal/delay"
	"github.com/seed4933/eventbus/internal/redistest"
)

const (
	topic   = "orders"
	handler = "ship"
	// patience bounds every wait that is not itself what a test measures.
	patience = 60 * time.Second
	tick     = 5 * time.Millisecond
	// slack is what a busy machine adds to a wait.
	slack = 4 * time.Second
	sweep = delay.SweepEvery
)

// world is a server, a bus that sends straight to it, one topic and a ledger.
type world struct {
	t      *testing.T
	server *redistest.Server
	sender *eventbus.Bus
	*ledger
	sent int
}

func setup(t *testing.T, o redistest.Options) *world {
	t.Helper()
	w := &world{t: t, server: redistest.Start(t, o), ledger: newLedger(o.Skew)}
	w.sender = w.bus(w.server.Options(), eventbus.Config{})
	require.NoError(t, w.sender.Topics().Create(t.Context(), topic, eventbus.TopicConfig{}))
	return w
}

// bus returns a bus that is closed, with its client, when the test ends.
func (w *world) bus(o *redis.Options, cfg eventbus.Config) *eventbus.Bus {
	w.t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = (&journal{}).logger()
	}
	rdb := redis.NewClient(o)
	bus, err := eventbus.New(rdb, cfg)
	require.NoError(w.t, err)
	w.t.Cleanup(func() {
		assert.NoError(w.t, bus.Close())
		assert.NoError(w.t, rdb.Close())
	})
	return bus
}

// consume runs a bus on the server at addr, with the ledger as handler of the topics,
// and returns once it takes events. It ends with the test.
func (w *world) consume(o *redis.Options, cfg eventbus.Config, topics ...string) *eventbus.Bus {
	w.t.Helper()
	return w.run(o, cfg, w.ledger, topics...)
}

func (w *world) run(o *redis.Options, cfg eventbus.Config, h eventbus.EventHandle, topics ...string) *eventbus.Bus {
	w.t.Helper()
	ready := make(chan struct{})
	cfg.OnReady = func() { close(ready) }
	bus := w.bus(o, cfg)
	if len(topics) == 0 {
		topics = []string{topic}
	}
	for _, name := range topics {
		bus.Handle(name, handler, h)
	}
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- bus.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		select {
		case err := <-result:
			assert.NoError(w.t, err)
		case <-time.After(patience):
			assert.Fail(w.t, "the bus does not stop")
		}
	})
	select {
	case <-ready:
	case <-time.After(patience):
		require.Fail(w.t, "the bus does not start to take events")
	}
	return bus
}

// message is an event that says when it is due.
func (w *world) message(due time.Time) eventbus.Message {
	w.sent++
	return eventbus.Message{ID: fmt.Sprintf("e%d", w.sent), Value: json.RawMessage(strconv.FormatInt(due.UnixMicro(), 10))}
}

// at sends n events that are due at a time, in batches.
func (w *world) at(due time.Time, n int) (ids []string) {
	w.t.Helper()
	for n > 0 {
		batch := make([]eventbus.Message, min(n, eventbus.MaxBatch))
		n -= len(batch)
		for i := range batch {
			batch[i] = w.message(due)
			batch[i].DueAt = due
			ids = append(ids, batch[i].ID)
		}
		_, err := w.sender.SendBatch(w.t.Context(), topic, batch)
		require.NoError(w.t, err)
	}
	return ids
}

// after sends one event with a delay.
func (w *world) after(d time.Duration) string {
	w.t.Helper()
	m := w.message(w.now().Add(d)) // at least
	m.Delay = d
	_, err := w.sender.SendBatch(w.t.Context(), topic, []eventbus.Message{m})
	require.NoError(w.t, err)
	return m.ID
}

func (w *world) stats() eventbus.Stats {
	w.t.Helper()
	s, err := w.sender.GroupStats(context.Background(), topic)
	require.NoError(w.t, err)
	return s
}

// awaitIdle waits until nothing of the topic is delayed, waits or is in flight.
func (w *world) awaitIdle() {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		s, err := w.sender.GroupStats(context.Background(), topic)
		return err == nil && s.Delayed+s.Waiting+s.InFlight+s.Retrying == 0
	}, patience, 4*tick)
	index, err := w.server.Admin().HLen(context.Background(), key("delayed:default")).Result()
	require.NoError(w.t, err)
	require.Zero(w.t, index, "the index knows what is not pending")
}

func key(part string) string { return "eventbus:{" + topic + "}:" + part }

// delayedSet is where Redisson keeps the members of the default group.
func delayedSet() string { return "redisson_delay_queue_timeout:" + key("queue:default") }

// until waits for a time by the test's own clock.
func until(t *testing.T, at time.Time) {
	t.Helper()
	select {
	case <-time.After(time.Until(at)):
	case <-t.Context().Done():
	}
}
