package errs_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// What is too long to be a name is shown in part, and its length is told.
func TestQuote(t *testing.T) {
	t.Parallel()
	require.Equal(t, `"a\x01é"`, errs.Quote("a\x01é"))
	name := strings.Repeat("é", 127) + "a"
	require.Equal(t, `"`+name+`"`, errs.Quote(name))
	require.Equal(t, `"`+strings.Repeat("a", 80)+`"… (256 bytes)`, errs.Quote(strings.Repeat("a", 256)))
	require.Equal(t, `"`+strings.Repeat("訂", 26)+`"… (300 bytes)`, errs.Quote(strings.Repeat("訂", 100)), "no rune is cut in two")
	for _, filler := range []string{"a", "\x01", "\xff", "\x80", "訂", "𐐷"} {
		got := errs.Quote(strings.Repeat(filler, 1<<20))
		require.Less(t, len(got), 400, filler)
		require.True(t, utf8.ValidString(got))
	}
}

func TestInvalidShowsPart(t *testing.T) {
	t.Parallel()
	require.EqualError(t, errs.Invalid("id", "a b", "it has %d bytes", 3), `invalid id "a b": it has 3 bytes`)
	require.EqualError(t, errs.Invalid("id", strings.Repeat("a", 81), "no"), `invalid id "`+strings.Repeat("a", 80)+`"… (81 bytes): no`)
	require.EqualError(t, errs.Invalid("id", 81, "no"), "invalid id 81: no")
}
