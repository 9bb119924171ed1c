package conformance

import (
	"context"
	"os"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func figures() []test {
	return []test{
		{"TellWhereEventsAre", figuresTellWhereEventsAre},
		{"AddUpAfterCancels", figuresAddUpAfterCancels},
		{"OfAGroupAreItsOwn", figuresOfAGroupAreItsOwn},
		{"ConsumersAreListed", consumersAreListed},
		{"HealthFollowsTheBus", healthFollowsTheBus},
	}
}

func figuresTellWhereEventsAre(e *env) {
	e.create(eventbus.TopicConfig{})
	require.Zero(e, e.stats().OldestAge)
	e.send("dead", "retry", "good", "in flight", "waiting")
	s := e.stats()
	require.Equal(e, e.topic, s.Topic)
	require.Equal(e, "default", s.Group)
	require.True(e, s.Enabled)
	require.EqualValues(e, 5, s.Waiting)
	require.EqualValues(e, 5, s.Sent)
	require.WithinDuration(e, time.Now(), s.ReadAt, time.Minute)
	e.eventually("the oldest to age", func() bool { return e.stats().OldestAge > 0 })

	g := newGate()
	b := e.newBus(eventbus.Config{Concurrency: 1})
	p := e.handle(b, "h", func(ctx context.Context, event *eventbus.Event) error {
		switch text(event) {
		case "dead":
			return eventbus.Reject(errOnPurpose)
		case "retry":
			return eventbus.RetryAfter(time.Hour, errOnPurpose)
		case "in flight":
			return g.pass(ctx, event)
		}
		return nil
	})
	e.start(b)
	p.take(4)
	e.eventually("what has ended to be written", func() bool {
		s = e.stats()
		s.OldestAge, s.ReadAt = 0, time.Time{}
		return s == eventbus.Stats{
			Topic: e.topic, Group: "default", Enabled: true,
			Waiting: 1, InFlight: 1, Retrying: 1, Dead: 1,
			Sent: 5, Done: 1, Failed: 2, Died: 1,
		}
	})
	close(g.open)
	p.next()
	require.EqualValues(e, 1, e.replay(eventbus.FailureFilter{All: true}))
	p.next()
	e.dead(1)
	_, err := e.bus.Failures().Discard(e.Context(), e.topic, eventbus.FailureFilter{All: true})
	require.NoError(e, err)
	e.eventually("the totals", func() bool {
		s = e.stats()
		s.OldestAge, s.ReadAt = 0, time.Time{}
		return s == eventbus.Stats{
			Topic: e.topic, Group: "default", Enabled: true, Retrying: 1,
			Sent: 5, Done: 3, Failed: 3, Died: 2, Replayed: 1, Discarded: 1,
		}
	})
}

// What was sent is done, or was cancelled, in each group by itself.
func figuresAddUpAfterCancels(e *env) {
	e.create(eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "a"}, {Name: "default"}}})
	e.run("h", nil)
	for range 2 { // two events of one id count twice
		_, err := e.bus.Send(e.Context(), e.topic, 1, eventbus.WithDelay(time.Hour), eventbus.WithID("twice"))
		require.NoError(e, err)
	}
	e.send("done", "done")
	gone := e.later("cancelled", time.Hour)
	require.EqualValues(e, 0, e.stats().Cancelled)
	for _, id := range []string{gone, "twice"} {
		groups, err := e.bus.Delayed().Cancel(e.Context(), e.topic, id)
		require.NoError(e, err)
		require.Equal(e, []string{"a", "default"}, groups)
		_, err = e.bus.Delayed().Cancel(e.Context(), e.topic, id)
		require.ErrorIs(e, err, eventbus.ErrNotDelayed)
	}
	e.idle("default")
	all, err := e.bus.Stats(e.Context(), e.topic)
	require.NoError(e, err)
	require.Len(e, all, 2)
	for _, s := range all {
		require.EqualValues(e, 3, s.Cancelled)
		require.EqualValues(e, 5, s.Sent)
		require.Zero(e, s.Delayed)
		require.Equal(e, s.Sent, s.Done+s.Cancelled+s.Waiting)
	}
}

func figuresOfAGroupAreItsOwn(e *env) {
	e.create(eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "a"}, {Name: "default"}}})
	e.run("h", nil)
	e.sendNumbers(3)
	e.idle("default")
	all, err := e.bus.Stats(e.Context(), e.topic)
	require.NoError(e, err)
	require.Len(e, all, 2)
	require.Equal(e, "a", all[0].Group)
	require.EqualValues(e, 3, all[0].Waiting)
	require.Zero(e, all[0].Done)
	require.Equal(e, "default", all[1].Group)
	require.Zero(e, all[1].Waiting)
	require.EqualValues(e, 3, all[1].Done)
	_, err = e.newBus(eventbus.Config{Group: "none"}).GroupStats(e.Context(), e.topic)
	require.ErrorIs(e, err, eventbus.ErrGroupNotFound)
}

func consumersAreListed(e *env) {
	e.create(eventbus.TopicConfig{})
	list, err := e.bus.Consumers(e.Context())
	require.NoError(e, err)
	require.Empty(e, list)

	b := e.newBus(eventbus.Config{Group: "g", Lease: time.Minute})
	e.handle(b, "first", nil)
	e.handle(b, "second", nil, eventbus.HandleConfig{Timeout: time.Second})
	before := time.Now().Add(-time.Second)
	stop := e.start(b)
	e.start(func() *eventbus.Bus {
		b := e.newBus(eventbus.Config{})
		e.handle(b, "h", nil)
		return b
	}())
	list, err = e.bus.Consumers(e.Context())
	require.NoError(e, err)
	require.Len(e, list, 2)
	c := list[0]
	if c.Group != "g" {
		c = list[1]
	}
	host, err := os.Hostname()
	require.NoError(e, err)
	require.NotEmpty(e, c.ID)
	require.Equal(e, "g", c.Group)
	require.Equal(e, host, c.Host)
	require.Equal(e, os.Getpid(), c.PID)
	require.False(e, c.Expired)
	require.WithinRange(e, c.Started, before, time.Now().Add(time.Second))
	require.WithinRange(e, c.Expires, time.Now().Add(20*time.Second), time.Now().Add(2*time.Minute))
	require.Len(e, c.Handlers, 1)
	handlers := c.Handlers[e.topic]
	require.Len(e, handlers, 2)
	require.Equal(e, "first", handlers[0].ID, "in the order in which they run")
	require.Equal(e, "second", handlers[1].ID)
	require.Equal(e, time.Second, handlers[1].Settings.Timeout)
	require.Equal(e, eventbus.DefaultMaxAttempts, handlers[1].Settings.MaxAttempts)

	stop()
	list, err = e.bus.Consumers(e.Context())
	require.NoError(e, err)
	require.Len(e, list, 1, "who stops leaves the list")
}

func healthFollowsTheBus(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{})
	e.handle(b, "h", nil)
	require.NoError(e, b.Health(e.Context()))
	require.NoError(e, b.Ready(e.Context()))
	e.start(b)
	require.NoError(e, b.Health(e.Context()))
	require.NoError(e, b.Close())
	require.ErrorIs(e, b.Health(e.Context()), eventbus.ErrClosed)
	require.ErrorIs(e, b.Ready(e.Context()), eventbus.ErrClosed)
}
