package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func sending() []test {
	return []test{
		{"ReachesEveryGroupOnce", sendReachesEveryGroupOnce},
		{"BatchKeepsItsOrder", batchKeepsItsOrder},
		{"BatchIsSentWholeOrNotAtAll", batchIsSentWholeOrNotAtAll},
		{"BatchHasALimit", batchHasALimit},
		{"ManyAtOnceAreEachSentOnce", manyAtOnceAreEachSentOnce},
		{"RefusesWhatIsNoJSON", refusesWhatIsNoJSON},
		{"RefusesLargePayloads", refusesLargePayloads},
		{"RefusesHeadersAndIDsOutsideTheRule", refusesHeadersAndIDsOutsideTheRule},
		{"AfterItsContextSendsNothing", sendAfterItsContextSendsNothing},
		{"ToAnUnknownTopicIsAnError", sendToAnUnknownTopicIsAnError},
		{"ToATopicWithoutGroupsIsAnError", sendToATopicWithoutGroupsIsAnError},
		{"CreatesTopicsWhereThatIsWanted", sendCreatesTopicsWhereThatIsWanted},
	}
}

func sendReachesEveryGroupOnce(e *env) {
	e.create(eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "default"}, {Name: "billing"}, {Name: "search"}}})
	var probes []*probe
	for _, group := range []string{"default", "billing", "search"} {
		b := e.newBus(eventbus.Config{Group: group})
		probes = append(probes, e.handle(b, "h", nil))
		e.start(b)
	}
	sent := e.sendNumbers(50)
	for _, p := range probes {
		require.ElementsMatch(e, sent, ids(p.take(50)))
	}
	e.idle()
	for _, p := range probes {
		p.total(50)
	}
}

func batchKeepsItsOrder(e *env) {
	e.create(eventbus.TopicConfig{})
	sent := e.sendNumbers(300)
	sent = append(sent, e.sendNumbers(eventbus.MaxBatch)...)
	b := e.newBus(eventbus.Config{Concurrency: 1})
	p := e.handle(b, "h", nil)
	e.start(b)
	require.Equal(e, sent[:400], ids(p.take(400)))
}

func batchIsSentWholeOrNotAtAll(e *env) {
	e.create(eventbus.TopicConfig{})
	for _, bad := range []eventbus.Message{
		{Value: make(chan int)},
		{Value: 1, ID: "with\nnewline"},
		{Value: 1, Headers: map[string]string{"Upper": "x"}},
		{Value: strings.Repeat("x", eventbus.DefaultMaxPayload)},
	} {
		messages := append(numbers(5), bad)
		got, err := e.bus.SendBatch(e.Context(), e.topic, messages)
		require.ErrorIs(e, err, eventbus.ErrInvalidArgument)
		require.ErrorContains(e, err, "event 6 of 6", "which one was wrong")
		require.Empty(e, got)
	}
	require.Zero(e, e.stats().Sent)
	require.Empty(e, e.list(e.key("queue:default")))

	got, err := e.bus.SendBatch(e.Context(), e.topic, nil)
	require.NoError(e, err)
	require.Empty(e, got)
}

func batchHasALimit(e *env) {
	e.create(eventbus.TopicConfig{})
	_, err := e.bus.SendBatch(e.Context(), e.topic, numbers(eventbus.MaxBatch+1))
	require.ErrorIs(e, err, eventbus.ErrInvalidArgument)
	require.Zero(e, e.stats().Sent)
	e.sendNumbers(eventbus.MaxBatch)
	require.EqualValues(e, eventbus.MaxBatch, e.stats().Waiting)
}

func manyAtOnceAreEachSentOnce(e *env) {
	const senders, each = 16, 25
	e.create(eventbus.TopicConfig{})
	var mu sync.Mutex
	var sent []string
	var all sync.WaitGroup
	failed := make(chan error, senders*each)
	for range senders {
		all.Go(func() {
			for i := range each {
				id, err := e.bus.Send(e.Context(), e.topic, i)
				if err != nil {
					failed <- err
				}
				mu.Lock()
				sent = append(sent, id)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	require.Empty(e, failed)
	p := e.run("h", nil)
	require.ElementsMatch(e, sent, ids(p.take(senders*each)))
	e.idle()
	p.total(senders * each)
}

func refusesWhatIsNoJSON(e *env) {
	e.create(eventbus.TopicConfig{})
	for _, value := range []any{make(chan int), func() {}, json.RawMessage(`{"half`), failingMarshaler{}} {
		_, err := e.bus.Send(e.Context(), e.topic, value)
		require.ErrorIs(e, err, eventbus.ErrMarshal)
		require.ErrorIs(e, err, eventbus.ErrInvalidArgument)
	}
	_, err := e.bus.Send(e.Context(), e.topic, failingMarshaler{})
	require.ErrorIs(e, err, errOnPurpose, "the marshaler's own error is kept")
	_, err = e.bus.Send(e.Context(), e.topic, &eventbus.Raw{})
	require.ErrorIs(e, err, eventbus.ErrInvalidArgument)
	require.Zero(e, e.stats().Sent)
}

var errOnPurpose = errors.New("on purpose")

type failingMarshaler struct{}

func (failingMarshaler) MarshalJSON() ([]byte, error) { return nil, errOnPurpose }

func refusesLargePayloads(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{MaxPayload: 100})
	_, err := b.Send(e.Context(), e.topic, eventbus.Raw{Payload: make([]byte, 101)})
	require.ErrorIs(e, err, eventbus.ErrPayloadTooLarge)
	require.ErrorIs(e, err, eventbus.ErrInvalidArgument)
	require.Zero(e, e.stats().Sent)
	_, err = b.Send(e.Context(), e.topic, eventbus.Raw{Payload: make([]byte, 100)})
	require.NoError(e, err, "the connection stays usable")

	// The payloads of a batch have a limit together, too.
	b = e.newBus(eventbus.Config{MaxPayload: eventbus.MaxPayloadLimit})
	large := eventbus.Message{Value: eventbus.Raw{Payload: make([]byte, eventbus.MaxPayloadLimit/2+1)}}
	_, err = b.SendBatch(e.Context(), e.topic, []eventbus.Message{large, large})
	require.ErrorIs(e, err, eventbus.ErrPayloadTooLarge)
	require.EqualValues(e, 1, e.stats().Sent)
}

func refusesHeadersAndIDsOutsideTheRule(e *env) {
	e.create(eventbus.TopicConfig{})
	for name, option := range map[string]eventbus.SendOption{
		"a header of the bus":         eventbus.WithHeader("ebhandler", "x"),
		"an attribute of CloudEvents": eventbus.WithHeader("id", "x"),
		"a name in upper case":        eventbus.WithHeader("Tenant", "x"),
		"a long name":                 eventbus.WithHeader(strings.Repeat("a", 21), "x"),
		"a control character":         eventbus.WithHeader("tenant", "a\x00b"),
		"a value that is no UTF-8":    eventbus.WithHeader("tenant", "\xff"),
		"a long id":                   eventbus.WithID(strings.Repeat("a", 256)),
		"an id with a newline":        eventbus.WithID("a\nb"),
		"an id that is no UTF-8":      eventbus.WithID("\xff"),
	} {
		_, err := e.bus.Send(e.Context(), e.topic, 1, option)
		require.ErrorIs(e, err, eventbus.ErrInvalidArgument, name)
		var argument *eventbus.ArgumentError
		require.ErrorAs(e, err, &argument, name)
		require.NotEmpty(e, argument.Field, name)
		require.NotEmpty(e, argument.Reason, name)
	}
	require.Zero(e, e.stats().Sent)
}

func sendAfterItsContextSendsNothing(e *env) {
	e.create(eventbus.TopicConfig{})
	ctx, cancel := context.WithCancel(e.Context())
	cancel()
	_, err := e.bus.Send(ctx, e.topic, 1)
	require.ErrorIs(e, err, context.Canceled)
	require.Zero(e, e.stats().Sent)
}

func sendToAnUnknownTopicIsAnError(e *env) {
	_, err := e.bus.Send(e.Context(), e.topic, 1)
	require.ErrorIs(e, err, eventbus.ErrTopicNotFound)
	require.ErrorContains(e, err, e.topic, "which topic")
	require.Empty(e, e.keys(e.topic))

	// And it works as soon as there is one.
	e.create(eventbus.TopicConfig{})
	e.send(1)
}

func sendToATopicWithoutGroupsIsAnError(e *env) {
	e.create(eventbus.TopicConfig{})
	require.NoError(e, e.bus.Topics().RemoveGroup(e.Context(), e.topic, "default"))
	_, err := e.bus.Send(e.Context(), e.topic, 1)
	require.ErrorIs(e, err, eventbus.ErrNoGroup)
	require.NoError(e, e.bus.Topics().AddGroup(e.Context(), e.topic, eventbus.GroupConfig{Name: "default"}))
	e.send(1)
}

func sendCreatesTopicsWhereThatIsWanted(e *env) {
	b := e.newBus(eventbus.Config{AutoCreateTopics: true})
	_, err := b.Send(e.Context(), e.topic, 1)
	require.NoError(e, err)
	names, err := b.Topics().List(e.Context())
	require.NoError(e, err)
	require.Equal(e, []string{e.topic}, names)
	require.EqualValues(e, 1, e.stats().Waiting)

	// Run does the same.
	other := e.topic + ".other"
	p := e.handleTopic(b, other, "h", nil)
	e.start(b)
	_, err = e.bus.Send(e.Context(), other, 1)
	require.NoError(e, err)
	p.next()
}
