package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func topics() []test {
	return []test{
		{"IsReadAsItWasMade", topicIsReadAsItWasMade},
		{"IsMadeOnce", topicIsMadeOnce},
		{"SettingsAreChecked", topicSettingsAreChecked},
		{"AgesAreWholeMilliseconds", agesAreWholeMilliseconds},
		{"UpdatesHaveARevision", topicUpdatesHaveARevision},
		{"UnknownIsAnErrorEverywhere", unknownTopicIsAnErrorEverywhere},
		{"DisableHoldsAtOnce", disableHoldsAtOnce},
		{"DisableHoldsWithoutANotice", disableHoldsWithoutANotice},
		{"StartsDisabled", topicStartsDisabled},
		{"FullRefusesForAllGroups", fullTopicRefusesForAllGroups},
		{"FullTakesWhatFits", fullTopicTakesWhatFits},
		{"ConcurrencyIsLimited", topicConcurrencyIsLimited},
		{"DeliveryChangesAtRunTime", deliveryChangesAtRunTime},
	}
}

func topicIsReadAsItWasMade(e *env) {
	e.create(eventbus.TopicConfig{})
	got, err := e.bus.Topics().Get(e.Context(), e.topic)
	require.NoError(e, err)
	require.WithinDuration(e, time.Now(), got.Created, time.Minute)
	require.Equal(e, got.Created.UnixMilli(), got.Revision, "a topic made anew goes on from where the former one cannot have been")
	got.Created = time.Time{}
	require.Equal(e, eventbus.Topic{Name: e.topic, Revision: got.Revision, TopicConfig: eventbus.TopicConfig{
		Delivery: eventbus.AtLeastOnce, Wire: eventbus.WireCloudEvents,
		DeadLimit: eventbus.DefaultDeadLimit, DeadAge: eventbus.DefaultDeadAge,
		Groups: []eventbus.GroupConfig{{Name: "default"}},
	}}, got)

	full := eventbus.TopicConfig{
		Delivery: eventbus.AtMostOnce, Wire: eventbus.WireRaw, MaxWaiting: 1, Concurrency: 2, DeadLimit: -1, DeadAge: -1,
		Groups: []eventbus.GroupConfig{{Name: "a"}, {Name: "b", QueueKey: "{" + e.topic + ".full}"}}, Disabled: true,
	}
	require.NoError(e, e.bus.Topics().Create(e.Context(), e.topic+".full", full))
	got, err = e.bus.Topics().Get(e.Context(), e.topic+".full")
	require.NoError(e, err)
	require.Equal(e, full, got.TopicConfig)

	names, err := e.bus.Topics().List(e.Context())
	require.NoError(e, err)
	require.Equal(e, []string{e.topic, e.topic + ".full"}, names)
}

func topicIsMadeOnce(e *env) {
	e.create(eventbus.TopicConfig{MaxWaiting: 5})
	err := e.bus.Topics().Create(e.Context(), e.topic, eventbus.TopicConfig{MaxWaiting: 7})
	require.ErrorIs(e, err, eventbus.ErrTopicExists)
	got, err := e.bus.Topics().Get(e.Context(), e.topic)
	require.NoError(e, err)
	require.EqualValues(e, 5, got.MaxWaiting, "it stays as it was")

	// Of many at once, one makes it.
	var made atomic.Int64
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if e.bus.Topics().Create(e.Context(), e.topic+".other", eventbus.TopicConfig{}) == nil {
				made.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(e, 1, made.Load())
}

func topicSettingsAreChecked(e *env) {
	for field, cfg := range map[string]eventbus.TopicConfig{
		"Delivery":       {Delivery: "twice"},
		"Wire":           {Wire: "xml"},
		"MaxWaiting":     {MaxWaiting: -1},
		"Concurrency":    {Concurrency: -1},
		"DeadLimit":      {DeadLimit: -2},
		"DeadAge":        {DeadAge: -2},
		"Groups[1].Name": {Groups: []eventbus.GroupConfig{{Name: "a"}, {Name: "b c"}}},
		"Groups[2].Name": {Groups: []eventbus.GroupConfig{{Name: "a"}, {Name: "b"}, {Name: "a"}}},
	} {
		err := e.bus.Topics().Create(e.Context(), e.topic, cfg)
		require.ErrorIs(e, err, eventbus.ErrInvalidArgument, field)
		var argument *eventbus.ArgumentError
		require.ErrorAs(e, err, &argument)
		require.Equal(e, field, argument.Field)
	}
	require.Empty(e, e.keys(e.topic))

	e.create(eventbus.TopicConfig{})
	bad, negative := eventbus.Delivery("twice"), int64(-1)
	_, err := e.bus.Topics().Update(e.Context(), e.topic, eventbus.TopicUpdate{Delivery: &bad, MaxWaiting: &negative})
	require.ErrorIs(e, err, eventbus.ErrInvalidArgument)
	require.ErrorContains(e, err, "Delivery")
	require.ErrorContains(e, err, "MaxWaiting", "all that is wrong is told")
}

// An age too short to be stored must not become the 0 that stands for no limit.
func agesAreWholeMilliseconds(e *env) {
	for age, want := range map[time.Duration]time.Duration{
		1: time.Millisecond, 500 * time.Microsecond: time.Millisecond, time.Second + 1: time.Second + time.Millisecond, -1: -1,
	} {
		topic := fmt.Sprintf("%s.%d", e.topic, age)
		require.NoError(e, e.bus.Topics().Create(e.Context(), topic, eventbus.TopicConfig{DeadAge: age}))
		got, err := e.bus.Topics().Get(e.Context(), topic)
		require.NoError(e, err)
		require.Equal(e, want, got.DeadAge, "created with %v", age)
		_, err = e.bus.Topics().Update(e.Context(), topic, eventbus.TopicUpdate{DeadAge: &age})
		require.NoError(e, err)
		got, err = e.bus.Topics().Get(e.Context(), topic)
		require.NoError(e, err)
		require.Equal(e, want, got.DeadAge, "changed to %v", age)
	}
	for _, age := range []time.Duration{-2, -time.Microsecond, -time.Millisecond, math.MinInt64, math.MaxInt64} {
		require.ErrorIs(e, e.bus.Topics().Create(e.Context(), e.topic, eventbus.TopicConfig{DeadAge: age}), eventbus.ErrInvalidArgument, age)
	}
}

func topicUpdatesHaveARevision(e *env) {
	e.create(eventbus.TopicConfig{})
	two, three := int64(2), int64(3)
	before, err := e.bus.Topics().Get(e.Context(), e.topic)
	require.NoError(e, err)
	first := before.Revision
	revision, err := e.bus.Topics().Update(e.Context(), e.topic, eventbus.TopicUpdate{MaxWaiting: &two, IfRevision: first})
	require.NoError(e, err)
	require.Equal(e, first+1, revision)
	_, err = e.bus.Topics().Update(e.Context(), e.topic, eventbus.TopicUpdate{MaxWaiting: &three, IfRevision: first})
	require.ErrorIs(e, err, eventbus.ErrConflict)
	got, err := e.bus.Topics().Get(e.Context(), e.topic)
	require.NoError(e, err)
	require.EqualValues(e, 2, got.MaxWaiting)
	require.Equal(e, first+1, got.Revision)
	revision, err = e.bus.Topics().Update(e.Context(), e.topic, eventbus.TopicUpdate{IfRevision: first + 1})
	require.NoError(e, err)
	require.Equal(e, first+1, revision, "nothing was changed")
	_, err = e.bus.Topics().Update(e.Context(), e.topic, eventbus.TopicUpdate{IfRevision: first})
	require.ErrorIs(e, err, eventbus.ErrConflict)

	none, age := int64(-1), time.Duration(-1)
	_, err = e.bus.Topics().Update(e.Context(), e.topic, eventbus.TopicUpdate{DeadLimit: &none, DeadAge: &age})
	require.NoError(e, err)
	got, err = e.bus.Topics().Get(e.Context(), e.topic)
	require.NoError(e, err)
	require.EqualValues(e, -1, got.DeadLimit)
	require.EqualValues(e, -1, got.DeadAge)
	require.EqualValues(e, 2, got.MaxWaiting, "what is not named stays")
}

func unknownTopicIsAnErrorEverywhere(e *env) {
	ctx, b := e.Context(), e.bus
	all := map[string]func() error{
		"Topics.Get":         func() error { _, err := b.Topics().Get(ctx, e.topic); return err },
		"Topics.Update":      func() error { _, err := b.Topics().Update(ctx, e.topic, eventbus.TopicUpdate{}); return err },
		"Topics.Enable":      func() error { return b.Topics().Enable(ctx, e.topic) },
		"Topics.Disable":     func() error { return b.Topics().Disable(ctx, e.topic) },
		"Topics.Delete":      func() error { return b.Topics().Delete(ctx, e.topic) },
		"Topics.AddGroup":    func() error { return b.Topics().AddGroup(ctx, e.topic, eventbus.GroupConfig{Name: "g"}) },
		"Topics.RemoveGroup": func() error { return b.Topics().RemoveGroup(ctx, e.topic, "g") },
		"Handlers.List":      func() error { _, err := b.Handlers().List(ctx, e.topic); return err },
		"Handlers.Enable":    func() error { return b.Handlers().Enable(ctx, e.topic, "h") },
		"Handlers.Reset":     func() error { return b.Handlers().Reset(ctx, e.topic, "h") },
		"Failures.List":      func() error { _, err := b.Failures().List(ctx, e.topic, eventbus.FailureQuery{}); return err },
		"Failures.Count":     func() error { _, err := b.Failures().Count(ctx, e.topic); return err },
		"Failures.Replay": func() error {
			_, err := b.Failures().Replay(ctx, e.topic, eventbus.FailureFilter{All: true})
			return err
		},
		"Stats": func() error { _, err := b.Stats(ctx, e.topic); return err },
		"Send":  func() error { _, err := b.Send(ctx, e.topic, 1); return err },
		"Run": func() error {
			b := e.newBus(eventbus.Config{})
			e.handle(b, "h", nil)
			return e.runError(b)
		},
	}
	for name, call := range all {
		require.ErrorIs(e, call(), eventbus.ErrTopicNotFound, name)
	}
	require.Empty(e, e.keys(e.topic))
}

// Once Disable has returned, no send succeeds and nothing more is handed out;
// what waits stays.
func disableHoldsAtOnce(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{Concurrency: 8})
	var off, late atomic.Bool
	p := e.handle(b, "h", func(ctx context.Context, _ *eventbus.Event) error {
		if off.Load() {
			late.Store(true)
		}
		return nil
	}, eventbus.HandleConfig{Concurrency: 1})
	pass := e.barrier(b)
	e.start(b)
	e.sendNumbers(300)
	p.next()
	require.NoError(e, e.bus.Topics().Disable(e.Context(), e.topic))
	_, err := e.bus.Send(e.Context(), e.topic, 1)
	require.ErrorIs(e, err, eventbus.ErrTopicDisabled)

	// What was handed out before ends.
	e.eventually("what runs to end", func() bool { return e.stats().InFlight == 0 })
	off.Store(true)
	waiting := e.stats().Waiting
	require.Positive(e, waiting, "the consumer was too fast for this test to say anything")
	pass()
	require.Equal(e, waiting, e.stats().Waiting)
	require.False(e, late.Load())
	require.False(e, e.stats().Enabled)

	off.Store(false)
	require.NoError(e, e.bus.Topics().Enable(e.Context(), e.topic))
	e.send(1)
	e.idle()
	p.total(301)
}

// disableSilently switches the test's topic off in Redis, without the notice by
// which processes learn of it.
func (e *env) disableSilently(ctx context.Context) error {
	return errors.Join(
		e.rdb.HSet(ctx, e.key("config"), "enabled", 0).Err(),
		e.rdb.HIncrBy(ctx, e.key("config"), "rev", 1).Err(),
	)
}

// The switch works in Redis: a process that does not know of it yet is handed
// nothing all the same.
func disableHoldsWithoutANotice(e *env) {
	for _, delivery := range []eventbus.Delivery{eventbus.AtLeastOnce, eventbus.AtMostOnce} {
		e.topic += "." + string(delivery)
		e.create(eventbus.TopicConfig{Concurrency: 1, Delivery: delivery})
		g := newGate()
		b := e.newBus(eventbus.Config{})
		p := e.handle(b, "h", g.pass)
		pass := e.barrier(b)
		e.sendNumbers(3)
		e.start(b)
		p.next()
		require.NoError(e, e.disableSilently(e.Context()))
		close(g.open)
		pass()
		p.total(1)
		require.EqualValues(e, 2, e.stats().Waiting)
		require.NoError(e, e.bus.Topics().Enable(e.Context(), e.topic))
		p.take(2)
	}
}

func topicStartsDisabled(e *env) {
	e.create(eventbus.TopicConfig{Disabled: true})
	p := e.run("h", nil)
	_, err := e.bus.Send(e.Context(), e.topic, 1)
	require.ErrorIs(e, err, eventbus.ErrTopicDisabled)
	require.NoError(e, e.bus.Topics().Enable(e.Context(), e.topic))
	e.send(1)
	p.next()
}

func fullTopicRefusesForAllGroups(e *env) {
	e.create(eventbus.TopicConfig{MaxWaiting: 3, Groups: []eventbus.GroupConfig{{Name: "default"}, {Name: "idle"}}})
	p := e.run("h", nil)
	e.sendNumbers(3)
	p.take(3)
	e.eventually("the running group to be done", func() bool { return e.stats().Done == 3 })

	// The group that nobody runs is full. Nothing is sent to the other one either.
	_, err := e.bus.Send(e.Context(), e.topic, 1)
	require.ErrorIs(e, err, eventbus.ErrTopicFull)
	require.ErrorContains(e, err, `"idle"`, "which group is full")
	all, err := e.bus.Stats(e.Context(), e.topic)
	require.NoError(e, err)
	for _, s := range all {
		require.EqualValues(e, 3, s.Sent, s.Group)
	}
	e.idle("default")
	p.total(3)

	// Where it has room for some of a batch, none of it is sent.
	five := int64(5)
	_, err = e.bus.Topics().Update(e.Context(), e.topic, eventbus.TopicUpdate{MaxWaiting: &five})
	require.NoError(e, err)
	_, err = e.bus.SendBatch(e.Context(), e.topic, numbers(3))
	require.ErrorIs(e, err, eventbus.ErrTopicFull)
	e.sendNumbers(2)
	p.take(2)
}

func fullTopicTakesWhatFits(e *env) {
	e.create(eventbus.TopicConfig{MaxWaiting: 7})
	// Sends that share a call are refused each for itself.
	var sent, full atomic.Int64
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			switch _, err := e.bus.Send(e.Context(), e.topic, 1); {
			case err == nil:
				sent.Add(1)
			default:
				full.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(e, 7, sent.Load())
	require.EqualValues(e, 33, full.Load())
	require.EqualValues(e, 7, e.stats().Waiting)
}

func topicConcurrencyIsLimited(e *env) {
	e.create(eventbus.TopicConfig{Concurrency: 2})
	g := newGate()
	b := e.newBus(eventbus.Config{})
	p := e.handle(b, "h", g.pass)
	pass := e.barrier(b)
	e.start(b)
	e.sendNumbers(5)
	p.take(2)
	pass()
	p.total(2)
	three := 3
	_, err := e.bus.Topics().Update(e.Context(), e.topic, eventbus.TopicUpdate{Concurrency: &three})
	require.NoError(e, err)
	p.next()
	pass()
	p.total(3)
	close(g.open)
	e.idle()
	p.total(5)
}

func deliveryChangesAtRunTime(e *env) {
	e.create(eventbus.TopicConfig{})
	p := e.run("h", nil)
	for _, delivery := range []eventbus.Delivery{eventbus.AtMostOnce, eventbus.AtLeastOnce, eventbus.AtMostOnce} {
		e.sendNumbers(10)
		_, err := e.bus.Topics().Update(e.Context(), e.topic, eventbus.TopicUpdate{Delivery: &delivery})
		require.NoError(e, err)
		e.sendNumbers(10)
		p.take(20)
	}
	e.idle()
	p.total(60)
}
