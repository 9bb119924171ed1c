package conformance

import (
	"context"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func order() []test {
	return []test{
		{"IsFirstInFirstOut", orderIsFirstInFirstOut},
		{"IsKeptForAHandlerThatRunsOneAtATime", orderIsKeptForAHandlerThatRunsOneAtATime},
		{"OfHandlersIsThatOfRegistration", orderOfHandlersIsThatOfRegistration},
		{"BusesOfAGroupShareItsEvents", busesOfAGroupShareItsEvents},
		{"ASlowTopicLeavesRoomForOthers", aSlowTopicLeavesRoomForOthers},
	}
}

func orderIsFirstInFirstOut(e *env) {
	e.create(eventbus.TopicConfig{})
	sent := e.send(1, 2, 3, 4, 5)
	b := e.newBus(eventbus.Config{Concurrency: 1})
	p := e.handle(b, "h", nil)
	e.start(b)
	require.Equal(e, sent, ids(p.take(5)))
	sent = e.sendNumbers(200) // and while it runs
	require.Equal(e, sent, ids(p.take(200)))
}

// A handler with Concurrency 1 gets the events in their order, whatever the others
// of its topic do.
func orderIsKeptForAHandlerThatRunsOneAtATime(e *env) {
	e.create(eventbus.TopicConfig{})
	sent := e.sendNumbers(300)
	b := e.newBus(eventbus.Config{})
	e.handle(b, "before", nil)
	var got []string
	p := e.handle(b, "one-at-a-time", func(_ context.Context, event *eventbus.Event) error {
		got = append(got, event.ID) // the race detector knows if they are two
		return nil
	}, eventbus.HandleConfig{Concurrency: 1})
	e.handle(b, "after", nil)
	e.start(b)
	sent = append(sent, e.sendNumbers(100)...)
	p.take(400)
	e.idle()
	require.Equal(e, sent, got)
}

func orderOfHandlersIsThatOfRegistration(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{})
	var mu sync.Mutex
	ran := map[string][]string{} // handlers by event
	for _, id := range []string{"c", "a", "b"} {
		e.handle(b, id, func(_ context.Context, event *eventbus.Event) error {
			mu.Lock()
			defer mu.Unlock()
			ran[event.ID] = append(ran[event.ID], id)
			if id == "c" {
				return eventbus.Reject(errOnPurpose) // the others run all the same
			}
			return nil
		})
	}
	e.start(b)
	sent := e.sendNumbers(100)
	e.dead(100)
	e.idle()
	for _, id := range sent {
		require.Equal(e, []string{"c", "a", "b"}, ran[id])
	}
}

func busesOfAGroupShareItsEvents(e *env) {
	e.create(eventbus.TopicConfig{})
	// Each bus takes one event and holds it: a second event under way at the same
	// time is with the other bus.
	g := newGate()
	var probes []*probe
	for range 2 {
		b := e.newBus(eventbus.Config{Concurrency: 1})
		probes = append(probes, e.handle(b, "h", g.pass))
		e.start(b)
	}
	sent := e.sendNumbers(2)
	held := []string{receive(e, g.reached, "the first bus").ID, receive(e, g.reached, "the second bus").ID}
	require.ElementsMatch(e, sent, held)
	for _, p := range probes {
		p.total(1)
	}
	close(g.open)

	sent = append(sent, e.sendNumbers(200)...)
	e.idle()
	got := append(ids(probes[0].take(int(probes[0].runs.Load()))), ids(probes[1].take(int(probes[1].runs.Load())))...)
	require.ElementsMatch(e, sent, got, "every event once, in one of the two")
}

func aSlowTopicLeavesRoomForOthers(e *env) {
	slow, fast := e.topic+".slow", e.topic+".fast"
	for _, topic := range []string{slow, fast} {
		require.NoError(e, e.bus.Topics().Create(e.Context(), topic, eventbus.TopicConfig{}))
	}
	b := e.newBus(eventbus.Config{Concurrency: 8})
	g := newGate()
	defer close(g.open)
	e.handleTopic(b, slow, "h", g.pass)
	p := e.handleTopic(b, fast, "h", nil)
	_, err := e.bus.SendBatch(e.Context(), slow, numbers(20))
	require.NoError(e, err)
	e.start(b)
	for range 6 { // three quarters of the pool
		receive(e, g.reached, "the slow topic's share")
	}
	// The rest is for others: each of these events finds a slot.
	for range 20 {
		_, err := e.bus.Send(e.Context(), fast, 1)
		require.NoError(e, err)
		p.next()
	}
}
