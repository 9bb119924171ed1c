package conformance

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// Producers that know nothing of the bus push onto its lists, or onto theirs.
func foreign() []test {
	return []test{
		{"BarePayloadIsTakenAsItIs", foreignBarePayloadIsTakenAsItIs},
		{"CloudEventIsRead", foreignCloudEventIsRead},
		{"ListGetsNoEnvelopeOfARetry", foreignListGetsNoEnvelopeOfARetry},
		{"ListIsSentTo", foreignListIsSentTo},
		{"ListMustLieInTheTopicsSlot", foreignListMustLieInTheTopicsSlot},
		{"ListBelongsToOneGroup", foreignListBelongsToOneGroup},
		{"KeyMustBeAList", foreignKeyMustBeAList},
		{"ListIsNoneOfRedissons", foreignListIsNoneOfRedissons},
		{"KeyOfAnotherTypeStopsNoOtherTopic", keyOfAnotherTypeStopsNoOtherTopic},
	}
}

func (e *env) push(key string, entries ...any) {
	e.Helper()
	require.NoError(e, e.rdb.LPush(e.Context(), key, entries...).Err())
}

func foreignBarePayloadIsTakenAsItIs(e *env) {
	list := "{" + e.topic + "}:legacy"
	e.create(eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "default", QueueKey: list}}})
	p := e.run("h", nil)
	check := func(key string) {
		e.Helper()
		for _, sample := range samples()[:15] { // the last are envelopes or large
			e.push(key, string(sample.bytes))
			got := p.next()
			require.Equal(e, string(sample.bytes), string(got.Payload), sample.name)
			require.Equal(e, sample.contentType, got.ContentType, sample.name)
			require.NotEmpty(e, got.ID)
			require.Equal(e, e.topic, got.Type)
			require.Empty(e, got.Source)
			require.True(e, got.Time.IsZero())
			require.Nil(e, got.Headers)
		}
	}
	check(list)

	// The same onto the bus's own list.
	e.topic += ".own"
	e.create(eventbus.TopicConfig{})
	p = e.run("h", nil)
	check(e.key("queue:default"))
}

func foreignCloudEventIsRead(e *env) {
	e.create(eventbus.TopicConfig{})
	p := e.run("h", nil)
	e.push(e.key("queue:default"), `{
		"specversion" : "1.0", "type" : "com.example.order.shipped", "source" : "/java", "id" : "A-1",
		"time" : "2026-01-02T03:04:05.678Z", "datacontenttype" : "text/plain", "tenant" : "acme", "priority" : 5, "urgent" : true,
		"data_base64" : "AAEC/w=="
	}`)
	got := p.next()
	require.Equal(e, "A-1", got.ID)
	require.Equal(e, e.topic, got.Topic)
	require.Equal(e, "com.example.order.shipped", got.Type)
	require.Equal(e, "/java", got.Source)
	require.Equal(e, "2026-01-02 03:04:05.678 +0000 UTC", got.Time.String())
	require.Equal(e, "text/plain", got.ContentType)
	require.Equal(e, map[string]string{"tenant": "acme", "priority": "5", "urgent": "true"}, got.Headers)
	require.Equal(e, "\x00\x01\x02\xff", string(got.Payload))

	e.push(e.key("queue:default"), `{"specversion":"1.0","type":"t","source":"s","id":"A-2","data": {"n" : 130775545883395173}}`)
	got = p.next()
	require.Equal(e, `{"n" : 130775545883395173}`, string(got.Payload))
	require.Equal(e, "application/json", got.ContentType)
}

// Who else reads the list would not understand an entry for one handler.
func foreignListGetsNoEnvelopeOfARetry(e *env) {
	list := "{" + e.topic + "}:legacy"
	e.create(eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "default", QueueKey: list}}})
	b := e.newBus(eventbus.Config{Concurrency: 1})
	strange := make(chan string, 100)
	e.handle(b, "h", func(ctx context.Context, event *eventbus.Event) error {
		// While one runs, whatever was moved meanwhile stands in the queue.
		for _, entry := range e.list(list) {
			if entry != `{"bare":1}` {
				strange <- entry
			}
		}
		if event.Attempt < 5 {
			return eventbus.RetryAfter(0, errOnPurpose)
		}
		return eventbus.Reject(errOnPurpose)
	})
	stop := e.start(b)
	for range 10 {
		e.push(list, `{"bare":1}`)
	}
	e.dead(10)
	require.Empty(e, strange)
	stop()

	// Neither does a replay write into it.
	require.EqualValues(e, 10, e.replay(eventbus.FailureFilter{All: true}))
	require.Empty(e, e.list(list))
	require.EqualValues(e, 10, e.stats().Waiting)
	p := e.run("h", nil)
	for _, payload := range texts(p.take(10)) {
		require.Equal(e, `{"bare":1}`, payload)
	}
}

func foreignListIsSentTo(e *env) {
	list := "{" + e.topic + "}"
	e.create(eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "default", QueueKey: list}, {Name: "other"}}})
	id := e.send(1)[0]
	entries := e.list(list)
	require.Len(e, entries, 1)
	require.Contains(e, entries[0], id)
	require.Empty(e, e.list(e.key("queue:default")))
	p := e.run("h", nil)
	require.Equal(e, id, p.next().ID)
	e.idle("default")
	require.Empty(e, e.list(list))
}

func foreignListMustLieInTheTopicsSlot(e *env) {
	elsewhere := eventbus.GroupConfig{Name: "default", QueueKey: "elsewhere-" + e.topic}
	err := e.bus.Topics().Create(e.Context(), e.topic, eventbus.TopicConfig{Groups: []eventbus.GroupConfig{elsewhere}})
	if _, cluster := e.rdb.(*redis.ClusterClient); !cluster {
		require.NoError(e, err)
		e.push(elsewhere.QueueKey, "x")
		require.Equal(e, "x", string(e.run("h", nil).next().Payload))
		return
	}
	require.ErrorIs(e, err, eventbus.ErrInvalidArgument)
	require.ErrorContains(e, err, "slot")
	require.Empty(e, e.keys(e.topic))
	e.create(eventbus.TopicConfig{})
	elsewhere.Name = "other"
	require.ErrorIs(e, e.bus.Topics().AddGroup(e.Context(), e.topic, elsewhere), eventbus.ErrInvalidArgument)
}

// Two groups on one list would take each other's events.
func foreignListBelongsToOneGroup(e *env) {
	list := "{" + e.topic + "}"
	a, b := eventbus.GroupConfig{Name: "a", QueueKey: list}, eventbus.GroupConfig{Name: "b", QueueKey: list}
	err := e.bus.Topics().Create(e.Context(), e.topic, eventbus.TopicConfig{Groups: []eventbus.GroupConfig{a, b}})
	require.ErrorIs(e, err, eventbus.ErrInvalidArgument)
	e.create(eventbus.TopicConfig{Groups: []eventbus.GroupConfig{a}})
	require.ErrorIs(e, e.bus.Topics().AddGroup(e.Context(), e.topic, b), eventbus.ErrInvalidArgument)
}

func foreignKeyMustBeAList(e *env) {
	key := "{" + e.topic + "}:taken"
	require.NoError(e, e.rdb.Set(e.Context(), key, "a string", 0).Err())
	err := e.bus.Topics().Create(e.Context(), e.topic, eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "default", QueueKey: key}}})
	require.ErrorIs(e, err, eventbus.ErrWrongType)
	require.ErrorIs(e, err, eventbus.ErrInvalidArgument)
	require.Equal(e, []string{key}, e.keys(e.topic))
}

// Where Redisson keeps delayed events, no queue can be.
func foreignListIsNoneOfRedissons(e *env) {
	key := "{" + e.topic + "}"
	for _, of := range []string{"redisson_delay_queue:", "redisson_delay_queue_timeout:", "redisson_delay_queue_channel:"} {
		group := eventbus.GroupConfig{Name: "default", QueueKey: of + key}
		err := e.bus.Topics().Create(e.Context(), e.topic, eventbus.TopicConfig{Groups: []eventbus.GroupConfig{group}})
		var argument *eventbus.ArgumentError
		require.ErrorAs(e, err, &argument)
		require.Equal(e, "QueueKey", argument.Field)
		require.Contains(e, argument.Reason, of)
	}
	require.Empty(e, e.keys(e.topic))
	e.create(eventbus.TopicConfig{})
	group := eventbus.GroupConfig{Name: "other", QueueKey: "redisson_delay_queue_timeout:" + key}
	require.ErrorIs(e, e.bus.Topics().AddGroup(e.Context(), e.topic, group), eventbus.ErrInvalidArgument)
	group.QueueKey = "redisson_delay_queues:" + key
	require.NoError(e, e.bus.Topics().AddGroup(e.Context(), e.topic, group), "a list whose name only looks like it")
}

func keyOfAnotherTypeStopsNoOtherTopic(e *env) {
	e.create(eventbus.TopicConfig{})
	require.NoError(e, e.rdb.Set(e.Context(), e.key("queue:default"), "a string", 0).Err())
	require.NoError(e, e.rdb.Set(e.Context(), e.key("bell:default"), "a string", 0).Err())
	b := e.newBus(eventbus.Config{})
	p := e.handle(b, "h", nil)
	var others []*probe
	for i := range 3 {
		topic := fmt.Sprint(e.topic, ".", i)
		require.NoError(e, e.bus.Topics().Create(e.Context(), topic, eventbus.TopicConfig{}))
		others = append(others, e.handleTopic(b, topic, "h", nil))
	}
	e.start(b)
	_, err := e.bus.Send(e.Context(), e.topic, 1)
	require.ErrorIs(e, err, eventbus.ErrWrongType)
	require.NotErrorIs(e, err, eventbus.ErrUnavailable)
	for i, other := range others {
		_, err := e.bus.Send(e.Context(), fmt.Sprint(e.topic, ".", i), 1)
		require.NoError(e, err)
		other.next()
	}
	require.NoError(e, b.Health(e.Context()))
	p.total(0)

	// Once it is put right, the topic is served, without a restart.
	require.NoError(e, e.rdb.Del(e.Context(), e.key("queue:default"), e.key("bell:default")).Err())
	e.send(1)
	p.next()
}
