package conformance

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func retries() []test {
	return []test{
		{"RunsOnlyTheHandlerThatFailed", retryRunsOnlyTheHandlerThatFailed},
		{"EndsInTheDeadSet", retryEndsInTheDeadSet},
		{"CanBeSwitchedOff", retryCanBeSwitchedOff},
		{"OfManyLosesNone", retryOfManyLosesNone},
		{"GoesOnInAnotherProcess", retryGoesOnInAnotherProcess},
		{"LeftBehindComesInTime", retryLeftBehindComesInTime},
		{"OfADisabledTopicWaits", retryOfADisabledTopicWaits},
		{"OfADisabledTopicWaitsWithoutANotice", retryOfADisabledTopicWaitsWithoutANotice},
		{"IsNotUsedUpByAProcessWithoutTheHandler", retryIsNotUsedUpByAProcessWithoutTheHandler},
	}
}

func retryRunsOnlyTheHandlerThatFailed(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{})
	before := e.handle(b, "before", nil)
	flaky := e.handle(b, "flaky", func(_ context.Context, event *eventbus.Event) error {
		if event.Attempt < 3 {
			return errOnPurpose
		}
		return nil
	}, quick())
	after := e.handle(b, "after", nil)
	e.start(b)
	id := e.send("x")[0]
	for attempt, event := range flaky.take(3) {
		require.Equal(e, attempt+1, event.Attempt)
		require.Equal(e, id, event.ID)
		require.Equal(e, "flaky", event.Handler)
	}
	e.idle()
	flaky.total(3)
	before.total(1)
	after.total(1)
	require.Zero(e, e.count())
}

func retryEndsInTheDeadSet(e *env) {
	e.create(eventbus.TopicConfig{})
	p := e.run("h", func(_ context.Context, event *eventbus.Event) error {
		return fmt.Errorf("attempt %d: %w", event.Attempt, errOnPurpose)
	}, quick())
	id := e.send("x")[0]
	f := e.dead(1)[0]
	require.Equal(e, eventbus.Dead, f.State)
	require.Equal(e, e.topic, f.Topic)
	require.Equal(e, "default", f.Group)
	require.Equal(e, "h", f.Handler)
	require.Equal(e, id, f.EventID)
	require.Equal(e, eventbus.ReasonExhausted, f.Reason)
	require.Equal(e, "attempt 3: on purpose", f.Error)
	require.Equal(e, 3, f.Attempts)
	require.False(e, f.FirstFailedAt.IsZero())
	require.Positive(e, f.Size)
	e.idle()
	p.total(3)
}

func retryCanBeSwitchedOff(e *env) {
	e.create(eventbus.TopicConfig{})
	p := e.run("h", func(context.Context, *eventbus.Event) error { return errOnPurpose }, once())
	e.sendNumbers(20)
	for _, f := range e.dead(20) {
		require.Equal(e, 1, f.Attempts)
	}
	e.idle()
	p.total(20)
}

// Of many events, each of which fails some times, every one is handled in the
// end, and none more often than its attempts tell.
func retryOfManyLosesNone(e *env) {
	e.create(eventbus.TopicConfig{})
	var mu sync.Mutex
	succeeded := map[string]int{}
	attempts := map[string]int{}
	wrong := ""
	p := e.run("h", func(_ context.Context, event *eventbus.Event) error {
		mu.Lock()
		defer mu.Unlock()
		attempts[event.ID]++
		if event.Attempt != attempts[event.ID] {
			wrong = fmt.Sprintf("run %d of %s says that it is attempt %d", attempts[event.ID], event.ID, event.Attempt)
		}
		if len(event.Payload)%3 != 2 && event.Attempt <= len(event.Payload)%3+1 {
			return errOnPurpose
		}
		succeeded[event.ID]++
		return nil
	}, quick())
	messages := make([]eventbus.Message, 300)
	runs := int64(0)
	for i := range messages {
		messages[i].Value = eventbus.Raw{Payload: make([]byte, i)}
		runs += []int64{2, 3, 1}[i%3]
	}
	sent, err := e.bus.SendBatch(e.Context(), e.topic, messages)
	require.NoError(e, err)
	e.idle()
	require.Empty(e, wrong)
	for _, id := range sent {
		require.Equal(e, 1, succeeded[id], id)
	}
	p.total(runs)
	require.Zero(e, e.count())
}

func retryGoesOnInAnotherProcess(e *env) {
	e.create(eventbus.TopicConfig{})
	first := e.newBus(eventbus.Config{})
	p := e.handle(first, "h", func(context.Context, *eventbus.Event) error { return errOnPurpose }, eventbus.HandleConfig{
		Retry: eventbus.RetryPolicy{Initial: 200 * time.Millisecond, Max: 200 * time.Millisecond},
	})
	stop := e.start(first)
	id := e.send("x")[0]
	p.next()
	stop()

	second := e.newBus(eventbus.Config{})
	p = e.handle(second, "h", nil)
	e.start(second)
	got := p.next()
	require.Equal(e, id, got.ID)
	require.Greater(e, got.Attempt, 1)
}

// A process that ends leaves a retry to one that waits for a later one itself.
func retryLeftBehindComesInTime(e *env) {
	e.create(eventbus.TopicConfig{})
	stays := e.newBus(eventbus.Config{Concurrency: 1})
	g := newGate()
	p := e.handle(stays, "h", func(ctx context.Context, event *eventbus.Event) error {
		switch text(event) {
		case "later":
			return eventbus.RetryAfter(time.Hour, errOnPurpose)
		case "hold":
			return g.pass(ctx, event)
		}
		return nil
	})
	e.start(stays)
	e.send("later", "hold")
	p.take(2)

	// While the one is busy, the other takes the event, fails and ends.
	ends := e.newBus(eventbus.Config{})
	left := e.handle(ends, "h", func(context.Context, *eventbus.Event) error {
		return eventbus.RetryAfter(500*time.Millisecond, errOnPurpose)
	})
	stop := e.start(ends)
	id := e.send("left")[0]
	require.Equal(e, id, left.next().ID)
	stop()
	close(g.open)
	got := p.next()
	require.Equal(e, id, got.ID)
	require.Equal(e, 2, got.Attempt)
}

func retryOfADisabledTopicWaits(e *env) {
	e.retryWaits(e.failsOnceAndDisables)
}

func retryOfADisabledTopicWaitsWithoutANotice(e *env) {
	e.retryWaits(func(ctx context.Context, event *eventbus.Event) error {
		if event.Attempt > 1 {
			return nil
		}
		if err := e.disableSilently(ctx); err != nil {
			return eventbus.Reject(err)
		}
		return eventbus.RetryAfter(0, errOnPurpose)
	})
}

// retryWaits runs a handler that fails once, while its topic is switched off.
func (e *env) retryWaits(f func(context.Context, *eventbus.Event) error) {
	e.Helper()
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{})
	p := e.handle(b, "h", f)
	pass := e.barrier(b)
	e.start(b)
	e.send("x")
	e.eventually("the failure", func() bool { return e.count().Retrying == 1 })
	pass()
	p.total(1)
	require.EqualValues(e, 1, e.count().Retrying)
	require.NoError(e, e.bus.Topics().Enable(e.Context(), e.topic))
	e.idle()
	p.total(2)
}

// failsOnceAndDisables is a handler whose retry is due at once, and cannot move
// before the topic is enabled again.
func (e *env) failsOnceAndDisables(ctx context.Context, event *eventbus.Event) error {
	if event.Attempt > 1 {
		return nil
	}
	if err := e.bus.Topics().Disable(ctx, e.topic); err != nil {
		return eventbus.Reject(err)
	}
	return eventbus.RetryAfter(0, errOnPurpose)
}

// An entry that is addressed to a handler which the process lacks goes back,
// uncounted, until a process comes that has it.
func retryIsNotUsedUpByAProcessWithoutTheHandler(e *env) {
	e.create(eventbus.TopicConfig{})
	old := e.newBus(eventbus.Config{})
	e.handle(old, "both", nil)
	e.handle(old, "added", e.failsOnceAndDisables)
	stop := e.start(old)
	id := e.send("x")[0]
	e.eventually("the failure", func() bool { return e.count().Retrying == 1 })
	stop()

	without := e.newBus(eventbus.Config{})
	lacks := e.handle(without, "both", nil)
	e.start(without)
	require.NoError(e, e.bus.Topics().Enable(e.Context(), e.topic))
	put := func() eventbus.Failure {
		var put eventbus.Failure
		e.eventually("the entry to be put off", func() bool {
			if list := e.retrying(); len(list) == 1 {
				put = list[0]
			}
			return put.Reason == "no_handler"
		})
		return put
	}()
	require.Equal(e, "added", put.Handler)
	require.Equal(e, 1, put.Attempts)
	lacks.total(0)

	with := e.newBus(eventbus.Config{})
	e.handle(with, "both", nil)
	added := e.handle(with, "added", nil)
	e.start(with)
	got := added.next()
	require.Equal(e, id, got.ID)
	require.Equal(e, 2, got.Attempt)
	e.idle()
	lacks.total(0)
}
