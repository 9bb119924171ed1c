package failuretest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed4933/eventbus/eventbus"
)

// hostilePayloads are bytes that systems of this kind have changed, choked on or
// got stuck with.
func hostilePayloads() [][]byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return [][]byte{
		{}, []byte("\x00"), []byte("a\x00b"), all, bytes.Repeat(all, 64), []byte("\xff\xfe"), []byte("\xef\xbb\xbf{}"),
		[]byte(`130775545883395173`), []byte(`{"id":130775545883395173}`), []byte(`-0`), []byte(`1.0`), []byte(`1e400`), []byte(`1E2`),
		[]byte(`[]`), []byte(`{}`), []byte(`[[],{},[{}]]`), []byte(`{"a":[],"b":{}}`), []byte(`null`), []byte(`""`), []byte(`"\u0000"`),
		[]byte(` {"a" : 1} `), []byte("{\n}"), []byte(`{"a":1,"a":2}`), []byte(`{"b":1,"a":2}`), []byte(`"\/<>&\u2028"`), []byte("\"\u2028\""),
		[]byte(`"\ud800"`), []byte(`{"data":1}`), []byte(`{"specversion":"1.0","id":"x","source":"y","type":"z","data":{}}`),
		[]byte(`{"specversion":"1.0","id":"x","source":"y","type":"z","ebhandler":"nobody","data":1}`),
		[]byte("*1\r\n$4\r\nPING\r\n"), []byte(`{"a":`), []byte(`nil`), bytes.Repeat([]byte("["), 20_000), bytes.Repeat([]byte("[]"), 1000),
	}
}

// Large integers, empty arrays and objects, bytes that are no text: what a
// handler gets, and what is read of a failure, is what was sent.
func TestPayloadsArriveAsTheyWereSent(t *testing.T) {
	t.Parallel()
	w := setup(t)
	got := make(chan *eventbus.Event, 1)
	w.handle(topic, func(_ context.Context, e *eventbus.Event) error {
		got <- e
		return eventbus.Reject(nil)
	}, once())
	check := func(t require.TestingT, payload []byte) {
		id, err := w.bus.Send(context.Background(), topic, eventbus.Raw{Payload: payload})
		require.NoError(t, err)
		e := <-got
		require.Equal(t, id, e.ID)
		require.True(t, bytes.Equal(payload, e.Payload), "sent %.200q, got %.200q", payload, e.Payload)
	}
	for _, p := range hostilePayloads() {
		check(t, p)
	}
	value := rapid.Deferred(func() *rapid.Generator[[]byte] { return jsonValue(3) })
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 200), value).Draw(t, "payload"))
	})
	w.idle(topic)
	for _, f := range w.failures(topic, eventbus.Dead) {
		read, err := w.bus.Failures().Get(t.Context(), topic, f.ID)
		require.NoError(t, err)
		require.Equal(t, f.EventID, read.Event.ID)
	}
}

// jsonValue generates JSON texts as people write them, not as Go does.
func jsonValue(depth int) *rapid.Generator[[]byte] {
	scalar := rapid.SampledFrom([]string{"0", "-0", "130775545883395173", "9007199254740993", "1.10", "1e5", "1e400", "true", "null", `""`, `"ä"`, `"\u00e4"`, `"<\/>"`, "[]", "{}", "[ ]", "{ }"})
	return rapid.Custom(func(t *rapid.T) []byte {
		if depth == 0 || rapid.Bool().Draw(t, "scalar") {
			return []byte(scalar.Draw(t, "value"))
		}
		object := rapid.Bool().Draw(t, "object")
		space := rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "space")
		var b bytes.Buffer
		open, end := "[", "]"
		if object {
			open, end = "{", "}"
		}
		b.WriteString(space + open)
		for i := range rapid.IntRange(0, 3).Draw(t, "members") {
			if i > 0 {
				b.WriteString("," + space)
			}
			if object {
				b.WriteString(rapid.SampledFrom([]string{`"a"`, `""`, `"\u0061"`, `"data"`, `"id"`}).Draw(t, "name") + space + ":")
			}
			b.Write(jsonValue(depth-1).Draw(t, "member"))
		}
		b.WriteString(end + space)
		return b.Bytes()
	})
}

// Bytes that are no text, in payloads, ids and errors, break no page of a list,
// and stay stuck nowhere.
func TestListsSurviveAnyBytes(t *testing.T) {
	t.Parallel()
	w := setup(t)
	payloads := hostilePayloads()
	w.handle(topic, func(_ context.Context, e *eventbus.Event) error {
		return errors.New("cannot do " + string(e.Payload))
	}, once())
	for i, p := range payloads {
		require.NoError(t, w.rdb.LPush(t.Context(), key(topic, "queue:default"), p).Err())
		envelope, err := json.Marshal(map[string]any{"specversion": "1.0", "id": fmt.Sprintf("%d\n\x00\u2028|<b>", i), "source": "s", "type": "t", "data_base64": p})
		require.NoError(t, err)
		require.NoError(t, w.rdb.LPush(t.Context(), key(topic, "queue:default"), envelope).Err())
	}
	// One of the payloads is itself an envelope addressed to a handler that nobody
	// has; it waits for one.
	total := int64(2*len(payloads) - 1)
	w.eventually("all to be dead", func() bool { return w.stats(topic).Dead == total })
	var ids []string
	for q := (eventbus.FailureQuery{Limit: 1}); ; {
		page, err := w.bus.Failures().List(t.Context(), topic, q)
		require.NoError(t, err)
		for _, f := range page.Failures {
			ids = append(ids, f.ID)
			require.True(t, utf8.ValidString(f.Error), "%q", f.Error)
			read, err := w.bus.Failures().Get(t.Context(), topic, f.ID)
			require.NoError(t, err)
			require.NotNil(t, read.Event)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	require.EqualValues(t, total, len(ids))
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(ids))), len(ids), "a failure was listed twice")
	w.requireWholeFailures(topic)
}

// A payload of exactly the limit passes; one byte more is refused before it is
// sent, and the bus goes on sending.
func TestPayloadLimitIsExact(t *testing.T) {
	t.Parallel()
	w := setup(t)
	got := make(chan int, 100)
	w.handle(topic, func(_ context.Context, e *eventbus.Event) error {
		got <- len(e.Payload)
		return nil
	}, once())
	for _, c := range []struct{ setting, limit int }{{0, eventbus.DefaultMaxPayload}, {1, 1}, {1000, 1000}} {
		bus := w.newBus(eventbus.Config{MaxPayload: c.setting})
		for range 3 {
			_, err := bus.Send(t.Context(), topic, eventbus.Raw{Payload: make([]byte, c.limit+1)})
			require.ErrorIs(t, err, eventbus.ErrPayloadTooLarge)
			require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
			require.ErrorContains(t, err, fmt.Sprintf("%d bytes, at most %d are allowed", c.limit+1, c.limit))
			_, err = bus.SendBatch(t.Context(), topic, []eventbus.Message{{Value: eventbus.Raw{}}, {Value: eventbus.Raw{Payload: make([]byte, c.limit+1)}}})
			require.ErrorIs(t, err, eventbus.ErrPayloadTooLarge)
			_, err = bus.Send(t.Context(), topic, eventbus.Raw{Payload: make([]byte, c.limit)})
			require.NoError(t, err)
			require.Equal(t, c.limit, <-got)
		}
	}
	require.EqualValues(t, 9, w.idle(topic).Done, "nothing of what was refused was sent")
}

// The greatest payload that can be set, 64 MiB, goes all the way: to a handler,
// the dead set, an operator, and back.
func TestGreatestPayload(t *testing.T) {
	t.Parallel()
	w := setup(t)
	text := bytes.Repeat([]byte("x"), greatest)
	text[0], text[len(text)-1] = '"', '"'
	sender := w.newBus(eventbus.Config{MaxPayload: eventbus.MaxPayloadLimit})
	same := make(chan bool, 10)
	ran := newLedger()
	w.handle(topic, func(_ context.Context, e *eventbus.Event) error {
		same <- bytes.Equal(text, e.Payload)
		if ran.note(e.ID) == 1 {
			return eventbus.Reject(nil)
		}
		return nil
	}, once())
	_, err := sender.Send(t.Context(), topic, eventbus.Raw{Payload: make([]byte, eventbus.MaxPayloadLimit+1)})
	require.ErrorIs(t, err, eventbus.ErrPayloadTooLarge)
	_, err = sender.Send(t.Context(), topic, eventbus.Raw{Payload: text})
	require.NoError(t, err)
	require.True(t, <-same, "the payload has changed")
	w.eventually("the failure", func() bool { return w.stats(topic).Dead == 1 })
	f := w.failures(topic, eventbus.Dead)[0]
	got, err := w.bus.Failures().Get(t.Context(), topic, f.ID)
	require.NoError(t, err)
	require.True(t, bytes.Equal(text, got.Event.Payload), "the payload has changed")
	n, err := w.bus.Failures().Replay(t.Context(), topic, eventbus.FailureFilter{All: true})
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	require.True(t, <-same, "the payload has changed")
	require.EqualValues(t, 1, w.idle(topic).Done)

	_, err = sender.SendBatch(t.Context(), topic, []eventbus.Message{{Value: eventbus.Raw{Payload: make([]byte, eventbus.MaxPayloadLimit)}}, {Value: 1}})
	require.ErrorIs(t, err, eventbus.ErrPayloadTooLarge, "64 MiB in all is the bound of a batch")
	_, err = sender.Send(t.Context(), topic, "small")
	require.NoError(t, err)
}
