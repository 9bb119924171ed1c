package conformance

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func delayed() []test {
	return []test{
		{"ComesWhenItIsDue", delayedComesWhenDue},
		{"ShortOnesDoNotWaitForLongOnes", delayedShortBeforeLong},
		{"OfThePastComesAtOnce", delayedOfThePast},
		{"WrongTimeIsRefused", delayedWrongTimeIsRefused},
		{"PayloadAndAttributesArriveWhole", delayedArrivesWhole},
		{"BatchIsAllOrNothing", delayedBatch},
		{"ReachesEachGroupOnce", delayedReachesEachGroup},
		{"OrderOfAMillisecondIsThatOfSending", delayedOrder},
		{"IsCancelledOrDelivered", delayedIsCancelledOrDelivered},
		{"CancelOfWhatIsNotThereIsAnError", delayedCancelOfNothing},
		{"IsListedInPages", delayedIsListed},
		{"OfADisabledTopicWaits", delayedOfADisabledTopic},
		{"OfARawTopicIsBare", delayedOfARawTopic},
		{"OfAtMostOnceComes", delayedOfAtMostOnce},
		{"OfAQueueOfTheUsersComes", delayedOfAQueueKey},
		{"OfAQueueOfTheUsersStays", delayedOfAQueueKeyStays},
		{"ReachesNoLaterGroup", delayedReachesNoLaterGroup},
		{"IsRetriedAsOthersAre", delayedIsRetried},
		{"FullIsAnError", delayedFull},
		{"OrderListIsKeptWhereItIsWanted", delayedOrderList},
	}
}

// later sends a value to the test's topic with a delay, and returns its id.
func (e *env) later(value any, d time.Duration) string {
	e.Helper()
	id, err := e.bus.Send(e.Context(), e.topic, value, eventbus.WithDelay(d))
	require.NoError(e, err)
	return id
}

// redisNow is the server's time.
func (e *env) redisNow() time.Time {
	e.Helper()
	now, err := e.rdb.Time(e.Context()).Result()
	require.NoError(e, err)
	return now
}

func delayedComesWhenDue(e *env) {
	e.create(eventbus.TopicConfig{})
	var mu sync.Mutex
	came := map[string]time.Time{}
	p := e.run("h", func(_ context.Context, event *eventbus.Event) error {
		now, err := e.rdb.Time(context.Background()).Result()
		mu.Lock()
		defer mu.Unlock()
		came[event.ID] = now
		return err
	})
	due := map[string]time.Time{}
	for i := range 10 {
		d := time.Duration(i) * 37 * time.Millisecond
		sent := e.redisNow()
		due[e.later(i, d)] = sent.Add(d)
		at := e.redisNow().Add(d).Truncate(time.Millisecond)
		id, err := e.bus.Send(e.Context(), e.topic, i, eventbus.WithDueAt(at))
		require.NoError(e, err)
		due[id] = at
	}
	p.take(len(due))
	e.idle()
	mu.Lock()
	defer mu.Unlock()
	for id, at := range due {
		require.False(e, came[id].Before(at), "event %s came %v early", id, at.Sub(came[id]))
	}
	require.Zero(e, e.stats().Delayed)
	require.True(e, e.stats().NextDue.IsZero())
}

func delayedShortBeforeLong(e *env) {
	e.create(eventbus.TopicConfig{})
	p := e.run("h", nil)
	hour := e.later("an hour", time.Hour)
	long := e.later("long", 800*time.Millisecond)
	short := e.later("short", 100*time.Millisecond)
	require.Equal(e, short, p.take(1)[0].ID)
	require.Equal(e, long, p.take(1)[0].ID)
	s := e.stats()
	require.EqualValues(e, 1, s.Delayed)
	require.InDelta(e, time.Hour, s.NextDue.Sub(s.ReadAt), float64(patience))
	groups, err := e.bus.Delayed().Cancel(e.Context(), e.topic, hour)
	require.NoError(e, err)
	require.Equal(e, []string{"default"}, groups)
}

func delayedOfThePast(e *env) {
	e.create(eventbus.TopicConfig{})
	p := e.run("h", nil)
	for _, option := range []eventbus.SendOption{
		eventbus.WithDelay(0), eventbus.WithDelay(-1), eventbus.WithDelay(math.MinInt64), eventbus.WithDueAt(time.Time{}),
		eventbus.WithDueAt(time.Unix(0, 0)), eventbus.WithDueAt(time.UnixMilli(100_000_000_000)), eventbus.WithDueAt(time.Now().Add(-time.Hour)), eventbus.WithDueAt(time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC)),
	} {
		id, err := e.bus.Send(e.Context(), e.topic, "x", option)
		require.NoError(e, err)
		require.Equal(e, id, p.take(1)[0].ID)
	}
}

func delayedWrongTimeIsRefused(e *env) {
	e.create(eventbus.TopicConfig{})
	for name, options := range map[string][]eventbus.SendOption{
		"delay":           {eventbus.WithDelay(eventbus.MaxDelay + 1)},
		"greatest delay":  {eventbus.WithDelay(math.MaxInt64)},
		"time":            {eventbus.WithDueAt(time.Now().AddDate(11, 0, 0))},
		"time, on Redis":  {eventbus.WithDueAt(time.Now().Add(eventbus.MaxDelay + time.Hour))},
		"300 years":       {eventbus.WithDueAt(time.Now().AddDate(300, 0, 0))},
		"seconds":         {eventbus.WithDueAt(time.UnixMilli(time.Now().Add(time.Hour).Unix()))},
		"few seconds":     {eventbus.WithDueAt(time.UnixMilli(1))},
		"many seconds":    {eventbus.WithDueAt(time.UnixMilli(99_999_999_999))},
		"delay and a due": {eventbus.WithDelay(1), eventbus.WithDueAt(time.Now().Add(time.Hour))},
	} {
		_, err := e.bus.Send(e.Context(), e.topic, "x", options...)
		require.ErrorIs(e, err, eventbus.ErrInvalidArgument, name)
		var wrong *eventbus.ArgumentError
		require.ErrorAs(e, err, &wrong, name)
		require.Contains(e, []string{"Delay", "DueAt"}, wrong.Field, name)
	}
	require.Zero(e, e.stats().Delayed+e.stats().Waiting)
}

func delayedArrivesWhole(e *env) {
	e.create(eventbus.TopicConfig{})
	p := e.run("h", nil)
	payloads := []eventbus.Raw{
		{Payload: []byte(`{"n":12345678901234567890,"empty":[],"x":1.0}`)}, {Payload: []byte("\x00\xff\xfe")}, {Payload: []byte{}},
		{Payload: []byte("text"), ContentType: "text/plain"}, {Payload: []byte(" 1 ")},
	}
	for _, raw := range payloads {
		before := time.Now().Add(-time.Second)
		id, err := e.bus.Send(e.Context(), e.topic, raw, eventbus.WithDelay(20*time.Millisecond), eventbus.WithHeader("tenant", "7"))
		require.NoError(e, err)
		event := p.take(1)[0]
		require.Equal(e, id, event.ID)
		require.Equal(e, raw.Payload, append([]byte{}, event.Payload...))
		require.Equal(e, e.topic, event.Type)
		require.Equal(e, map[string]string{"tenant": "7"}, event.Headers)
		require.True(e, event.Time.After(before), "%v", event.Time)
		require.Equal(e, 1, event.Attempt)
	}
	id, err := e.bus.Send(e.Context(), e.topic, 1, eventbus.WithID("mine \"\\"), eventbus.WithDelay(20*time.Millisecond))
	require.NoError(e, err)
	event := p.take(1)[0]
	require.Equal(e, id, event.ID)
	require.Equal(e, "application/json", event.ContentType)
	require.False(e, event.Time.IsZero())
}

func delayedBatch(e *env) {
	e.create(eventbus.TopicConfig{})
	_, err := e.bus.SendBatch(e.Context(), e.topic, []eventbus.Message{{Value: 1, Delay: time.Hour}, {Value: 2}, {Value: 3, Delay: math.MaxInt64}})
	require.ErrorIs(e, err, eventbus.ErrInvalidArgument)
	require.ErrorContains(e, err, "event 3 of 3")
	_, err = e.bus.SendBatch(e.Context(), e.topic, []eventbus.Message{{Value: 1, Delay: time.Hour}, {Value: 2, DueAt: time.Now().Add(eventbus.MaxDelay + time.Hour)}, {Value: 3}})
	require.ErrorIs(e, err, eventbus.ErrInvalidArgument)
	require.Zero(e, e.stats().Delayed+e.stats().Waiting)
	ids, err := e.bus.SendBatch(e.Context(), e.topic, []eventbus.Message{{Value: 1, Delay: time.Hour}, {Value: 2}, {Value: 3, Delay: 50 * time.Millisecond}, {Value: 4}})
	require.NoError(e, err)
	p := e.run("h", nil)
	var got []string
	for _, event := range p.take(3) {
		got = append(got, event.ID)
	}
	require.ElementsMatch(e, []string{ids[1], ids[2], ids[3]}, got)
	require.EqualValues(e, 1, e.stats().Delayed)
}

func delayedReachesEachGroup(e *env) {
	e.create(eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "default"}, {Name: "other"}}})
	here := e.run("h", nil)
	other := e.newBus(eventbus.Config{Group: "other"})
	there := e.handle(other, "h", nil)
	id := e.later("x", 100*time.Millisecond)
	kept := e.later("y", time.Hour)
	require.Equal(e, id, here.take(1)[0].ID)
	e.start(other) // it comes late, and gets its own
	require.Equal(e, id, there.take(1)[0].ID)
	groups, err := e.bus.Delayed().Cancel(e.Context(), e.topic, kept)
	require.NoError(e, err)
	require.Equal(e, []string{"default", "other"}, groups)
	e.idle()
	here.total(1)
	there.total(1)
}

func delayedOrder(e *env) {
	e.create(eventbus.TopicConfig{})
	at := e.redisNow().Add(2 * time.Second)
	var want []string
	for range 3 {
		messages := numbers(100)
		for i := range messages {
			messages[i].DueAt = at
		}
		ids, err := e.bus.SendBatch(e.Context(), e.topic, messages)
		require.NoError(e, err)
		want = append(want, ids...)
	}
	require.EqualValues(e, len(want), e.stats().Delayed, "the machine is too slow for this test")
	b := e.newBus(eventbus.Config{Concurrency: 1})
	p := e.handle(b, "h", nil)
	e.start(b)
	var got []string
	for _, event := range p.take(len(want)) {
		got = append(got, event.ID)
	}
	require.Equal(e, want, got)
}
