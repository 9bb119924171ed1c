package conformance

import (
	"context"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func groups() []test {
	return []test{
		{"GetsWhatIsSentLater", newGroupGetsWhatIsSentLater},
		{"JoinsWhenItRuns", groupJoinsWhenItRuns},
		{"FailuresAreItsOwn", failuresAreAGroupsOwn},
		{"IsAddedOnce", groupIsAddedOnce},
		{"WaitsWhileNobodyRunsIt", groupWaitsWhileNobodyRunsIt},
	}
}

func newGroupGetsWhatIsSentLater(e *env) {
	e.create(eventbus.TopicConfig{})
	e.send(1, 2, 3)
	require.NoError(e, e.bus.Topics().AddGroup(e.Context(), e.topic, eventbus.GroupConfig{Name: "late"}))
	later := e.send(4, 5)
	b := e.newBus(eventbus.Config{Group: "late", Concurrency: 1})
	p := e.handle(b, "h", nil)
	e.start(b)
	require.Equal(e, later, ids(p.take(2)))
	e.idle("late")
	p.total(2)
	require.EqualValues(e, 5, e.stats().Waiting)
}

func groupJoinsWhenItRuns(e *env) {
	e.create(eventbus.TopicConfig{})
	e.send(1)
	b := e.newBus(eventbus.Config{Group: "joins"})
	p := e.handle(b, "h", nil)
	e.start(b)
	id := e.send(2)[0]
	require.Equal(e, id, p.next().ID)
	got, err := e.bus.Topics().Get(e.Context(), e.topic)
	require.NoError(e, err)
	require.Equal(e, []eventbus.GroupConfig{{Name: "default"}, {Name: "joins"}}, got.Groups)
}

func failuresAreAGroupsOwn(e *env) {
	e.create(eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "default"}, {Name: "other"}}})
	e.run("h", func(context.Context, *eventbus.Event) error { return eventbus.Reject(errOnPurpose) })
	b := e.newBus(eventbus.Config{Group: "other"})
	other := e.handle(b, "h", nil)
	e.start(b)
	e.send(1)
	e.dead(1)
	other.next()
	e.idle()
	n, err := b.Failures().Count(e.Context(), e.topic)
	require.NoError(e, err)
	require.Zero(e, n)

	// A replay is for the group that failed.
	require.EqualValues(e, 1, e.replay(eventbus.FailureFilter{All: true}))
	e.dead(1)
	e.idle()
	other.total(1)
}

func groupIsAddedOnce(e *env) {
	e.create(eventbus.TopicConfig{})
	require.NoError(e, e.bus.Topics().AddGroup(e.Context(), e.topic, eventbus.GroupConfig{Name: "g"}))
	err := e.bus.Topics().AddGroup(e.Context(), e.topic, eventbus.GroupConfig{Name: "g", QueueKey: "{" + e.topic + "}:x"})
	require.ErrorIs(e, err, eventbus.ErrGroupExists)
	got, err := e.bus.Topics().Get(e.Context(), e.topic)
	require.NoError(e, err)
	require.Equal(e, []eventbus.GroupConfig{{Name: "default"}, {Name: "g"}}, got.Groups)
}

func groupWaitsWhileNobodyRunsIt(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{})
	p := e.handle(b, "h", nil)
	stop := e.start(b)
	first := e.send(1)[0]
	require.Equal(e, first, p.next().ID)
	stop()
	sent := e.send(2, 3, 4)
	b = e.newBus(eventbus.Config{Concurrency: 1})
	p = e.handle(b, "h", nil)
	e.start(b)
	require.Equal(e, sent, ids(p.take(3)))
}
