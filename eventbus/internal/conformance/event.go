package conformance

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func events() []test {
	return []test{
		{"SaysWhatWasSent", eventSaysWhatWasSent},
		{"KeepsIDAndHeaders", eventKeepsIDAndHeaders},
		{"IsDecodedByTyped", eventIsDecodedByTyped},
		{"PassesMiddlewareFromOutsideIn", eventPassesMiddlewareFromOutsideIn},
	}
}

func eventSaysWhatWasSent(e *env) {
	e.create(eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "billing"}}})
	sender := e.newBus(eventbus.Config{Source: "/shop"})
	b := e.newBus(eventbus.Config{Group: "billing"})
	p := e.handle(b, "invoice", nil)
	e.start(b)
	before := time.Now()
	id, err := sender.Send(e.Context(), e.topic, map[string]int{"order": 7})
	require.NoError(e, err)

	got := p.next()
	require.WithinRange(e, got.Time, before.Add(-time.Second), time.Now().Add(time.Second))
	got.Time = time.Time{}
	require.Equal(e, &eventbus.Event{
		ID: id, Topic: e.topic, Type: e.topic, Source: "/shop", ContentType: "application/json",
		Payload: []byte(`{"order":7}`), Group: "billing", Handler: "invoice", Attempt: 1,
	}, got)

	// The source is the group where none is set.
	_, err = e.newBus(eventbus.Config{Group: "stock"}).Send(e.Context(), e.topic, 1)
	require.NoError(e, err)
	require.Equal(e, "stock", p.next().Source)
}

// Identity and headers stay through retry, dead set and replay.
func eventKeepsIDAndHeaders(e *env) {
	e.create(eventbus.TopicConfig{})
	headers := map[string]string{"tenant": `ä "quoted" \ 世界`, "subject": "order/7", "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
	p := e.run("h", func(_ context.Context, event *eventbus.Event) error {
		if event.Attempt == 1 {
			return errOnPurpose
		}
		return eventbus.Reject(errOnPurpose)
	}, quick())
	options := []eventbus.SendOption{eventbus.WithID(`my id "7" \ 世界`)}
	for name, value := range headers {
		options = append(options, eventbus.WithHeader(name, value))
	}
	id, err := e.bus.Send(e.Context(), e.topic, 1, options...)
	require.NoError(e, err)
	require.Equal(e, `my id "7" \ 世界`, id)

	first := p.next()
	check := func(got *eventbus.Event) {
		e.Helper()
		require.Equal(e, id, got.ID)
		require.Equal(e, headers, got.Headers)
		require.Equal(e, first.Time, got.Time)
		require.Equal(e, first.Source, got.Source)
		require.Equal(e, first.Type, got.Type)
		require.Equal(e, first.ContentType, got.ContentType)
	}
	check(first)
	check(p.next()) // the retry
	f := e.get(e.dead(1)[0].ID)
	require.Equal(e, id, f.EventID)
	check(f.Event)
	require.EqualValues(e, 1, e.replay(eventbus.FailureFilter{All: true}))
	check(p.next()) // the replay
}

func eventIsDecodedByTyped(e *env) {
	type order struct {
		Number int `json:"number"`
	}
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{})
	type call struct {
		value order
		event *eventbus.Event
	}
	calls := make(chan call, 10)
	b.Handle(e.topic, "h", eventbus.Typed(func(ctx context.Context, o order) error {
		calls <- call{o, eventbus.EventFrom(ctx)}
		return nil
	}))
	e.start(b)
	id := e.send(order{Number: 7})[0]
	got := receive(e, calls, "the call")
	require.Equal(e, order{Number: 7}, got.value)
	require.Equal(e, id, got.event.ID)

	// What does not decode is dead at once, with the reason, and f is not called.
	bad := e.send(map[string]string{"number": "seven"})[0]
	f := e.dead(1)[0]
	require.Equal(e, bad, f.EventID)
	require.Equal(e, eventbus.ReasonRejected, f.Reason)
	require.Equal(e, 1, f.Attempts)
	require.Contains(e, f.Error, "number")
	require.Empty(e, calls)
}

func eventPassesMiddlewareFromOutsideIn(e *env) {
	e.create(eventbus.TopicConfig{})
	steps := make(chan string, 100)
	named := func(name string) eventbus.Middleware {
		return func(next eventbus.EventHandle) eventbus.EventHandle {
			return eventbus.HandleFunc(func(ctx context.Context, event *eventbus.Event) error {
				steps <- name
				return next.Handle(ctx, event)
			})
		}
	}
	b := e.newBus(eventbus.Config{Middleware: []eventbus.Middleware{named("1"), named("2")}})
	e.handle(b, "h", func(context.Context, *eventbus.Event) error { steps <- "handler"; return nil },
		eventbus.HandleConfig{Middleware: []eventbus.Middleware{named("3"), named("4")}})
	e.start(b)
	e.send(1)
	for _, want := range []string{"1", "2", "3", "4", "handler"} {
		require.Equal(e, want, receive(e, steps, "step "+want))
	}
}
