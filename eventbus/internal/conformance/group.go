package conformance

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func groups() []test {
	return []test{
		{"GetsWhatIsSentLater", newGroupGetsWhatIsSentLater},
		{"JoinsWhenItRuns", groupJoinsWhenItRuns},
		{"FailuresAreItsOwn", failuresAreAGroupsOwn},
		{"IsAddedOnce", groupIsAddedOnce},
		{"AreBounded", groupsAreBounded},
		{"WaitsWhileNobodyRunsIt", groupWaitsWhileNobodyRunsIt},
		{"IsAdministeredFromAnother", groupIsAdministeredFromAnother},
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

func groupsAreBounded(e *env) {
	many := func(n int) (groups []eventbus.GroupConfig) {
		for i := range n {
			groups = append(groups, eventbus.GroupConfig{Name: fmt.Sprint("g", i)})
		}
		return groups
	}
	for _, n := range []int{1001, 20_000} {
		err := e.bus.Topics().Create(e.Context(), e.topic, eventbus.TopicConfig{Groups: many(n)})
		require.ErrorIs(e, err, eventbus.ErrInvalidArgument, n)
		require.ErrorContains(e, err, "at most 1000")
	}
	require.Empty(e, e.keys(e.topic))

	// Of several that are added at once none is too many.
	e.create(eventbus.TopicConfig{Groups: many(995)})
	answers := make([]error, 10)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			answers[i] = e.bus.Topics().AddGroup(e.Context(), e.topic, eventbus.GroupConfig{Name: fmt.Sprint("late", i)})
		})
	}
	all.Wait()
	added := 0
	for _, err := range answers {
		if err == nil {
			added++
			continue
		}
		require.ErrorIs(e, err, eventbus.ErrInvalidArgument)
		require.ErrorContains(e, err, "at most 1000")
	}
	require.Equal(e, 5, added)
	require.ErrorIs(e, e.bus.Topics().AddGroup(e.Context(), e.topic, eventbus.GroupConfig{Name: "g1"}), eventbus.ErrGroupExists)
	require.NoError(e, e.bus.Topics().RemoveGroup(e.Context(), e.topic, "g1"))
	require.NoError(e, e.bus.Topics().AddGroup(e.Context(), e.topic, eventbus.GroupConfig{Name: "last"}))
	e.send(1)
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

func groupIsAdministeredFromAnother(e *env) {
	e.create(eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "default"}, {Name: "other"}}})
	b := e.newBus(eventbus.Config{Group: "other"})
	e.handle(b, "h", func(context.Context, *eventbus.Event) error { return eventbus.Reject(errOnPurpose) })
	e.start(b)
	sent := e.send(1, 2, 3)
	failures := e.bus.Failures().InGroup("other")
	e.eventually("three are dead in the other group", func() bool {
		n, err := failures.Count(e.Context(), e.topic)
		require.NoError(e, err)
		return n.Dead == 3
	})
	require.Zero(e, e.count())
	page, err := failures.List(e.Context(), e.topic, eventbus.FailureQuery{})
	require.NoError(e, err)
	require.Len(e, page.Failures, 3)
	one, err := failures.Get(e.Context(), e.topic, page.Failures[0].ID)
	require.NoError(e, err)
	require.Equal(e, "other", one.Group)
	require.Equal(e, "other", one.Event.Group)
	require.Contains(e, sent, one.EventID)
	var told []int64
	n, err := failures.Discard(e.Context(), e.topic, eventbus.FailureFilter{All: true, Progress: func(n int64) { told = append(told, n) }})
	require.NoError(e, err)
	require.EqualValues(e, 3, n)
	require.Equal(e, []int64{3}, told)

	handlers := e.bus.Handlers().InGroup("other")
	timeout := 7 * time.Second
	_, err = handlers.Update(e.Context(), e.topic, "h", eventbus.HandlerUpdate{Timeout: &timeout})
	require.NoError(e, err)
	require.NoError(e, handlers.Disable(e.Context(), e.topic, "h"))
	e.eventually("the other group's handler follows", func() bool {
		got, err := handlers.Get(e.Context(), e.topic, "h")
		require.NoError(e, err)
		return got.Settings.Timeout == timeout && !got.Settings.Enabled
	})
	require.NoError(e, handlers.Reset(e.Context(), e.topic, "h"))
	own, err := e.bus.Handlers().List(e.Context(), e.topic)
	require.NoError(e, err)
	require.Empty(e, own)

	id := e.later("x", time.Hour)
	delayed, err := e.bus.Delayed().InGroup("other").List(e.Context(), e.topic, eventbus.DelayedQuery{})
	require.NoError(e, err)
	require.Len(e, delayed.Events, 1)
	require.Equal(e, id, delayed.Events[0].ID)

	for what, err := range map[string]error{
		"failures": second(e.bus.Failures().InGroup("none").Count(e.Context(), e.topic)),
		"handlers": second(e.bus.Handlers().InGroup("none").List(e.Context(), e.topic)),
		"update":   second(e.bus.Handlers().InGroup("a|b").Update(e.Context(), e.topic, "h", eventbus.HandlerUpdate{Timeout: &timeout})),
		"reset":    e.bus.Handlers().InGroup("").Reset(e.Context(), e.topic, "h"),
		"removal":  e.bus.Topics().RemoveGroup(e.Context(), e.topic, "none"),
		"delayed":  second(e.bus.Delayed().InGroup("none").List(e.Context(), e.topic, eventbus.DelayedQuery{})),
	} {
		require.ErrorIs(e, err, eventbus.ErrGroupNotFound, what)
		require.ErrorContains(e, err, "topic \""+e.topic+"\"", what)
		require.ErrorContains(e, err, "group not found; the topic has: default, other", what)
	}
}
