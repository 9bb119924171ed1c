package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// run runs the bus until the test ends, and returns when it takes events.
func (b *bed) run(topic, handler string, handle eventbus.HandleFunc, cfg ...eventbus.HandleConfig) *eventbus.Bus {
	b.t.Helper()
	ready := make(chan struct{})
	bus, err := eventbus.New(b.rdb, eventbus.Config{
		Namespace: b.namespace, Logger: slog.New(slog.DiscardHandler), OnReady: func() { close(ready) },
	})
	require.NoError(b.t, err)
	bus.Handle(topic, handler, handle, cfg...)
	ran := make(chan error, 1)
	go func() { ran <- bus.Run(context.Background()) }()
	b.t.Cleanup(func() {
		require.NoError(b.t, bus.Close())
		require.NoError(b.t, <-ran)
	})
	within(b, ready, "the bus takes events")
	return bus
}

// within waits for a value.
func within[T any](b *bed, values <-chan T, what string) T {
	b.t.Helper()
	select {
	case v := <-values:
		return v
	case <-time.After(patience):
		require.FailNow(b.t, "not in time: "+what)
		panic("unreachable")
	}
}

// eventually waits for a condition.
func (b *bed) eventually(what string, condition func() bool) {
	b.t.Helper()
	require.Eventually(b.t, condition, patience, 20*time.Millisecond, what)
}

// collect handles a topic's events and hands them on.
func (b *bed) collect(topic string) <-chan *eventbus.Event {
	b.t.Helper()
	events := make(chan *eventbus.Event, 10_000)
	b.run(topic, "collect", func(_ context.Context, e *eventbus.Event) error {
		events <- e
		return nil
	})
	return events
}

// objects reads one JSON object a line.
func objects[T any](b *bed, text string) []T {
	b.t.Helper()
	var all []T
	for _, line := range lines(text) {
		require.False(b.t, containsControl(line), "%q", line)
		var v T
		require.NoError(b.t, json.Unmarshal([]byte(line), &v), "%s", line)
		all = append(all, v)
	}
	return all
}

func object[T any](b *bed, text string) T {
	b.t.Helper()
	all := objects[T](b, text)
	require.Len(b.t, all, 1, "%s", text)
	return all[0]
}

func containsControl(s string) bool {
	for _, r := range s {
		if control(r) {
			return true
		}
	}
	return false
}
