package conformance

import (
	"context"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// at_most_once: LPUSH and BLPOP, newest first, nothing kept in flight.
func atMostOnce() []test {
	return []test{
		{"IsNewestFirst", atMostOnceIsNewestFirst},
		{"ReachesEveryGroupOnce", atMostOnceReachesEveryGroupOnce},
		{"KeepsNothingInFlight", atMostOnceKeepsNothingInFlight},
		{"RetriesAndReplays", atMostOnceRetriesAndReplays},
		{"SharesAListWithOthers", atMostOnceSharesAListWithOthers},
		{"CanBeDisabled", atMostOnceCanBeDisabled},
		{"IsCounted", atMostOnceIsCounted},
	}
}

func atMostOnceIsNewestFirst(e *env) {
	e.create(eventbus.TopicConfig{Delivery: eventbus.AtMostOnce})
	e.sendNumbers(5)
	b := e.newBus(eventbus.Config{Concurrency: 1})
	p := e.handle(b, "h", nil)
	e.start(b)
	require.Equal(e, []string{"4", "3", "2", "1", "0"}, texts(p.take(5)))
}

func atMostOnceReachesEveryGroupOnce(e *env) {
	e.create(eventbus.TopicConfig{Delivery: eventbus.AtMostOnce, Groups: []eventbus.GroupConfig{{Name: "default"}, {Name: "other"}}})
	b := e.newBus(eventbus.Config{Group: "other"})
	probes := []*probe{e.run("h", nil), e.handle(b, "h", nil)}
	e.start(b)
	sent := e.sendNumbers(30)
	for range 20 {
		sent = append(sent, e.send("one")...)
	}
	for _, p := range probes {
		require.ElementsMatch(e, sent, ids(p.take(50)))
	}
	e.idle()
	for _, p := range probes {
		p.total(50)
	}
}

func atMostOnceKeepsNothingInFlight(e *env) {
	e.create(eventbus.TopicConfig{Delivery: eventbus.AtMostOnce})
	g := newGate()
	p := e.run("h", g.pass)
	e.send(1)
	p.next()
	s := e.stats()
	require.Zero(e, s.InFlight)
	require.Zero(e, s.Waiting)
	close(g.open)
}

func atMostOnceRetriesAndReplays(e *env) {
	e.create(eventbus.TopicConfig{Delivery: eventbus.AtMostOnce})
	b := e.newBus(eventbus.Config{})
	fine := e.handle(b, "fine", nil)
	p := e.handle(b, "flaky", func(_ context.Context, event *eventbus.Event) error {
		if string(event.Payload) == `"good"` && event.Attempt == 3 {
			return nil
		}
		return errOnPurpose
	}, quick())
	e.start(b)
	e.send("good", "bad")
	f := e.dead(1)[0]
	require.Equal(e, 3, f.Attempts)
	e.idle()
	p.total(6)
	fine.total(2)
	require.EqualValues(e, 1, e.replay(eventbus.FailureFilter{IDs: []string{f.ID}}))
	e.dead(1)
	e.idle()
	p.total(9)
	fine.total(2)
}

func atMostOnceSharesAListWithOthers(e *env) {
	list := "{" + e.topic + "}"
	e.create(eventbus.TopicConfig{Delivery: eventbus.AtMostOnce, Wire: eventbus.WireRaw, Groups: []eventbus.GroupConfig{{Name: "default", QueueKey: list}}})
	e.send(map[string]int{"to": 1})
	require.Equal(e, []string{`{"to":1}`}, e.list(list), "others find what they expect")
	p := e.run("h", func(_ context.Context, event *eventbus.Event) error {
		if event.Attempt == 1 {
			return eventbus.RetryAfter(0, errOnPurpose)
		}
		return nil
	})
	require.Equal(e, `{"to":1}`, string(p.next().Payload))
	require.Equal(e, 2, p.next().Attempt)
	for range 5 {
		e.push(list, `{"from":2}`)
		first, second := p.next(), p.next()
		require.Equal(e, `{"from":2}`, string(first.Payload))
		require.Equal(e, `{"from":2}`, string(second.Payload))
		require.Equal(e, first.ID, second.ID)
	}
}

func atMostOnceCanBeDisabled(e *env) {
	e.create(eventbus.TopicConfig{Delivery: eventbus.AtMostOnce})
	b := e.newBus(eventbus.Config{})
	p := e.handle(b, "h", nil)
	pass := e.barrier(b)
	e.start(b)
	e.send(1)
	p.next()
	require.NoError(e, e.bus.Topics().Disable(e.Context(), e.topic))
	_, err := e.bus.Send(e.Context(), e.topic, 2)
	require.ErrorIs(e, err, eventbus.ErrTopicDisabled)
	// Within a second nothing is taken any more, from whomever it comes.
	e.eventually("the list to be left alone", func() bool {
		e.push(e.key("queue:default"), "foreign")
		pass()
		return len(e.list(e.key("queue:default"))) > 0
	})
	before := p.runs.Load()
	pass()
	p.total(before)
	require.NoError(e, e.bus.Topics().Enable(e.Context(), e.topic))
	e.eventually("what waits to be handled", func() bool { return e.stats().Waiting == 0 && p.runs.Load() > before })
}

func atMostOnceIsCounted(e *env) {
	e.create(eventbus.TopicConfig{Delivery: eventbus.AtMostOnce})
	e.run("h", func(_ context.Context, event *eventbus.Event) error {
		if string(event.Payload) == "2" {
			return eventbus.Reject(errOnPurpose)
		}
		return nil
	})
	e.sendNumbers(10)
	e.eventually("the figures", func() bool {
		s := e.stats()
		return s.Sent == 10 && s.Done == 9 && s.Died == 1
	})
}
