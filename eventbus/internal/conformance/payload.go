package conformance

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func payloads() []test {
	return []test{
		{"IsByteIdenticalAllTheWay", payloadIsByteIdenticalAllTheWay},
		{"IsMarshalledOnce", payloadIsMarshalledOnce},
	}
}

// payload is what is sent and what the handler must get.
type payload struct {
	name        string
	bytes       []byte
	contentType string
}

func samples() []payload {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	const isJSON, isBinary = "application/json", "application/octet-stream"
	return []payload{
		{"object", []byte(`{"id":1,"name":"Ada"}`), isJSON},
		{"big integers", []byte(`{"a":130775545883395173,"b":123456789012345678901234567890,"c":1.10,"d":1e400}`), isJSON},
		{"empty array and object", []byte(`{"list":[],"map":{},"both":[{},[]]}`), isJSON},
		{"array alone", []byte(`[]`), isJSON},
		{"object alone", []byte(`{}`), isJSON},
		{"null", []byte(`null`), isJSON},
		{"white space", []byte(" \r\n\t{ \"a\" :\t[ 1 , 2 ] }\n\n"), isJSON},
		{"duplicate keys", []byte(`{"a":1,"a":2}`), isJSON},
		{"escapes", []byte(`{"a":"\u00e4\/\ud83d\ude00 < > & \u2028"}`), isJSON},
		{"line separators", []byte("{\"a\":\"\u2028\u2029\"}"), isJSON},
		{"markup", []byte(`"<script>alert(1)</script>"`), isJSON},
		{"text", []byte("plain text, no JSON"), isBinary},
		{"invalid UTF-8", []byte("\xff\xfe{\"a\":\"\xc3\x28\"}"), isBinary},
		{"NUL", []byte("a\x00b"), isBinary},
		{"all bytes", all, isBinary},
		{"empty", []byte{}, isBinary},
		{"looks like an entry", []byte(`{"specversion":"1.0","id":"x","source":"y","type":"z","ebhandler":"h","ebattempt":7,"data":1}`), isJSON},
		{"1 MiB of bytes", bytes.Repeat(all, 1<<20/256), isBinary},
		{"1 MiB of JSON", append(append([]byte(`{"a":"`), bytes.Repeat([]byte("x"), 1<<20-8)...), `"}`...), isJSON},
	}
}

// The payload passes through the queue, the retry set, the queue again, the dead
// set, a replay and the queue once more.
func payloadIsByteIdenticalAllTheWay(e *env) {
	e.create(eventbus.TopicConfig{})
	byID := map[string]payload{}
	check := func(event *eventbus.Event) {
		e.Helper()
		want := byID[event.ID]
		require.True(e, bytes.Equal(want.bytes, event.Payload), "%s: attempt %d: sent %.200q, got %.200q", want.name, event.Attempt, want.bytes, event.Payload)
		require.Equal(e, want.contentType, event.ContentType, want.name)
	}
	b := e.newBus(eventbus.Config{Concurrency: 4})
	p := e.handle(b, "h", func(_ context.Context, event *eventbus.Event) error {
		if event.Attempt == 1 {
			return eventbus.RetryAfter(0, errOnPurpose)
		}
		return eventbus.Reject(errOnPurpose)
	})
	stop := e.start(b)
	for _, sample := range samples() {
		id := e.send(eventbus.Raw{Payload: sample.bytes})[0]
		byID[id] = sample
	}
	for range 2 * len(byID) {
		check(p.next())
	}
	for _, f := range e.dead(len(byID)) {
		got := e.get(f.ID)
		check(got.Event)
		require.GreaterOrEqual(e, got.Size, len(byID[f.EventID].bytes))
	}
	stop()
	require.EqualValues(e, len(byID), e.replay(eventbus.FailureFilter{All: true}))
	p = e.run("h", nil)
	for range byID {
		check(p.next())
	}
	e.idle()
	p.total(int64(len(byID)))
}

func payloadIsMarshalledOnce(e *env) {
	e.create(eventbus.TopicConfig{})
	p := e.run("h", nil)
	for _, c := range []struct {
		value       any
		want        string
		contentType string
	}{
		{map[string]any{"b": 1, "a": []int{}}, `{"a":[],"b":1}`, "application/json"},
		{nil, `null`, "application/json"},
		{"text", `"text"`, "application/json"},
		{[]byte("bytes"), `"Ynl0ZXM="`, "application/json"},
		{json.RawMessage(`{ "as": "it is" }`), `{ "as": "it is" }`, "application/json"},
		{eventbus.Raw{Payload: []byte("<a/>"), ContentType: "application/xml"}, "<a/>", "application/xml"},
		{eventbus.Raw{Payload: []byte(`[1]`), ContentType: "application/vnd.shop+json"}, `[1]`, "application/vnd.shop+json"},
	} {
		e.send(c.value)
		got := p.next()
		require.Equal(e, c.want, string(got.Payload))
		require.Equal(e, c.contentType, got.ContentType)
	}
}
