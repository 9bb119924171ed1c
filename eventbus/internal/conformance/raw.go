package conformance

import (
	"context"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// On a topic with wire raw the queue holds payloads alone, for consumers that
// expect that.
func raw() []test {
	return []test{
		{"QueueHoldsExactlyThePayload", rawQueueHoldsExactlyThePayload},
		{"PayloadIsNeverReadAsAnEnvelope", rawPayloadIsNeverReadAsAnEnvelope},
		{"RetryStaysOutOfTheQueue", rawRetryStaysOutOfTheQueue},
		{"StopGivesBackOutsideTheQueue", rawStopGivesBackOutsideTheQueue},
	}
}

func rawQueueHoldsExactlyThePayload(e *env) {
	e.create(eventbus.TopicConfig{Wire: eventbus.WireRaw, Groups: []eventbus.GroupConfig{{Name: "default"}, {Name: "java", QueueKey: "{" + e.topic + "}"}}})
	want := []string{`{"spaced" :  1}`, "\xff\x00", ""}
	for _, text := range want {
		_, err := e.bus.Send(e.Context(), e.topic, eventbus.Raw{Payload: []byte(text)}, eventbus.WithHeader("tenant", "is not kept"))
		require.NoError(e, err)
	}
	for _, key := range []string{e.key("queue:default"), "{" + e.topic + "}"} {
		got := e.list(key)
		require.Len(e, got, 3)
		for i := range want {
			require.Equal(e, want[i], got[len(got)-1-i], key)
		}
	}
	b := e.newBus(eventbus.Config{Concurrency: 1})
	p := e.handle(b, "h", nil)
	e.start(b)
	require.Equal(e, want, texts(p.take(3)))
}

func rawPayloadIsNeverReadAsAnEnvelope(e *env) {
	e.create(eventbus.TopicConfig{Wire: eventbus.WireRaw})
	p := e.run("h", func(_ context.Context, event *eventbus.Event) error {
		if event.Attempt == 1 {
			return eventbus.RetryAfter(0, errOnPurpose)
		}
		return nil
	})
	const envelope = `{"specversion":"1.0","id":"x","source":"y","type":"z","ebhandler":"other","ebattempt":7,"data":1}`
	e.send(eventbus.Raw{Payload: []byte(envelope)})
	first := p.next()
	require.Equal(e, envelope, string(first.Payload))
	require.NotEqual(e, "x", first.ID)
	require.Equal(e, 1, first.Attempt)
	second := p.next() // comes back in an envelope of the bus's own, which is read
	require.Equal(e, envelope, string(second.Payload))
	require.Equal(e, first.ID, second.ID)
	require.Equal(e, 2, second.Attempt)
}

func rawRetryStaysOutOfTheQueue(e *env) {
	e.create(eventbus.TopicConfig{Wire: eventbus.WireRaw})
	b := e.newBus(eventbus.Config{Concurrency: 1})
	foreign := make(chan string, 100)
	e.handle(b, "h", func(ctx context.Context, event *eventbus.Event) error {
		// While one runs, whatever was moved meanwhile stands in the queue.
		for _, entry := range e.list(e.key("queue:default")) {
			if entry != "x" {
				foreign <- entry
			}
		}
		if event.Attempt < 5 {
			return eventbus.RetryAfter(0, errOnPurpose)
		}
		return eventbus.Reject(errOnPurpose)
	})
	stop := e.start(b)
	for range 10 {
		e.send(eventbus.Raw{Payload: []byte("x")})
	}
	e.dead(10)
	require.Empty(e, foreign)
	stop()
	require.EqualValues(e, 10, e.replay(eventbus.FailureFilter{All: true}))
	require.Empty(e, e.list(e.key("queue:default")))
	require.EqualValues(e, 10, e.stats().Waiting)
	p := e.run("h", nil)
	for _, text := range texts(p.take(10)) {
		require.Equal(e, "x", text)
	}
}

func rawStopGivesBackOutsideTheQueue(e *env) {
	e.create(eventbus.TopicConfig{Wire: eventbus.WireRaw})
	b := e.newBus(eventbus.Config{StopTimeout: -1})
	p := e.handle(b, "h", newGate().pass)
	stop := e.start(b)
	e.send(eventbus.Raw{Payload: []byte("x")})
	first := p.next()
	stop()
	require.Empty(e, e.list(e.key("queue:default")))
	require.EqualValues(e, 1, e.stats().Waiting)
	p = e.run("h", nil)
	got := p.next()
	require.Equal(e, "x", string(got.Payload))
	require.Equal(e, first.ID, got.ID, "the id that it was given on arrival stays")
	require.Equal(e, 1, got.Attempt)
}
