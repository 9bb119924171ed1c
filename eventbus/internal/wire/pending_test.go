package wire

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestAppendPendingLeavesOutWhatDecodeFillsIn(t *testing.T) {
	t.Parallel()
	const id = "019ad5f2-7c3a-7def-8123-456789abcdef"
	at := TimeOf(id)
	require.Equal(t, time.Date(2025, 11, 30, 18, 7, 9, 882e6, time.UTC), at)

	e := Entry{ID: id, Source: "billing", Type: "orders", Time: at, ContentType: "application/json", Data: []byte(`{"n":1}`)}
	raw := AppendPending(nil, &e)
	require.Equal(t, `{"specversion":"1.0","id":"`+id+`","source":"billing","type":"orders","data":{"n":1}}`, string(raw))
	var fast Entry
	require.True(t, decodeOwn(raw, &fast))
	requireSame(t, e, Decode(raw, noID(t)))

	e.Time = at.Add(time.Microsecond) // not what the id tells
	require.Contains(t, string(AppendPending(nil, &e)), `"time":"2025-11-30T18:07:09.882001Z"`)
	e.ContentType, e.Data = "text/plain", []byte("n")
	require.Contains(t, string(AppendPending(nil, &e)), `"datacontenttype":"text/plain"`)
	e.ContentType, e.Data = "application/json", []byte("no JSON")
	require.Contains(t, string(AppendPending(nil, &e)), `"datacontenttype":"application/json"`)
}

func TestTimeOfOtherIdsIsZero(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"", "7", "order-7", uuid.NewString(), "019ad5f2-7c3a-7def-8123-456789abcdeg", "{19ad5f2-7c3a-7def-8123-456789abcde}",
		"019ad5f27c3a7def7123456789abcdef", "ffffffff-ffff-7fff-8fff-ffffffffffff", // beyond the year 9999
	} {
		require.Zero(t, TimeOf(id), "%q", id)
	}
}

// Whatever the event is, it comes back as it was, and both decoders agree.
func TestPendingEntriesComeBackWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := anyEntry().Draw(t, "entry")
		if rapid.Bool().Draw(t, "own id") {
			e.ID = uuid.Must(uuid.NewV7()).String()
			e.Time = TimeOf(e.ID).Add(rapid.SampledFrom([]time.Duration{0, 1, time.Millisecond}).Draw(t, "off"))
		}
		raw := AppendPending(nil, &e)
		want := Decode(Append(nil, &e), noID(t))
		requireSame(t, want, Decode(raw, noID(t)))
		checkPaths(t, raw)
	})
}

// Of what the bus writes, PeekID tells the id or nothing, wherever it is cut; and it
// tells it once the id has been seen.
func TestPeekIDOfAnyPrefix(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := anyEntry().Draw(t, "entry")
		raw := Append(nil, &e)
		if rapid.Bool().Draw(t, "pending") {
			raw = AppendPending(nil, &e)
		}
		want := Decode(raw, noID(t)).ID
		seen := bytes.Index(raw, []byte(`,"source":`))
		for n := range len(raw) + 1 {
			switch got := PeekID(raw[:n], len(raw)); {
			case n >= seen:
				require.Equal(t, want, got, "%d of %q", n, raw)
			case got != "":
				require.Equal(t, want, got, "%d of %q", n, raw)
			}
		}
	})
}

func TestPeekID(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3000)
	const head = 2048 // what a list reads of each
	for name, c := range map[string]struct{ raw, want string }{
		"own":                      {`{"specversion":"1.0","id":"7","source":"s","type":"t","data":"` + long + `"}`, "7"},
		"own, short":               {`{"specversion":"1.0","id":"7","source":"s","type":"t","data":1}`, "7"},
		"another order":            {` { "type" : "t", "source":"s", "x":{"id":"8"}, "id" : "7", "specversion" : "1.0", "data":"` + long + `"}`, "7"},
		"escapes":                  {`{"specversion":"1.0","\u0069d":"\u0037\"","source":"s","type":"t","data":"` + long + `"}`, `7"`},
		"id behind the data":       {`{"specversion":"1.0","source":"s","type":"t","data":"` + long + `","id":"7"}`, ""},
		"id behind it, short":      {`{"specversion":"1.0","source":"s","type":"t","data":"x","id":"7"}`, "7"},
		"version behind the data":  {`{"id":"7","source":"s","type":"t","data":"` + long + `","specversion":"1.0"}`, ""},
		"another version":          {`{"specversion":"0.3","id":"7","source":"s","type":"t","data":"` + long + `"}`, ""},
		"id is no text":            {`{"specversion":"1.0","id":7,"source":"s","type":"t","data":"` + long + `"}`, ""},
		"id is null":               {`{"specversion":"1.0","id":null,"source":"s","type":"t","data":"` + long + `"}`, ""},
		"id longer than the head":  {`{"specversion":"1.0","id":"` + long + `","source":"s","type":"t"}`, ""},
		"within the data":          {`{"data":{"specversion":"1.0","id":"7","x":"` + long + `"}}`, ""},
		"bare object":              {`{"id":"7","x":"` + long + `"}`, ""},
		"bare object, short":       {`{"id":"7"}`, ""},
		"bare text":                {long, ""},
		"bare list":                {`["specversion","1.0","id","7","` + long + `"]`, ""},
		"empty":                    {"", ""},
		"bytes":                    {"\x00\xff" + long, ""},
		"several values":           {`{}"id""7""specversion""1.0"` + long, ""},
		"object, then values":      {`{"a":1}"x" "id" "7" "specversion" "1.0" ` + long, ""},
		"members without an end":   {`{"specversion":"1.0","id":"7"` + " x" + long, "7"}, // what follows is not looked at
		"colon in place of a name": {`{:"specversion"` + long, ""},
	} {
		require.Equal(t, c.want, PeekID([]byte(c.raw[:min(head, len(c.raw))]), len(c.raw)), name)
	}
}
