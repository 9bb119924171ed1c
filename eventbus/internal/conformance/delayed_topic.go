package conformance

import (
	"context"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

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
	e.later(2, 2*time.Hour) // with one due time their order would be another
	require.Len(e, e.list(list), 1)
	members, err := e.rdb.ZRange(e.Context(), "redisson_delay_queue_timeout:"+e.key("queue:default"), 0, -1).Result()
	require.NoError(e, err)
	require.Equal(e, "\x08", members[0][:1])
	require.Equal(e, "\x07", members[1][:1])
	require.NoError(e, e.bus.Topics().Delete(e.Context(), e.topic))
	require.Empty(e, e.keys(e.topic))
}
