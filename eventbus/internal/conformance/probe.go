package conformance

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// probe is a handler that shows what it is given.
type probe struct {
	e      *env
	id     string
	events chan *eventbus.Event
	runs   atomic.Int64
}

// handle registers a handler of the test's topic. f nil succeeds.
func (e *env) handle(b *eventbus.Bus, id string, f func(ctx context.Context, event *eventbus.Event) error, cfg ...eventbus.HandleConfig) *probe {
	e.Helper()
	return e.handleTopic(b, e.topic, id, f, cfg...)
}

func (e *env) handleTopic(b *eventbus.Bus, topic, id string, f func(ctx context.Context, event *eventbus.Event) error, cfg ...eventbus.HandleConfig) *probe {
	e.Helper()
	const more = 10_000 // than any test sends: the probe never blocks
	p := &probe{e: e, id: id, events: make(chan *eventbus.Event, more)}
	require.NoError(e, b.TryHandle(topic, id, eventbus.HandleFunc(func(ctx context.Context, event *eventbus.Event) error {
		p.runs.Add(1)
		p.events <- event
		if f == nil {
			return nil
		}
		return f(ctx, event)
	}), cfg...))
	return p
}

// next waits for the handler's next run.
func (p *probe) next() *eventbus.Event {
	p.e.Helper()
	return receive(p.e, p.events, "a run of handler "+p.id)
}

// take waits for n runs and returns what was given, in order.
func (p *probe) take(n int) []*eventbus.Event {
	p.e.Helper()
	events := make([]*eventbus.Event, n)
	for i := range events {
		events[i] = p.next()
	}
	return events
}

// total asserts how many runs there were in all.
func (p *probe) total(n int64) {
	p.e.Helper()
	require.Equal(p.e, n, p.runs.Load(), "runs of handler %s", p.id)
}

func receive[T any](e *env, from <-chan T, what string) T {
	e.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case v := <-from:
		return v
	case <-limit.C:
		require.Fail(e, "waited in vain for "+what, "for %v", patience)
		panic("not reached")
	}
}

// ids are the events' ids in their order.
func ids(events []*eventbus.Event) []string {
	list := make([]string, len(events))
	for i, event := range events {
		list[i] = event.ID
	}
	return list
}

// texts are the events' payloads in their order.
func texts(events []*eventbus.Event) []string {
	list := make([]string, len(events))
	for i, event := range events {
		list[i] = string(event.Payload)
	}
	return list
}

// quick is a handler that is retried at once, three attempts in all.
func quick() eventbus.HandleConfig {
	return eventbus.HandleConfig{Retry: eventbus.RetryPolicy{MaxAttempts: 3, Initial: time.Millisecond, Max: 5 * time.Millisecond}}
}

// once is a handler whose failures go to the dead set.
func once() eventbus.HandleConfig {
	return eventbus.HandleConfig{Retry: eventbus.RetryPolicy{MaxAttempts: 1}}
}

// gate holds handlers up until it is opened, or their context ends.
type gate struct {
	reached chan *eventbus.Event
	open    chan struct{}
}

func newGate() *gate {
	return &gate{reached: make(chan *eventbus.Event, 1000), open: make(chan struct{})}
}

// pass is a handler.
func (g *gate) pass(ctx context.Context, event *eventbus.Event) error {
	g.reached <- event
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// barrier gives the bus, before it runs, a second topic. The function that it
// returns sends an event there, which is taken, fails, is retried and handled:
// what the bus was ready to do before, it has by then most likely done. So a
// test can say that nothing was done, without waiting for time to pass.
func (e *env) barrier(b *eventbus.Bus) (pass func()) {
	e.Helper()
	topic := e.topic + ".barrier"
	require.NoError(e, e.bus.Topics().Create(e.Context(), topic, eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "default"}}}))
	p := e.handleTopic(b, topic, "barrier", func(_ context.Context, event *eventbus.Event) error {
		if event.Attempt == 1 {
			return eventbus.RetryAfter(0, errOnPurpose)
		}
		return nil
	})
	return func() {
		e.Helper()
		_, err := e.bus.Send(e.Context(), topic, "pass")
		require.NoError(e, err)
		p.take(2)
	}
}
