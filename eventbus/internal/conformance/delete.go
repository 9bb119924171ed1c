package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func deletion() []test {
	return []test{
		{"TakesAllThatATopicHolds", deleteTakesAllThatATopicHolds},
		{"WhileAConsumerRuns", deleteWhileAConsumerRuns},
		{"IsNotUndoneByAHandlerThatFails", deleteIsNotUndoneByAHandlerThatFails},
		{"LeavesAListOfTheUsers", deleteLeavesAListOfTheUsers},
		{"LeavesOtherTopicsAlone", deleteLeavesOtherTopicsAlone},
		{"GroupTakesAllThatItHolds", deleteGroupTakesAllThatItHolds},
		{"GroupWhileItRuns", deleteGroupWhileItRuns},
		{"BesideASenderThatMakesTheTopic", deleteBesideASenderThatMakesTheTopic},
		{"EndsReplaysAndDiscardings", deleteEndsReplaysAndDiscardings},
	}
}

// fill gives the topic something in each of its places: waiting, in flight, to
// be retried, dead. What is in flight passes the gate.
func (e *env) fill(g *gate) (stop func()) {
	e.Helper()
	b := e.newBus(eventbus.Config{Concurrency: 1, StopTimeout: -1})
	p := e.handle(b, "h", func(ctx context.Context, event *eventbus.Event) error {
		switch string(event.Payload) {
		case `"dead"`:
			return eventbus.Reject(errOnPurpose)
		case `"retry"`:
			return eventbus.RetryAfter(time.Hour, errOnPurpose)
		}
		return g.pass(ctx, event)
	})
	stop = e.start(b)
	e.send("dead", "retry", "in flight", "waiting")
	p.take(3)
	e.eventually("the failures", func() bool { return e.count() == eventbus.FailureCount{Retrying: 1, Dead: 1} })
	s := e.stats()
	require.EqualValues(e, 1, s.InFlight)
	require.EqualValues(e, 1, s.Waiting)
	return stop
}

func deleteTakesAllThatATopicHolds(e *env) {
	e.create(eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "default"}, {Name: "other"}}})
	e.fill(newGate())() // and a hard stop, which gives back what was in flight
	require.NoError(e, e.bus.Topics().Delete(e.Context(), e.topic))
	require.Empty(e, e.keys(e.topic))
	names, err := e.bus.Topics().List(e.Context())
	require.NoError(e, err)
	require.Empty(e, names)
	require.ErrorIs(e, e.bus.Topics().Delete(e.Context(), e.topic), eventbus.ErrTopicNotFound)
}

func deleteWhileAConsumerRuns(e *env) {
	e.create(eventbus.TopicConfig{})
	g := newGate()
	e.fill(g)
	require.NoError(e, e.bus.Topics().Delete(e.Context(), e.topic))
	_, err := e.bus.Send(e.Context(), e.topic, 1)
	require.ErrorIs(e, err, eventbus.ErrTopicNotFound)

	// The running handler ends as it likes, and brings nothing back.
	close(g.open)
	e.eventually("its keys to be gone", func() bool { return len(e.keys(e.topic)) == 0 })

	// Made anew, it is served again, by the same process.
	e.create(eventbus.TopicConfig{})
	id := e.send("anew")[0]
	for {
		if event := receive(e, g.reached, "the new topic's event"); event.ID == id {
			break
		}
	}
	e.idle()
	require.Zero(e, e.count())
	require.EqualValues(e, 1, e.stats().Sent)
	require.EqualValues(e, 1, e.stats().Done)
}

// Handlers that fail after their topic was deleted leave nothing of it.
func deleteIsNotUndoneByAHandlerThatFails(e *env) {
	for _, delivery := range []eventbus.Delivery{eventbus.AtLeastOnce, eventbus.AtMostOnce} {
		e.topic += "." + string(delivery)
		e.create(eventbus.TopicConfig{Delivery: delivery})
		g := newGate()
		b := e.newBus(eventbus.Config{})
		e.handle(b, "h", func(ctx context.Context, event *eventbus.Event) error {
			if err := g.pass(ctx, event); err != nil {
				return err
			}
			if text(event) == "dead" {
				return eventbus.Reject(errOnPurpose)
			}
			return eventbus.RetryAfter(time.Hour, errOnPurpose)
		})
		pass := e.barrier(b)
		e.start(b)
		e.send("dead", "retry")
		for range 2 {
			receive(e, g.reached, "the handlers")
		}
		require.NoError(e, e.bus.Topics().Delete(e.Context(), e.topic))
		close(g.open)
		pass()
		require.Empty(e, e.keys(e.key("")))
	}
}

func deleteLeavesAListOfTheUsers(e *env) {
	list := "{" + e.topic + "}"
	e.create(eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "default", QueueKey: list}}})
	e.send("kept")
	require.NoError(e, e.bus.Topics().Delete(e.Context(), e.topic))
	require.Equal(e, []string{list}, e.keys(e.topic))
	require.Len(e, e.list(list), 1)
}

func deleteLeavesOtherTopicsAlone(e *env) {
	e.create(eventbus.TopicConfig{})
	// Names that contain the other's, and would match it as a pattern.
	for _, other := range []string{e.topic + ":config", e.topic + "s", "x" + e.topic, e.topic + "/a"} {
		require.NoError(e, e.bus.Topics().Create(e.Context(), other, eventbus.TopicConfig{}))
		_, err := e.bus.Send(e.Context(), other, 1)
		require.NoError(e, err)
		require.NoError(e, e.bus.Topics().Delete(e.Context(), e.topic))
		s, err := e.bus.GroupStats(e.Context(), other)
		require.NoError(e, err)
		require.EqualValues(e, 1, s.Waiting, other)
		e.create(eventbus.TopicConfig{})
	}
}

func deleteGroupTakesAllThatItHolds(e *env) {
	e.create(eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "default"}, {Name: "other"}}})
	e.fill(newGate())()
	require.NoError(e, e.bus.Handlers().Disable(e.Context(), e.topic, "h"))
	require.NoError(e, e.bus.Topics().RemoveGroup(e.Context(), e.topic, "default"))
	require.Empty(e, e.keysOfGroup("default"))
	require.ErrorIs(e, e.bus.Topics().RemoveGroup(e.Context(), e.topic, "default"), eventbus.ErrGroupNotFound)
	_, err := e.bus.GroupStats(e.Context(), e.topic)
	require.ErrorIs(e, err, eventbus.ErrGroupNotFound)
	_, err = e.bus.Failures().List(e.Context(), e.topic, eventbus.FailureQuery{})
	require.ErrorIs(e, err, eventbus.ErrGroupNotFound)

	all, err := e.bus.Stats(e.Context(), e.topic)
	require.NoError(e, err)
	require.Len(e, all, 1)
	require.EqualValues(e, 4, all[0].Waiting, "the other group keeps its events")

	// A group of that name made anew knows nothing of the old one, its handlers'
	// settings included.
	require.NoError(e, e.bus.Topics().AddGroup(e.Context(), e.topic, eventbus.GroupConfig{Name: "default"}))
	require.Zero(e, e.stats().Sent)
	list, err := e.bus.Handlers().List(e.Context(), e.topic)
	require.NoError(e, err)
	require.Empty(e, list)
}

// keysOfGroup lists the keys of the test's topic that belong to a group.
func (e *env) keysOfGroup(group string) []string {
	e.Helper()
	return slices.DeleteFunc(e.keys(e.key("")), func(key string) bool { return !strings.Contains(key, ":"+group) })
}

func deleteGroupWhileItRuns(e *env) {
	e.create(eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "default"}, {Name: "other"}}})
	g := newGate()
	e.fill(g)
	require.NoError(e, e.bus.Topics().RemoveGroup(e.Context(), e.topic, "default"))
	close(g.open)
	e.eventually("its keys to be gone", func() bool { return len(e.keysOfGroup("default")) == 0 })
	e.send("for the other group")
	require.Empty(e, e.keysOfGroup("default"))

	// It is served again when it is added, though the process that runs it stays.
	require.NoError(e, e.bus.Topics().AddGroup(e.Context(), e.topic, eventbus.GroupConfig{Name: "default"}))
	id := e.send("anew")[0]
	for {
		if event := receive(e, g.reached, "the new group's event"); event.ID == id {
			break
		}
	}
}

// Several delete a topic at once, beside a sender that makes it anew: what is sent
// after the last deletion has returned is there, and nothing else has stayed.
func deleteBesideASenderThatMakesTheTopic(e *env) {
	b := e.newBus(eventbus.Config{AutoCreateTopics: true})
	deleted := func(err error) bool {
		return errors.Is(err, eventbus.ErrTopicNotFound) || errors.Is(err, eventbus.ErrTopicDeleting)
	}
	for range 20 {
		var over atomic.Bool
		var sender, deletions sync.WaitGroup
		var sent []string // begun once the deletions were over
		sender.Go(func() {
			for len(sent) < 3 {
				after := over.Load()
				id, err := b.Send(e.Context(), e.topic, 1)
				if err != nil && (after || !deleted(err)) {
					e.Errorf("send: %v", err)
					return
				}
				if after {
					sent = append(sent, id)
				}
			}
		})
		for range 3 {
			deletions.Go(func() {
				if err := e.bus.Topics().Delete(e.Context(), e.topic); err != nil && !errors.Is(err, eventbus.ErrTopicNotFound) {
					e.Errorf("delete: %v", err)
				}
			})
		}
		deletions.Wait()
		over.Store(true)
		sender.Wait()

		names, err := e.bus.Topics().List(e.Context())
		require.NoError(e, err)
		require.Equal(e, []string{e.topic}, names)
		var ids []string
		for _, entry := range e.list(e.key("queue:default")) {
			var event struct{ ID string }
			require.NoError(e, json.Unmarshal([]byte(entry), &event))
			ids = append(ids, event.ID)
		}
		slices.Reverse(ids)
		require.GreaterOrEqual(e, len(ids), 3)
		require.Equal(e, sent, ids[len(ids)-3:])
		require.EqualValues(e, len(ids), e.stats().Sent)
		require.ElementsMatch(e, []string{e.key("config"), e.key("queue:default"), e.key("bell:default"), e.key("counts:default")}, e.keys(e.topic))
	}
	require.NoError(e, e.bus.Topics().Delete(e.Context(), e.topic))
	require.Empty(e, e.keys(e.topic))
}

// Whoever moves a topic's failures while that is deleted hears of it: the others are
// gone, and not moved.
func deleteEndsReplaysAndDiscardings(e *env) {
	const n, step = 450, 200
	topics := e.bus.Topics()
	remove := func() { require.NoError(e, topics.Delete(e.Context(), e.topic)) }
	for name, c := range map[string]struct {
		remove func()
		want   error
	}{
		"deleted":       {remove, eventbus.ErrTopicNotFound},
		"made anew":     {func() { remove(); e.create(eventbus.TopicConfig{}) }, eventbus.ErrTopicNotFound},
		"group removed": {func() { require.NoError(e, topics.RemoveGroup(e.Context(), e.topic, "default")) }, eventbus.ErrGroupNotFound},
	} {
		for verb, move := range map[string]func(context.Context, string, eventbus.FailureFilter) (int64, error){
			"replay": e.bus.Failures().Replay, "discard": e.bus.Failures().Discard,
		} {
			e.create(eventbus.TopicConfig{})
			e.fail(n)
			require.NoError(e, topics.AddGroup(e.Context(), e.topic, eventbus.GroupConfig{Name: "other"}))
			var once sync.Once
			moved, err := move(e.Context(), e.topic, eventbus.FailureFilter{All: true, Progress: func(int64) { once.Do(c.remove) }})
			require.ErrorIs(e, err, c.want, "%s, %s", verb, name)
			require.ErrorContains(e, err, "200 done, then:", "%s, %s", verb, name)
			require.EqualValues(e, step, moved, "%s, %s", verb, name)
			if name != "deleted" {
				remove()
			}
		}
	}
}
