package conformance

import (
	"context"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func life() []test {
	return []test{
		{"CloseMayBeRepeated", closeMayBeRepeated},
		{"CloseStopsRun", closeStopsRun},
		{"OnReadyMayClose", onReadyMayClose},
		{"NothingWorksAfterClose", nothingWorksAfterClose},
		{"ABusRunsOnce", aBusRunsOnce},
		{"RunNeedsAHandler", runNeedsAHandler},
		{"HandlersAreChecked", handlersAreChecked},
		{"TheClientStaysTheCallers", theClientStaysTheCallers},
	}
}

func closeMayBeRepeated(e *env) {
	b := e.newBus(eventbus.Config{})
	for range 3 {
		require.NoError(e, b.Close())
	}
	// Also by many at once, while it runs.
	e.create(eventbus.TopicConfig{})
	b = e.newBus(eventbus.Config{})
	e.handle(b, "h", nil)
	e.start(b)
	var all sync.WaitGroup
	failed := make(chan error, 10)
	for range 10 {
		all.Go(func() { failed <- b.Close() })
	}
	all.Wait()
	for range 10 {
		require.NoError(e, <-failed)
	}
}

func onReadyMayClose(e *env) {
	e.create(eventbus.TopicConfig{})
	var b *eventbus.Bus
	closed := make(chan error, 1)
	b = e.newBus(eventbus.Config{OnReady: func() { closed <- b.Close() }})
	e.handle(b, "h", nil)
	ended := make(chan error, 1)
	go func() { ended <- b.Run(e.Context()) }()
	require.NoError(e, receive(e, ended, "the end of Run"))
	require.NoError(e, receive(e, closed, "Close"))
}

func closeStopsRun(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{})
	g := newGate()
	p := e.handle(b, "h", g.pass)
	stop := e.start(b)
	e.send(1)
	p.next()
	closed := make(chan error, 1)
	go func() { closed <- b.Close() }()
	e.eventually("the bus to be closing", func() bool { return b.Ready(e.Context()) != nil })
	require.Empty(e, closed, "it waits for the handler")
	close(g.open)
	require.NoError(e, receive(e, closed, "Close"))
	stop()
	e.idle()
	require.EqualValues(e, 1, e.stats().Done)
	require.Empty(e, e.consumers())
}

func nothingWorksAfterClose(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{})
	e.handle(b, "h", nil)
	require.NoError(e, b.Close())
	ctx := e.Context()
	for name, err := range map[string]error{
		"TryHandle":        b.TryHandle(e.topic, "late", eventbus.HandleFunc(rejects)),
		"Run":              e.runError(b),
		"Topics.Create":    b.Topics().Create(ctx, "t", eventbus.TopicConfig{}),
		"Topics.Delete":    b.Topics().Delete(ctx, e.topic),
		"Topics.Disable":   b.Topics().Disable(ctx, e.topic),
		"Topics.AddGroup":  b.Topics().AddGroup(ctx, e.topic, eventbus.GroupConfig{Name: "g"}),
		"Handlers.Disable": b.Handlers().Disable(ctx, e.topic, "h"),
		"Handlers.Reset":   b.Handlers().Reset(ctx, e.topic, "h"),
		"Send":             second(b.Send(ctx, e.topic, 1)),
		"SendBatch":        second(b.SendBatch(ctx, e.topic, numbers(2))),
		"Topics.List":      second(b.Topics().List(ctx)),
		"Topics.Get":       second(b.Topics().Get(ctx, e.topic)),
		"Failures.List":    second(b.Failures().List(ctx, e.topic, eventbus.FailureQuery{})),
		"Failures.Replay":  second(b.Failures().Replay(ctx, e.topic, eventbus.FailureFilter{All: true})),
		"Stats":            second(b.Stats(ctx, e.topic)),
		"Consumers":        second(b.Consumers(ctx)),
	} {
		require.ErrorIs(e, err, eventbus.ErrClosed, name)
	}
	require.Zero(e, e.stats().Sent)
}

func second[T any](_ T, err error) error { return err }

func aBusRunsOnce(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{})
	p := e.handle(b, "h", nil)
	stop := e.start(b)
	require.ErrorIs(e, e.runError(b), eventbus.ErrRunning)
	require.ErrorIs(e, b.TryHandle(e.topic, "late", eventbus.HandleFunc(rejects)), eventbus.ErrRunning)
	e.send(1)
	p.next() // it goes on
	stop()
	require.ErrorIs(e, e.runError(b), eventbus.ErrRunning)

	// It can still send.
	_, err := b.Send(e.Context(), e.topic, 1)
	require.NoError(e, err)
}

func runNeedsAHandler(e *env) {
	b := e.newBus(eventbus.Config{})
	require.ErrorIs(e, e.runError(b), eventbus.ErrNoHandler)
	e.create(eventbus.TopicConfig{})
	e.handle(b, "h", nil)
	e.start(b) // that was no run
}

func handlersAreChecked(e *env) {
	b := e.newBus(eventbus.Config{})
	fine := eventbus.HandleFunc(rejects)
	require.NoError(e, b.TryHandle(e.topic, "h", fine))
	require.ErrorIs(e, b.TryHandle(e.topic, "h", fine), eventbus.ErrHandlerExists)
	require.NoError(e, b.TryHandle(e.topic+".other", "h", fine), "an id is unique in its topic")
	for name, err := range map[string]error{
		"topic":          b.TryHandle("a b", "x", fine),
		"id":             b.TryHandle(e.topic, "", fine),
		"nil":            b.TryHandle(e.topic, "x", nil),
		"nil func":       b.TryHandle(e.topic, "x", eventbus.HandleFunc(nil)),
		"timeout":        b.TryHandle(e.topic, "x", fine, eventbus.HandleConfig{Timeout: -1}),
		"concurrency":    b.TryHandle(e.topic, "x", fine, eventbus.HandleConfig{Concurrency: -1}),
		"attempts":       b.TryHandle(e.topic, "x", fine, eventbus.HandleConfig{Retry: eventbus.RetryPolicy{MaxAttempts: -1}}),
		"nil middleware": b.TryHandle(e.topic, "x", fine, eventbus.HandleConfig{Middleware: []eventbus.Middleware{nil}}),
		"two configs":    b.TryHandle(e.topic, "x", fine, eventbus.HandleConfig{}, eventbus.HandleConfig{}),
	} {
		require.ErrorIs(e, err, eventbus.ErrInvalidArgument, name)
	}
	require.Panics(e, func() { b.Handle(e.topic, "h", fine) })
}

func theClientStaysTheCallers(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{})
	e.handle(b, "h", nil)
	e.start(b)
	require.NoError(e, b.Close())
	require.NoError(e, e.rdb.Ping(context.Background()).Err())
}
