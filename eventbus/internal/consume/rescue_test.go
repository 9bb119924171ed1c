package consume

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/record"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/eventbus/internal/wire"
)

func fixedID() string { return "00000000-0000-7000-8000-000000000001" }

// Whatever a dead consumer held: it is handed out again with its payload as it
// was, one delivery more on its count, and after five deliveries it is dead; its
// failure can be read, and its id is one.
func FuzzRescue(f *testing.F) {
	for _, text := range []string{
		"", "junk", "\xff\x00", "{}", `{"n":130775545883395173}`,
		`{"specversion":"1.0","id":"e","source":"s","type":"t","datacontenttype":"application/json","data":{"a":[]}}`,
		`{"specversion":"1.0","id":"e","source":"s","type":"t","ebhandler":"h","ebattempt":3,"ebdeliveries":3,"ebfailure":"f","ebfailedat":5,"data_base64":"AAE="}`,
		`{"specversion":"1.0","id":"e","source":"s","type":"t","ebdeliveries":2147483647,"ebfailure":"a|e","data":1}`,
		`{"specversion":"1.0","id":"e","source":"s","type":"t","ebdeliveries":-9,"ebattempt":1e9,"data":1}`,
	} {
		f.Add([]byte(text), false, false)
		f.Add([]byte(text), true, false)
		f.Add([]byte(text), true, true)
	}
	c := &Consumer{cfg: Config{NewID: fixedID}}
	f.Fuzz(func(t *testing.T, raw []byte, rawTopic, cameBack bool) {
		topic := &store.Topic{Name: "t", Wire: store.WireCloudEvents}
		receipt := "1-1"
		if rawTopic {
			topic.Wire = store.WireRaw
		}
		if cameBack {
			receipt += "r"
		}
		first := decode(topic, cameBack, raw, fixedID)
		if rawTopic && !cameBack {
			require.True(t, bytes.Equal(raw, first.Data), "what a producer pushed is a payload, whatever it looks like")
		}
		entry, deliveries := raw, first.Deliveries
		for range maxDeliveries {
			p := c.rescue(topic, receipt, entry)
			receipt = "1-1r" // from now on it has come back
			deliveries++
			e := wire.Decode(p.Entry, fixedID)
			require.True(t, bytes.Equal(first.Data, e.Data), "the payload has changed from %q to %q", first.Data, e.Data)
			require.Equal(t, first.Handler, e.Handler)
			require.Equal(t, first.Attempt, e.Attempt)
			require.Equal(t, first.ID, e.ID)
			require.False(t, e.Bare)
			entry = p.Entry
			if p.Kind == store.BackFirst {
				require.Less(t, deliveries, maxDeliveries)
				require.Equal(t, deliveries, e.Deliveries)
				continue
			}
			require.Equal(t, store.Dead, p.Kind)
			require.GreaterOrEqual(t, deliveries, maxDeliveries)
			require.True(t, isFailureID(p.ID), "%q", p.ID)
			require.Equal(t, p.ID, e.Failure)
			failure, err := record.Unmarshal(p.Meta)
			require.NoError(t, err)
			require.Equal(t, record.Killed, failure.Reason)
			require.Equal(t, first.Handler, failure.Handler)
			require.Positive(t, failure.FirstAt)
			return
		}
		require.Fail(t, "it is not dead yet", "after %d deliveries", deliveries)
	})
}

func FuzzFailureID(f *testing.F) {
	for _, id := range []string{"", "f", fixedID(), "a|e", "a b", "ä", "\x00", string(make([]byte, 200)), "A-9z"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if !isFailureID(id) {
			return
		}
		require.NotEmpty(t, id)
		require.LessOrEqual(t, len(id), 255)
		require.True(t, utf8.ValidString(id))
		require.NotContains(t, id, "|")
	})
}
