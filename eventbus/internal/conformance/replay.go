package conformance

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func replays() []test {
	return []test{
		{"HasFreshAttempts", replayHasFreshAttempts},
		{"PicksByID", replayPicksByID},
		{"PicksByHandler", replayPicksByHandler},
		{"PicksByTime", replayPicksByTime},
		{"OfRetryingComesAtOnce", replayOfRetryingComesAtOnce},
		{"DoesNotPickWhatFailsAgain", replayDoesNotPickWhatFailsAgain},
		{"TwiceAtOnceDoublesNothing", replayTwiceAtOnceDoublesNothing},
		{"RunsOnlyTheHandlerThatFailed", replayRunsOnlyTheHandlerThatFailed},
	}
}

func replayHasFreshAttempts(e *env) {
	e.create(eventbus.TopicConfig{})
	var well atomic.Bool
	p := e.run("h", func(_ context.Context, event *eventbus.Event) error {
		if well.Load() && event.Attempt == 3 {
			return nil
		}
		return errOnPurpose
	}, quick())
	id := e.send(1)[0]
	f := e.dead(1)[0]
	well.Store(true)
	require.EqualValues(e, 1, e.replay(eventbus.FailureFilter{IDs: []string{f.ID}}))
	for i, event := range p.take(6) {
		require.Equal(e, id, event.ID)
		require.Equal(e, i%3+1, event.Attempt)
	}
	e.idle()
	require.Zero(e, e.count())
	require.EqualValues(e, 1, e.stats().Replayed)
	_, err := e.bus.Failures().Get(e.Context(), e.topic, f.ID)
	require.ErrorIs(e, err, eventbus.ErrFailureNotFound)
}

func replayPicksByID(e *env) {
	e.create(eventbus.TopicConfig{})
	all := e.fail(5)
	require.EqualValues(e, 2, e.replay(eventbus.FailureFilter{IDs: []string{all[1].ID, "unknown", all[3].ID, all[1].ID}}))
	require.Equal(e, eventbus.FailureCount{Dead: 3}, e.count())
	p := e.run("h", nil)
	require.ElementsMatch(e, []string{all[1].EventID, all[3].EventID}, ids(p.take(2)))
	e.idle()
	p.total(2)
}

func replayPicksByHandler(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{})
	var probes []*probe
	for _, id := range []string{"a", "b"} {
		probes = append(probes, e.handle(b, id, func(context.Context, *eventbus.Event) error { return eventbus.Reject(errOnPurpose) }))
	}
	e.start(b)
	e.sendNumbers(20)
	e.dead(40)
	require.EqualValues(e, 20, e.replay(eventbus.FailureFilter{Handler: "b"}))
	e.dead(40)
	e.idle()
	probes[0].total(20)
	probes[1].total(40)
}

func replayPicksByTime(e *env) {
	e.create(eventbus.TopicConfig{})
	early := e.fail(3)
	last := early[2].FailedAt
	e.eventually("the next millisecond of Redis's clock", func() bool { return e.stats().ReadAt.After(last.Add(2 * time.Millisecond)) })
	b := e.newBus(eventbus.Config{})
	e.handle(b, "h", func(context.Context, *eventbus.Event) error { return eventbus.Reject(errOnPurpose) })
	stop := e.start(b)
	e.sendNumbers(2)
	e.dead(5)
	stop()
	require.Zero(e, e.replay(eventbus.FailureFilter{Before: early[0].FailedAt}), "before is before")
	require.EqualValues(e, 3, e.replay(eventbus.FailureFilter{Before: last.Add(time.Millisecond)}))
	require.Equal(e, eventbus.FailureCount{Dead: 2}, e.count())
	// Together with a handler, both must hold.
	require.Zero(e, e.replay(eventbus.FailureFilter{Before: time.Now().Add(time.Hour), Handler: "other"}))
	require.EqualValues(e, 2, e.replay(eventbus.FailureFilter{Before: time.Now().Add(time.Hour), Handler: "h"}))
}

func replayOfRetryingComesAtOnce(e *env) {
	e.create(eventbus.TopicConfig{})
	var well atomic.Bool
	p := e.run("h", func(context.Context, *eventbus.Event) error {
		if well.Load() {
			return nil
		}
		return eventbus.RetryAfter(time.Hour, errOnPurpose)
	})
	e.send(1, 2)
	p.take(2)
	e.eventually("the failures", func() bool { return e.count().Retrying == 2 })
	well.Store(true)
	require.Zero(e, e.replay(eventbus.FailureFilter{All: true}), "by default the dead are meant")
	require.EqualValues(e, 2, e.replay(eventbus.FailureFilter{All: true, State: eventbus.Retrying}))
	p.take(2)
	e.idle()
}

// What fails again is not picked again: 100 that always fail run 100 times.
func replayDoesNotPickWhatFailsAgain(e *env) {
	const n = 500
	e.create(eventbus.TopicConfig{})
	e.fail(n)
	p := e.run("h", func(context.Context, *eventbus.Event) error { return eventbus.Reject(errOnPurpose) })
	require.EqualValues(e, n, e.replay(eventbus.FailureFilter{All: true}))
	p.take(n)
	e.dead(n)
	e.idle()
	p.total(n)
}

func replayTwiceAtOnceDoublesNothing(e *env) {
	const n = 500
	e.create(eventbus.TopicConfig{})
	want := map[string]bool{}
	for _, f := range e.fail(n) {
		want[f.EventID] = true
	}
	var moved atomic.Int64
	var all sync.WaitGroup
	failed := make(chan error, 4)
	for range 4 {
		all.Go(func() {
			m, err := e.bus.Failures().Replay(e.Context(), e.topic, eventbus.FailureFilter{All: true})
			if err != nil {
				failed <- err
			}
			moved.Add(m)
		})
	}
	all.Wait()
	require.Empty(e, failed)
	require.EqualValues(e, n, moved.Load())
	require.EqualValues(e, n, e.stats().Waiting)
	p := e.run("h", nil)
	for _, event := range p.take(n) {
		require.True(e, want[event.ID], "once")
		delete(want, event.ID)
	}
	e.idle()
	p.total(n)
}

func replayRunsOnlyTheHandlerThatFailed(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{})
	fine := e.handle(b, "fine", nil)
	bad := e.handle(b, "bad", func(context.Context, *eventbus.Event) error { return eventbus.Reject(errOnPurpose) })
	e.start(b)
	e.sendNumbers(10)
	e.dead(10)
	require.EqualValues(e, 10, e.replay(eventbus.FailureFilter{All: true}))
	bad.take(20)
	e.dead(10)
	e.idle()
	bad.total(20)
	fine.total(10)
}
