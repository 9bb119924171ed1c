package wire

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// givenID is the id that tests hand out to bare payloads.
func givenID() string { return "given" }

// noID is for bytes that must be read as an envelope.
func noID(t require.TestingT) func() string {
	return func() string {
		require.FailNow(t, "an id was asked for: the envelope was read as a bare payload")
		return ""
	}
}

// requireSame compares entries, an empty payload being the same as none.
func requireSame(t require.TestingT, want, got Entry, args ...any) {
	require.Equal(t, string(want.Data), string(got.Data), args...)
	want.Data, got.Data = nil, nil
	require.Equal(t, want, got, args...)
}

// newEntry is a plain event as it is sent.
func newEntry(data string) Entry {
	return Entry{
		ID:          "0198c7a1-3f6e-7d2a-9b1c-5e4f3a2b1c0d",
		Source:      "billing",
		Type:        "user.registered",
		Time:        time.Date(2025, 8, 20, 12, 30, 45, 123456789, time.UTC),
		ContentType: typeJSON,
		Data:        []byte(data),
	}
}

// anyString draws strings of any script, with quotes and control characters.
func anyString() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringN(1, 40, -1),
		rapid.StringMatching(`[a-z0-9.:/-]{1,40}`),
		rapid.StringOfN(rapid.RuneFrom([]rune("\x00\x1f\"\\\n\t/<>&\u007f\u2028\ufffd\U0001f600é語")), 1, 20, -1),
	)
}

// anyData draws payloads: JSON of many forms, near misses, and bytes.
func anyData() *rapid.Generator[[]byte] {
	return rapid.OneOf(
		rapid.SliceOfN(rapid.Byte(), 0, 300),
		rapid.Custom(func(t *rapid.T) []byte {
			text := []byte(rapid.SampledFrom(jsonTexts()).Draw(t, "json"))
			switch rapid.IntRange(0, 3).Draw(t, "damage") {
			case 0:
				i := rapid.IntRange(0, len(text)).Draw(t, "at")
				return slices.Insert(text, i, rapid.SampledFrom([]byte(" \n\x00\xff\"\\{}[],:0e-.")).Draw(t, "byte"))
			case 1:
				return text[:rapid.IntRange(0, len(text)).Draw(t, "cut")]
			}
			return text
		}),
	)
}

func anyHeaders() *rapid.Generator[map[string]string] {
	name := rapid.OneOf(
		rapid.StringMatching(`[a-z0-9]{1,20}`),
		rapid.SampledFrom([]string{"subject", "dataschema", "traceparent", "ebook", "zz", "0"}),
		anyString(),
	).Filter(func(s string) bool { return !isField(s) })
	return rapid.Custom(func(t *rapid.T) map[string]string {
		value := rapid.OneOf(rapid.Just(""), anyString())
		headers := rapid.MapOfN(name, value, 0, 5).Draw(t, "headers")
		if len(headers) == 0 {
			return nil
		}
		return headers
	})
}

// anyEntry draws entries that Append writes without changing a field.
func anyEntry() *rapid.Generator[Entry] {
	return rapid.Custom(func(t *rapid.T) Entry {
		str := anyString()
		orEmpty := rapid.OneOf(rapid.Just(""), str)
		var at time.Time
		if rapid.Bool().Draw(t, "timed") {
			at = time.Unix(rapid.Int64Range(-62167219200, 253402300799).Draw(t, "sec"),
				rapid.Int64Range(0, 999999999).Draw(t, "nsec")).UTC()
		}
		return Entry{
			ID:          str.Draw(t, "id"),
			Source:      str.Draw(t, "source"),
			Type:        str.Draw(t, "type"),
			Time:        at,
			ContentType: rapid.OneOf(rapid.SampledFrom([]string{typeJSON, typeBinary, "text/plain; charset=utf-8"}), str).Draw(t, "contentType"),
			Data:        anyData().Draw(t, "data"),
			Headers:     anyHeaders().Draw(t, "headers"),
			Handler:     orEmpty.Draw(t, "handler"),
			Attempt:     rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 1<<31-1)).Draw(t, "attempt"),
			Deliveries:  rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 1<<31-1)).Draw(t, "deliveries"),
			Failure:     orEmpty.Draw(t, "failure"),
			FailedAt:    rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 1<<63-1)).Draw(t, "failedAt"),
		}
	})
}
