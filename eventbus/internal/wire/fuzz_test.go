package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzDecode holds that no bytes make Decode panic, that both paths agree, that
// what is no envelope is kept whole, and that an envelope, written anew, says
// the same.
func FuzzDecode(f *testing.F) {
	for _, text := range append(jsonTexts(), notJSON()...) {
		f.Add([]byte(text))
		e := newEntry(text)
		e.Headers = map[string]string{"subject": "é", "a": ""}
		e.Handler, e.Attempt, e.Failure, e.FailedAt = "h", 2, "f", 7
		f.Add(Append(nil, &e))
	}
	f.Add([]byte(` {"data":[ ],"type":"t","id":"1","source":"s","x":1e9,"y":true,"time":"2025-08-20T14:30:45+02:00","specversion":"1.0","ebattempt":"3"}`))
	f.Add([]byte(`{"specversion":"1.0","id":"1","source":"s","type":"t","data_base64":"AAE="}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		checkPaths(t, raw)
		got := Decode(raw, givenID)
		if got.Bare {
			require.Equal(t, "given", got.ID)
			require.Equal(t, string(raw), string(got.Data))
		}
		require.NotEmpty(t, got.ContentType)
		again := got
		if again.Bare { // as the bus writes it on when it has to be retried
			again.Bare, again.Source, again.Type = false, "s", "topic"
		}
		requireSame(t, again, Decode(Append(nil, &again), noID(t)), "%q", raw)
	})
}

// FuzzRoundTrip holds that payloads and strings come back as they were.
func FuzzRoundTrip(f *testing.F) {
	for _, text := range append(jsonTexts(), notJSON()...) {
		f.Add([]byte(text), "1", "subject", "x")
	}
	f.Fuzz(func(t *testing.T, data []byte, id, name, value string) {
		e := newEntry("")
		e.Data = data
		// Strings are Unicode, ids are not empty, and fields are no headers.
		e.ID += string([]rune(id))
		if name = string([]rune(name)); !isField(name) {
			e.Headers = map[string]string{name: string([]rune(value))}
		}
		raw := Append(nil, &e)
		checkPaths(t, raw)
		requireSame(t, e, Decode(raw, noID(t)))
	})
}

// FuzzPeekID holds that no bytes make PeekID panic, and that what it tells of an
// envelope by its first bytes is what Decode tells of the whole.
func FuzzPeekID(f *testing.F) {
	for _, text := range jsonTexts() {
		e := newEntry(text)
		raw := Append(nil, &e)
		for _, n := range []int{0, 1, 30, 50, len(raw) - 1, len(raw)} {
			f.Add(raw, n)
		}
		f.Add(AppendPending(nil, &e), 60)
	}
	f.Add([]byte(`{"type":"t","data":"id","id":"7","source":"s","specversion":"1.0"}`), 40)
	f.Add([]byte(`{}"id""7""specversion""1.0" `), 27)
	f.Add([]byte(`{"specversion":"1.0","id":"\ud800","source":"s","type":"t"}`), 40)
	f.Fuzz(func(t *testing.T, raw []byte, n int) {
		if n < 0 || n > len(raw) {
			return
		}
		got, whole := PeekID(raw[:n], len(raw)), Decode(raw, givenID)
		switch {
		case !whole.Bare && (got != "" || n == len(raw)):
			require.Equal(t, whole.ID, got, "%d of %q", n, raw)
		case n == len(raw):
			require.Empty(t, got, "%q", raw)
		}
	})
}
