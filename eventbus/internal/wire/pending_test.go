package wire

import (
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
