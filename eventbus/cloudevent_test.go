package eventbus_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed4933/eventbus/eventbus"
)

// readCloudEvent reads an object as any JSON reader would.
func readCloudEvent(t require.TestingT, object []byte) (attributes map[string]json.RawMessage, payload []byte) {
	require.NoError(t, json.Unmarshal(object, &attributes), "%s", object)
	if text, ok := attributes["data_base64"]; ok {
		require.NotContains(t, attributes, "data")
		require.NoError(t, json.Unmarshal(text, &payload))
		return attributes, payload
	}
	return attributes, attributes["data"]
}

func TestEvent_CloudEvent(t *testing.T) {
	t.Parallel()
	event := &eventbus.Event{
		ID: "e-1", Topic: "orders", Type: "order.placed", Source: "/shop",
		Time:        time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC),
		ContentType: "application/json", Payload: []byte(`{"n":130775545883395173,"a":[]}`),
		Headers: map[string]string{"subject": "x"},
		Group:   "billing", Handler: "archive", Attempt: 3, Deliveries: 2,
	}
	const want = `{"specversion":"1.0","id":"e-1","source":"/shop","type":"order.placed",` +
		`"time":"2026-01-02T03:04:05.6Z","datacontenttype":"application/json","subject":"x",` +
		`"data":{"n":130775545883395173,"a":[]}}`
	require.Equal(t, want, string(event.CloudEvent()))
	require.Equal(t, "before"+want+"\n", string(event.AppendCloudEventLine([]byte("before"))))
}

func TestEvent_CloudEventOfBarePayload(t *testing.T) {
	t.Parallel()
	event := &eventbus.Event{ID: "e-1", Topic: "orders", Payload: []byte(`[1]`)}
	require.JSONEq(t,
		`{"specversion":"1.0","id":"e-1","source":"eventbus","type":"orders","datacontenttype":"application/json","data":[1]}`,
		string(event.CloudEvent()))
}

// A payload is the same bytes in both forms, whatever they are, and the line is
// one line.
func TestEvent_CloudEventKeepsPayload(t *testing.T) {
	t.Parallel()
	payloads := [][]byte{
		nil, {}, {0}, {0xff, 0xfe}, []byte("plain"), []byte("a\nb"), []byte("\n"), []byte("\r\n"),
		[]byte("{\n  \"a\": 1\r\n}"), []byte(`"line\nbreak"`), []byte(" [] "), []byte("[1]\n"), []byte(`"` + "\u2028" + `"`),
	}
	check := func(t require.TestingT, payload []byte, contentType string) {
		event := &eventbus.Event{ID: "e\n1", Topic: "t", ContentType: contentType, Payload: payload}
		object := event.CloudEvent()
		line := event.AppendCloudEventLine([]byte("x"))[1:]
		require.Equal(t, len(line)-1, bytes.IndexAny(line, "\r\n"))
		attributes, got := readCloudEvent(t, object)
		require.True(t, bytes.Equal(payload, got), "%q became %q", payload, got)
		inLine, got := readCloudEvent(t, line)
		require.True(t, bytes.Equal(payload, got), "%q became %q", payload, got)
		for _, m := range []map[string]json.RawMessage{attributes, inLine} {
			delete(m, "data")
			delete(m, "data_base64")
		}
		require.Equal(t, attributes, inLine)
	}
	for _, payload := range payloads {
		check(t, payload, "")
		check(t, payload, "text/plain")
	}
	rapid.Check(t, func(t *rapid.T) {
		payload := rapid.OneOf(
			rapid.SliceOf(rapid.Byte()),
			rapid.SliceOf(rapid.SampledFrom([]byte("{}[]\",:1 \n\r\\"))),
		).Draw(t, "payload")
		check(t, payload, rapid.SampledFrom([]string{"", "application/json", "text/plain"}).Draw(t, "type"))
	})
}
