package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
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
		{"TooFarIsRefused", delayedTooFarIsRefused},
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
		eventbus.WithDueAt(time.Unix(0, 0)), eventbus.WithDueAt(time.Now().Add(-time.Hour)), eventbus.WithDueAt(time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC)),
	} {
		id, err := e.bus.Send(e.Context(), e.topic, "x", option)
		require.NoError(e, err)
		require.Equal(e, id, p.take(1)[0].ID)
	}
}

func delayedTooFarIsRefused(e *env) {
	e.create(eventbus.TopicConfig{})
	for name, options := range map[string][]eventbus.SendOption{
		"delay":           {eventbus.WithDelay(eventbus.MaxDelay + 1)},
		"greatest delay":  {eventbus.WithDelay(math.MaxInt64)},
		"time":            {eventbus.WithDueAt(time.Now().AddDate(11, 0, 0))},
		"time, on Redis":  {eventbus.WithDueAt(time.Now().Add(eventbus.MaxDelay + time.Hour))},
		"300 years":       {eventbus.WithDueAt(time.Now().AddDate(300, 0, 0))},
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

func delayedIsCancelledOrDelivered(e *env) {
	e.create(eventbus.TopicConfig{})
	const n = 200
	ids := make([]string, n)
	for i := range ids {
		ids[i] = e.later(i, time.Duration(300+i)*time.Millisecond)
	}
	p := e.run("h", nil)
	cancelled := map[string]bool{}
	for _, id := range ids { // while they become due
		groups, err := e.bus.Delayed().Cancel(e.Context(), e.topic, id)
		if err != nil {
			require.ErrorIs(e, err, eventbus.ErrNotDelayed)
			continue
		}
		require.Equal(e, []string{"default"}, groups)
		cancelled[id] = true
	}
	e.eventually("all to be due", func() bool { return e.stats().Delayed == 0 })
	e.idle()
	delivered := p.take(n - len(cancelled))
	for _, event := range delivered {
		require.False(e, cancelled[event.ID], "%s was cancelled and came", event.ID)
	}
	p.total(int64(n - len(cancelled)))
}

func delayedCancelOfNothing(e *env) {
	e.create(eventbus.TopicConfig{})
	p := e.run("h", nil)
	for _, id := range []string{e.send("at once")[0], "unknown", e.later("due", 10*time.Millisecond)} {
		e.eventually("it to be over", func() bool { return e.stats().Delayed+e.stats().Waiting+e.stats().InFlight == 0 })
		_, err := e.bus.Delayed().Cancel(e.Context(), e.topic, id)
		require.ErrorIs(e, err, eventbus.ErrNotDelayed)
	}
	p.take(2)
	for _, id := range []string{"", "a\nb"} {
		_, err := e.bus.Delayed().Cancel(e.Context(), e.topic, id)
		require.ErrorIs(e, err, eventbus.ErrInvalidArgument)
	}
	_, err := e.bus.Delayed().Cancel(e.Context(), e.topic+"x", "1")
	require.ErrorIs(e, err, eventbus.ErrTopicNotFound)
}

func delayedIsListed(e *env) {
	e.create(eventbus.TopicConfig{})
	var want []string
	for i := range 25 {
		id, err := e.bus.Send(e.Context(), e.topic, i, eventbus.WithDelay(time.Hour+time.Duration(i/10)*time.Minute), eventbus.WithID(fmt.Sprintf("id \"%d\"", i)))
		require.NoError(e, err)
		want = append(want, id)
	}
	large, err := json.Marshal(string(make([]byte, 10_000)))
	require.NoError(e, err)
	id, err := e.bus.Send(e.Context(), e.topic, json.RawMessage(large), eventbus.WithDelay(2*time.Hour))
	require.NoError(e, err)
	want = append(want, id)
	for _, limit := range []int{1, 7, 26, 1000} {
		var got []string
		for cursor := ""; ; {
			page, err := e.bus.Delayed().List(e.Context(), e.topic, eventbus.DelayedQuery{Limit: limit, Cursor: cursor})
			require.NoError(e, err)
			require.LessOrEqual(e, len(page.Events), limit)
			for _, event := range page.Events {
				got = append(got, event.ID)
				require.InDelta(e, time.Until(event.DueAt), time.Hour, float64(90*time.Minute))
				require.Positive(e, event.Size)
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		require.Equal(e, want, got)
	}
	for _, q := range []eventbus.DelayedQuery{{Limit: -1}, {Limit: 1001}, {Cursor: "x"}} {
		_, err := e.bus.Delayed().List(e.Context(), e.topic, q)
		require.ErrorIs(e, err, eventbus.ErrInvalidArgument)
	}
	_, err = e.newBus(eventbus.Config{Group: "other"}).Delayed().List(e.Context(), e.topic, eventbus.DelayedQuery{})
	require.ErrorIs(e, err, eventbus.ErrGroupNotFound)
	_, err = e.bus.Delayed().Unreadable(e.Context(), e.topic, 0)
	require.ErrorIs(e, err, eventbus.ErrInvalidArgument)
	u, err := e.bus.Delayed().Unreadable(e.Context(), e.topic, 10)
	require.NoError(e, err)
	require.Equal(e, eventbus.UnreadableEvents{List: e.key("unreadable:default")}, u)
}

func delayedOfADisabledTopic(e *env) {
	e.create(eventbus.TopicConfig{})
	p := e.run("h", nil)
	id := e.later("x", 200*time.Millisecond)
	require.NoError(e, e.bus.Topics().Disable(e.Context(), e.topic))
	_, err := e.bus.Send(e.Context(), e.topic, "y", eventbus.WithDelay(time.Hour))
	require.ErrorIs(e, err, eventbus.ErrTopicDisabled)
	e.eventually("it to be due", func() bool { s := e.stats(); return s.ReadAt.After(s.NextDue.Add(300 * time.Millisecond)) })
	p.total(0)
	require.NoError(e, e.bus.Topics().Enable(e.Context(), e.topic))
	require.Equal(e, id, p.take(1)[0].ID)
}

func delayedOfARawTopic(e *env) {
	e.create(eventbus.TopicConfig{Wire: eventbus.WireRaw})
	p := e.run("h", nil)
	id, err := e.bus.Send(e.Context(), e.topic, eventbus.Raw{Payload: []byte("bare")}, eventbus.WithDelay(time.Hour))
	require.NoError(e, err)
	page, err := e.bus.Delayed().List(e.Context(), e.topic, eventbus.DelayedQuery{})
	require.NoError(e, err)
	require.Len(e, page.Events, 1)
	require.Empty(e, page.Events[0].ID)
	require.Equal(e, len("bare"), page.Events[0].Size)
	_, err = e.bus.Delayed().Cancel(e.Context(), e.topic, id) // by the id that Send returned, all the same
	require.NoError(e, err)
	_, err = e.bus.Send(e.Context(), e.topic, eventbus.Raw{Payload: []byte("bare")}, eventbus.WithDelay(20*time.Millisecond))
	require.NoError(e, err)
	require.Equal(e, "bare", string(p.take(1)[0].Payload))
}

func delayedOfAtMostOnce(e *env) {
	e.create(eventbus.TopicConfig{Delivery: eventbus.AtMostOnce})
	p := e.run("h", nil)
	var want, got []string
	for i := range 20 {
		want = append(want, e.later(i, 50*time.Millisecond))
	}
	for _, event := range p.take(20) {
		got = append(got, event.ID)
	}
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(e, want, got)
}

func delayedOfAQueueKey(e *env) {
	key := "{" + e.topic + "}-list"
	e.create(eventbus.TopicConfig{Wire: eventbus.WireRaw, Groups: []eventbus.GroupConfig{{Name: "default", QueueKey: key}}})
	_, err := e.bus.Send(e.Context(), e.topic, 1, eventbus.WithDelay(100*time.Millisecond))
	require.NoError(e, err)
	n, err := e.rdb.ZCard(e.Context(), "redisson_delay_queue_timeout:"+key).Result()
	require.NoError(e, err)
	require.EqualValues(e, 1, n, "where Redisson looks for it")
	p := e.run("h", nil)
	require.Equal(e, "1", string(p.take(1)[0].Payload))
}

// A topic goes, and leaves its list and what is delayed for it to whoever has the list
// next.
func delayedOfAQueueKeyStays(e *env) {
	key := "{" + e.topic + "}-list"
	cfg := eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "default", QueueKey: key}}}
	e.create(cfg)
	id := e.later("delayed", 200*time.Millisecond)
	require.NoError(e, e.bus.Topics().Delete(e.Context(), e.topic))
	e.create(eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "other"}}})
	require.NoError(e, e.bus.Topics().AddGroup(e.Context(), e.topic, cfg.Groups[0]))
	_, err := e.bus.Delayed().Cancel(e.Context(), e.topic, id)
	require.ErrorIs(e, err, eventbus.ErrNotDelayed, "nothing knows its id any more")
	p := e.run("h", nil)
	require.Equal(e, id, p.take(1)[0].ID)
}

func delayedReachesNoLaterGroup(e *env) {
	e.create(eventbus.TopicConfig{})
	e.later("before", 200*time.Millisecond)
	require.NoError(e, e.bus.Topics().AddGroup(e.Context(), e.topic, eventbus.GroupConfig{Name: "later"}))
	p := e.run("h", nil)
	p.take(1)
	s, err := e.newBus(eventbus.Config{Group: "later"}).GroupStats(e.Context(), e.topic)
	require.NoError(e, err)
	require.Zero(e, s.Sent+s.Delayed+s.Waiting)
}

func delayedIsRetried(e *env) {
	e.create(eventbus.TopicConfig{})
	p := e.run("h", func(_ context.Context, event *eventbus.Event) error {
		if event.Attempt < 3 {
			return errOnPurpose
		}
		return nil
	}, quick())
	id := e.later("x", 20*time.Millisecond)
	for i, event := range p.take(3) {
		require.Equal(e, id, event.ID)
		require.Equal(e, i+1, event.Attempt)
		require.JSONEq(e, `"x"`, string(event.Payload))
	}
	e.idle()
	p.total(3)
}

func delayedFull(e *env) {
	e.create(eventbus.TopicConfig{MaxWaiting: 2})
	e.later(1, time.Hour)
	e.send(1, 2)
	e.later(2, time.Hour)
	_, err := e.bus.Send(e.Context(), e.topic, 3, eventbus.WithDelay(time.Hour))
	require.ErrorIs(e, err, eventbus.ErrTopicFull)
	require.ErrorIs(e, err, eventbus.ErrDelayedFull, "to wait until they are handled would not help")
	require.ErrorContains(e, err, "2 of at most 2")
	_, err = e.bus.Send(e.Context(), e.topic, 3)
	require.ErrorIs(e, err, eventbus.ErrTopicFull)
	require.NotErrorIs(e, err, eventbus.ErrDelayedFull)
	require.EqualValues(e, 2, e.stats().Delayed)
}

func delayedOrderList(e *env) {
	e.create(eventbus.TopicConfig{RedissonOrderList: true})
	list := "redisson_delay_queue:" + e.key("queue:default")
	e.later(1, time.Hour)
	require.Len(e, e.list(list), 1)
	topic, err := e.bus.Topics().Get(e.Context(), e.topic)
	require.NoError(e, err)
	require.True(e, topic.RedissonOrderList)
	require.False(e, topic.RedissonOldClients)
	off, on := false, true
	_, err = e.bus.Topics().Update(e.Context(), e.topic, eventbus.TopicUpdate{RedissonOrderList: &off, RedissonOldClients: &on})
	require.NoError(e, err)
	e.later(2, time.Hour)
	require.Len(e, e.list(list), 1)
	members, err := e.rdb.ZRange(e.Context(), "redisson_delay_queue_timeout:"+e.key("queue:default"), 0, -1).Result()
	require.NoError(e, err)
	require.Equal(e, "\x08", members[0][:1])
	require.Equal(e, "\x07", members[1][:1])
	require.NoError(e, e.bus.Topics().Delete(e.Context(), e.topic))
	require.Empty(e, e.keys(e.topic))
}
