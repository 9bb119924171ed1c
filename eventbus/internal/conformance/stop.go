package conformance

import (
	"context"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func stops() []test {
	return []test{
		{"SoftWaitsForHandlers", softStopWaitsForHandlers},
		{"HardGivesBack", hardStopGivesBack},
		{"HardGivesBackOnlyWhatIsUnfinished", hardStopGivesBackOnlyWhatIsUnfinished},
		{"HardKeepsTheOrder", hardStopKeepsTheOrder},
		{"UnderLoadLosesNothing", stopUnderLoadLosesNothing},
	}
}

func softStopWaitsForHandlers(e *env) {
	const n = 500
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{Concurrency: 1})
	g := newGate()
	p := e.handle(b, "h", g.pass)
	cancel, wait := e.launch(b)
	e.sendNumbers(n)
	p.next()
	cancel()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		wait()
	}()
	e.send("sending goes on")
	require.EqualValues(e, 1, e.stats().InFlight)
	select {
	case <-stopped:
		require.Fail(e, "it did not wait for the handler")
	default:
	}
	close(g.open)
	receive(e, stopped, "the stop")
	// What was handed out is done, and what was not was left.
	runs := p.runs.Load()
	require.Less(e, runs, int64(n/2), "it took no more")
	s := e.stats()
	require.Equal(e, runs, s.Done)
	require.EqualValues(e, n+1-runs, s.Waiting)
	require.Zero(e, s.InFlight)
	require.Zero(e, e.count())
}

func hardStopGivesBack(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{StopTimeout: -1})
	causes := make(chan error, 10)
	p := e.handle(b, "h", func(ctx context.Context, _ *eventbus.Event) error {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return ctx.Err()
	}, once())
	stop := e.start(b)
	id := e.send(1)[0]
	require.Equal(e, id, p.next().ID)
	stop()
	require.ErrorIs(e, receive(e, causes, "the end of the context"), eventbus.ErrStopping)
	s := e.stats()
	require.EqualValues(e, 1, s.Waiting, "it is given back")
	require.Zero(e, s.InFlight)
	require.Zero(e, e.count(), "and not recorded as failed as well")

	p = e.run("h", nil)
	got := p.next()
	require.Equal(e, id, got.ID)
	require.Equal(e, 1, got.Attempt, "a stop is no attempt")
	require.Zero(e, got.Deliveries)
	e.idle()
	p.total(1)
}

func hardStopGivesBackOnlyWhatIsUnfinished(e *env) {
	e.create(eventbus.TopicConfig{})
	var probes []*probe
	g := newGate()
	handlers := []struct {
		id string
		f  func(context.Context, *eventbus.Event) error
	}{{"done", nil}, {"failed", rejects}, {"cut", g.pass}, {"not-begun", nil}}
	b := e.newBus(eventbus.Config{StopTimeout: -1})
	for _, h := range handlers {
		probes = append(probes, e.handle(b, h.id, h.f))
	}
	stop := e.start(b)
	id := e.send(1)[0]
	receive(e, g.reached, "the handler that is cut")
	stop()
	probes[3].total(0)
	require.EqualValues(e, 2, e.stats().Waiting)
	require.Equal(e, "failed", e.dead(1)[0].Handler)

	b = e.newBus(eventbus.Config{})
	probes = nil
	for _, h := range handlers {
		probes = append(probes, e.handle(b, h.id, nil))
	}
	e.start(b)
	require.Equal(e, id, probes[2].next().ID)
	require.Equal(e, id, probes[3].next().ID)
	e.idle()
	probes[0].total(0)
	probes[1].total(0)
	probes[2].total(1)
	probes[3].total(1)
	require.Equal(e, eventbus.FailureCount{Dead: 1}, e.count())
}

func hardStopKeepsTheOrder(e *env) {
	e.create(eventbus.TopicConfig{})
	sent := e.sendNumbers(10)
	g := newGate()
	b := e.newBus(eventbus.Config{StopTimeout: -1, Concurrency: 1})
	p := e.handle(b, "h", g.pass)
	stop := e.start(b)
	p.next()
	stop()
	b = e.newBus(eventbus.Config{Concurrency: 1})
	p = e.handle(b, "h", nil)
	e.start(b)
	require.Equal(e, sent, ids(p.take(10)), "what is given back comes first")
}

// Buses come and go while events are sent; each event is handled, and none twice
// unless a handler was cut off while it ran it.
func stopUnderLoadLosesNothing(e *env) {
	const rounds, each = 10, 30
	e.create(eventbus.TopicConfig{})
	var mu sync.Mutex
	done := map[string]int{}
	var sent []string
	for range rounds {
		b := e.newBus(eventbus.Config{Concurrency: 4})
		e.handle(b, "h", func(_ context.Context, event *eventbus.Event) error {
			mu.Lock()
			defer mu.Unlock()
			done[event.ID]++
			return nil
		})
		stop := e.start(b)
		sent = append(sent, e.sendNumbers(each)...)
		stop()
	}
	e.run("h", func(_ context.Context, event *eventbus.Event) error {
		mu.Lock()
		defer mu.Unlock()
		done[event.ID]++
		return nil
	})
	e.idle()
	mu.Lock()
	defer mu.Unlock()
	for _, id := range sent {
		require.Equal(e, 1, done[id], id)
	}
	require.Len(e, done, rounds*each)
	require.Zero(e, e.count())
}
