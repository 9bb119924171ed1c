package failuretest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

type order struct {
	Number int `json:"number"`
}

// junk is what may lie in a queue that others can write to, and is no event.
func junk() []string {
	const envelope = `{"specversion":"1.0","id":"x","source":"y","type":"z","datacontenttype":"application/json","data":{"number":7}}`
	all := []string{
		"", " ", "\x00", "\xff\xfe\xfd", "junk", `{"number":`, `{"number":"seven"}`, `[1,2`, `"`, `{}{}`, "nul",
		`{"specversion":"1.0"`, `{"specversion":"9.9","id":"x","source":"y","type":"z","data":`, `{"specversion":null,`,
	}
	for at := 1; at < len(envelope); at += 7 {
		all = append(all, envelope[:at])
	}
	return all
}

// Junk in a queue goes to the handlers as it is. One that wants it otherwise
// rejects it at once, and all that is beside it and behind it goes on.
func TestJunkStopsNothing(t *testing.T) {
	t.Parallel()
	w := setup(t, "typed", "plain")
	c := w.consumer(eventbus.Config{})
	ran := newLedger()
	c.Handle("typed", handler, eventbus.Typed(func(context.Context, order) error {
		ran.note("typed")
		return nil
	}))
	bare := make(chan *eventbus.Event, 1000)
	c.Handle("plain", handler, eventbus.HandleFunc(func(_ context.Context, e *eventbus.Event) error {
		bare <- e
		return nil
	}))
	all := junk()
	for _, name := range []string{"typed", "plain"} {
		for _, text := range all {
			require.NoError(t, w.rdb.LPush(t.Context(), key(name, "queue:default"), text).Err())
			_, err := w.bus.Send(t.Context(), name, order{Number: 7})
			require.NoError(t, err)
		}
	}
	c.start()
	s := w.idle("typed")
	require.EqualValues(t, len(all), s.Dead)
	require.EqualValues(t, len(all), s.Done)
	require.Equal(t, len(all), ran.total())
	for _, f := range w.failures("typed", eventbus.Dead) {
		require.Equal(t, eventbus.ReasonRejected, f.Reason)
		require.Equal(t, 1, f.Attempts)
		require.Contains(t, f.Error, "payload does not unmarshal")
		require.NotEmpty(t, f.EventID)
	}
	s = w.idle("plain")
	require.EqualValues(t, 2*len(all), s.Done)
	require.Zero(t, s.Failed)
	var got []string
	for len(bare) > 0 {
		e := <-bare
		require.NotEmpty(t, e.ID)
		if e.Source == "" {
			got = append(got, string(e.Payload))
		}
	}
	requireSame(t, all, got)
}

// Envelopes that lie about themselves: addressed to handlers that nobody has,
// with counts that never were, with ids of failures that belong to others. None
// runs in a loop, none takes another one's place, and none harms a failure.
func TestForgedEnvelopesHarmNothing(t *testing.T) {
	t.Parallel()
	w := setup(t)
	ran := newLedger()
	c := w.consumer(eventbus.Config{})
	c.Handle(topic, handler, eventbus.HandleFunc(ran.fail), once())
	push := func(id, more string) {
		text := fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":"y","type":"z","datacontenttype":"application/json",%s"data":{"of":%q}}`, id, more, id)
		require.NoError(t, w.rdb.LPush(t.Context(), key(topic, "queue:default"), text).Err())
	}
	push("worn out", `"ebattempt":2147483647,`)
	push("suspect", `"ebdeliveries":2147483647,`)
	push("negative", `"ebattempt":-5,"ebdeliveries":-5,`)
	push("words", `"ebattempt":"many","ebdeliveries":true,"ebfailedat":{},`)
	push("old", `"ebfailedat":1,`)
	push("first", `"ebfailure":"f",`)
	push("same failure", `"ebfailure":"f",`)
	push("its entry", `"ebfailure":"f|e",`)
	push("its entry's", `"ebfailure":"f|e|e",`)
	push("the entry again", `"ebfailure":"f",`)
	push("long failure", fmt.Sprintf(`"ebfailure":"%01000d",`, 1))
	push("control", `"ebfailure":"a\nb\u0000 ",`)
	push("stranger", `"ebhandler":"nobody",`)
	push("stranger's", `"ebhandler":"no name | at all",`)
	push("right", `"ebhandler":"`+handler+`",`)
	const strangers, others = 2, 13
	c.start()
	w.eventually("all to be at their end", func() bool { return w.stats(topic).Dead == others })
	require.Equal(t, others, ran.total())

	w.requireWholeFailures(topic)
	all := w.failures(topic, eventbus.Dead)
	require.Len(t, all, others)
	for _, f := range all {
		read, err := w.bus.Failures().Get(t.Context(), topic, f.ID)
		require.NoError(t, err, "%+v", f)
		require.Equal(t, f.EventID, read.Event.ID, "each failure has its own event")
		require.Equal(t, fmt.Sprintf(`{"of":%q}`, f.EventID), string(read.Event.Payload))
		require.Equal(t, eventbus.ReasonExhausted, f.Reason)
		require.LessOrEqual(t, len(f.ID), 255)
	}
	// Removing one leaves the others whole.
	n, err := w.bus.Failures().Discard(t.Context(), topic, eventbus.FailureFilter{IDs: []string{all[0].ID}})
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	w.requireWholeFailures(topic)

	// What nobody here can handle waits for a process that can, and goes round
	// slowly meanwhile.
	before, began := w.stats(topic).PutOff, time.Now()
	w.eventually("the strangers to come round", func() bool { return w.stats(topic).PutOff >= before+2 })
	rounds := w.stats(topic).PutOff - before
	require.LessOrEqual(t, rounds, strangers+int64(time.Since(began)/time.Second)*strangers, "rounds in %v", time.Since(began))
	for _, f := range w.failures(topic, eventbus.Retrying) {
		require.Equal(t, eventbus.ReasonNoHandler, f.Reason)
		require.Zero(t, f.Attempts)
	}
	require.Equal(t, others, ran.total())
}

// An entry of an at_most_once topic that claims to have killed processes runs by
// itself, once, and does not go round between the queue and the poller.
func TestForgedSuspectRunsOnce(t *testing.T) {
	t.Parallel()
	w := setup(t, "other")
	w.create("newest", eventbus.TopicConfig{Delivery: eventbus.AtMostOnce})
	c := w.consumer(eventbus.Config{})
	ran := newLedger()
	c.Handle("newest", handler, eventbus.HandleFunc(ran.succeed))
	c.Handle("other", handler, eventbus.HandleFunc(ran.succeed))
	c.start()
	before := w.server.TotalCommands(t)
	const suspects = 5
	for i := range suspects {
		text := fmt.Sprintf(`{"specversion":"1.0","id":"s%d","source":"y","type":"z","ebdeliveries":4,"data":1}`, i)
		require.NoError(t, w.rdb.LPush(t.Context(), key("newest", "queue:default"), text).Err())
		w.within(20*time.Second, "the suspect to run", func() bool { return ran.total() == 2*i+1 })
		_, err := w.bus.Send(t.Context(), "other", 1)
		require.NoError(t, err)
		w.within(20*time.Second, "the others to go on", func() bool { return ran.total() == 2*i+2 })
	}
	require.Less(t, w.server.TotalCommands(t)-before, int64(2000))
}

// A topic of bare payloads takes everything in its queue as one, also what looks
// like an envelope, and what is addressed to somebody.
func TestRawTopicTakesJunkAsItIs(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.create("raw", eventbus.TopicConfig{Wire: eventbus.WireRaw})
	bare := make(chan string, 1000)
	w.handle("raw", func(_ context.Context, e *eventbus.Event) error {
		if e.Attempt == 1 {
			return eventbus.RetryAfter(0, errOnPurpose)
		}
		bare <- string(e.Payload)
		return nil
	}, eventbus.HandleConfig{})
	all := append(junk(), `{"specversion":"1.0","id":"x","source":"y","type":"z","ebhandler":"nobody","ebdeliveries":5,"data":1}`)
	for _, text := range all {
		require.NoError(t, w.rdb.LPush(t.Context(), key("raw", "queue:default"), text).Err())
	}
	var got []string
	for range all {
		select {
		case text := <-bare:
			got = append(got, text)
		case <-time.After(patience):
			require.Fail(t, "junk is stuck", w.figures())
		}
	}
	requireSame(t, all, got)
	w.idle("raw")
}
