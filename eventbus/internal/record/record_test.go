package record

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestFailureIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := Failure{
			Event: rapid.String().Draw(t, "event"), Handler: rapid.String().Draw(t, "handler"),
			Reason: Reason(rapid.String().Draw(t, "reason")), Error: rapid.StringN(-1, -1, MaxError).Draw(t, "error"),
			Attempts: rapid.IntMin(0).Draw(t, "attempts"), Deliveries: rapid.IntMin(0).Draw(t, "deliveries"),
			FirstAt: rapid.Int64Min(0).Draw(t, "first at"),
		}
		b := want.Marshal()
		require.Equal(t, byte('{'), b[0], "the time that Redis puts before it ends there")
		got, err := Unmarshal(b)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func TestErrorTextsAreCutAtACharacter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]string{"a", "ä", "世", "😀", "a😀", "\xff", "\x80", "a\xff"}).Draw(t, "unit")
		text := strings.Repeat(unit, rapid.IntRange(0, 3*MaxError).Draw(t, "times"))
		got := Cut(text)
		require.LessOrEqual(t, len(got), MaxError)
		require.True(t, utf8.ValidString(got))
		if len(text) <= MaxError && utf8.ValidString(text) {
			require.Equal(t, text, got)
			return
		}
		kept, _, found := strings.Cut(got, "… (")
		if len(text) > MaxError {
			require.True(t, found, "it says that something is missing")
		}
		if utf8.ValidString(text) {
			require.True(t, strings.HasPrefix(text, kept))
			require.Greater(t, len(kept), MaxError-50, "no more is cut than must be")
		}
	})
}

func TestMarshalCuts(t *testing.T) {
	t.Parallel()
	got, err := Unmarshal(Failure{Error: strings.Repeat("x", 100_000)}.Marshal())
	require.NoError(t, err)
	require.Len(t, got.Error, MaxError)
	require.Contains(t, got.Error, "100000 bytes in all")
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"event":"e","handler":"h","reason":"failed","attempts":1,"first_at":1}`))
	f.Add([]byte(`{"attempts":"1"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		failure, err := Unmarshal(b)
		if err != nil {
			require.Zero(t, failure)
			return
		}
		failure.Error = Cut(failure.Error)
		again, err := Unmarshal(failure.Marshal())
		require.NoError(t, err)
		require.Equal(t, failure, again)
	})
}
