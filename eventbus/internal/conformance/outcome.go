package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func outcomes() []test {
	return []test{
		{"RejectIsDeadAtOnce", rejectIsDeadAtOnce},
		{"RetryAfterSetsTheDelay", retryAfterSetsTheDelay},
		{"SnoozeUsesUpNoAttempt", snoozeUsesUpNoAttempt},
		{"MayBeWrapped", outcomeMayBeWrapped},
		{"PanicIsAFailure", panicIsAFailure},
		{"TimeoutIsAFailure", timeoutIsAFailure},
		{"AHandlerThatIgnoresItsContextIsGivenUp", aHandlerThatIgnoresItsContextIsGivenUp},
		{"LongErrorTextsAreCut", longErrorTextsAreCut},
	}
}

func rejectIsDeadAtOnce(e *env) {
	e.create(eventbus.TopicConfig{})
	p := e.run("h", func(context.Context, *eventbus.Event) error { return eventbus.Reject(errors.New("no such customer")) })
	id := e.send(1)[0]
	f := e.dead(1)[0]
	require.Equal(e, id, f.EventID)
	require.Equal(e, "h", f.Handler)
	require.Equal(e, eventbus.ReasonRejected, f.Reason)
	require.Equal(e, 1, f.Attempts)
	require.Contains(e, f.Error, "no such customer")
	require.Zero(e, f.NextAttempt)
	e.idle()
	p.total(1)
}

func retryAfterSetsTheDelay(e *env) {
	e.create(eventbus.TopicConfig{})
	const delay = 150 * time.Millisecond
	runs := make(chan time.Time, 10)
	p := e.run("h", func(_ context.Context, event *eventbus.Event) error {
		runs <- time.Now()
		if event.Attempt == 1 {
			return eventbus.RetryAfter(delay, errOnPurpose)
		}
		return nil
	}, eventbus.HandleConfig{Retry: eventbus.RetryPolicy{Initial: time.Hour, Max: time.Hour}})
	e.send(1)
	require.Equal(e, 1, p.next().Attempt)
	require.Equal(e, 2, p.next().Attempt, "it is counted as an attempt")
	first, second := <-runs, <-runs
	require.GreaterOrEqual(e, second.Sub(first), delay-5*time.Millisecond)
	e.idle()
	p.total(2)
	require.Zero(e, e.count())

	// It counts towards the greatest number of attempts.
	e2 := setup(e.T, e.rdb)
	e2.create(eventbus.TopicConfig{})
	p = e2.run("h", func(context.Context, *eventbus.Event) error { return eventbus.RetryAfter(0, errOnPurpose) }, quick())
	e2.send(1)
	require.Equal(e, 3, e2.dead(1)[0].Attempts)
	p.total(3)
}

func snoozeUsesUpNoAttempt(e *env) {
	e.create(eventbus.TopicConfig{})
	var runs atomic.Int64
	p := e.run("h", func(_ context.Context, event *eventbus.Event) error {
		if runs.Add(1) <= 3 {
			return eventbus.Snooze(time.Millisecond)
		}
		return errOnPurpose
	}, once())
	e.send(1)
	for range 4 {
		require.Equal(e, 1, p.next().Attempt)
	}
	f := e.dead(1)[0]
	require.Equal(e, 1, f.Attempts)
	require.Equal(e, eventbus.ReasonExhausted, f.Reason)

	// What is put off is listed, with no failed attempt.
	e2 := setup(e.T, e.rdb)
	e2.create(eventbus.TopicConfig{})
	e2.run("h", func(context.Context, *eventbus.Event) error { return eventbus.Snooze(time.Hour) })
	e2.send(1)
	e2.eventually("the snoozed event", func() bool { return e2.count().Retrying == 1 })
	f = e2.retrying()[0]
	require.Equal(e, eventbus.ReasonSnoozed, f.Reason)
	require.Zero(e, f.Attempts)
	require.Zero(e, f.FirstFailedAt)
	require.WithinDuration(e, time.Now().Add(time.Hour), f.NextAttempt, time.Minute)
}

func outcomeMayBeWrapped(e *env) {
	e.create(eventbus.TopicConfig{})
	e.run("h", func(context.Context, *eventbus.Event) error {
		return fmt.Errorf("charge the card: %w", eventbus.Reject(errOnPurpose))
	})
	e.send(1)
	f := e.dead(1)[0]
	require.Equal(e, eventbus.ReasonRejected, f.Reason)
	require.Contains(e, f.Error, "charge the card")
}

func panicIsAFailure(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{})
	e.handle(b, "panics", func(context.Context, *eventbus.Event) error { panic("out of cheese") }, once())
	e.handle(b, "panics-with-nil", func(context.Context, *eventbus.Event) error { panic(nil) }, once())
	p := e.handle(b, "after", nil)
	e.start(b)
	e.send(1)
	p.next() // the others run
	for _, f := range e.dead(2) {
		require.Contains(e, f.Error, eventbus.ErrPanic.Error())
		if f.Handler == "panics" {
			require.Contains(e, f.Error, "out of cheese")
		}
	}
	e.send(2)
	p.next() // and the process goes on
}

func timeoutIsAFailure(e *env) {
	e.create(eventbus.TopicConfig{})
	p := e.run("h", func(ctx context.Context, _ *eventbus.Event) error {
		<-ctx.Done()
		return ctx.Err()
	}, eventbus.HandleConfig{Timeout: 20 * time.Millisecond, Retry: eventbus.RetryPolicy{MaxAttempts: 2, Initial: time.Millisecond}})
	e.send(1)
	f := e.dead(1)[0]
	require.Equal(e, 2, f.Attempts, "it is tried again")
	require.Contains(e, f.Error, eventbus.ErrTimeout.Error())
	p.total(2)
}

func aHandlerThatIgnoresItsContextIsGivenUp(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{Concurrency: 1})
	release := make(chan struct{})
	returned := make(chan struct{})
	e.handle(b, "deaf", func(context.Context, *eventbus.Event) error {
		defer close(returned)
		<-release
		return nil
	}, eventbus.HandleConfig{Timeout: 20 * time.Millisecond, MaxAbandoned: 1, Retry: eventbus.RetryPolicy{MaxAttempts: 1}})
	p := e.handle(b, "after", nil)
	e.start(b)
	e.send(1)
	p.next()
	f := e.dead(1)[0]
	require.Equal(e, "deaf", f.Handler)
	require.Contains(e, f.Error, eventbus.ErrTimeout.Error())
	require.Contains(e, f.Error, eventbus.ErrAbandoned.Error())

	// At its cap of abandoned runs it is given no more; its share is put off, and
	// the others go on, in the one slot that there is.
	e.send(2)
	p.next()
	e.eventually("its share to be put off", func() bool { return e.count().Retrying == 1 })
	put := e.retrying()[0]
	require.Equal(e, eventbus.ReasonAbandoned, put.Reason)
	require.Zero(e, put.Attempts)
	close(release)
	receive(e, returned, "the deaf handler's return")
	require.Len(e, e.dead(1), 1, "what it says in the end counts no more")
}

func longErrorTextsAreCut(e *env) {
	e.create(eventbus.TopicConfig{})
	e.run("h", func(context.Context, *eventbus.Event) error {
		return errors.New("begins so " + strings.Repeat("世", 100_000/3))
	}, once())
	e.send(1)
	f := e.dead(1)[0]
	require.LessOrEqual(e, len(f.Error), 4096)
	require.True(e, strings.HasPrefix(f.Error, "begins so 世"))
	require.Contains(e, f.Error, "bytes in all")
}
