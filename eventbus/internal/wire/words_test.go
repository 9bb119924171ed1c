package wire

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Each byte at each place of a word, among others that could carry a borrow.
func TestNextSpecialEveryByte(t *testing.T) {
	t.Parallel()
	for _, filler := range []byte{' ', '!', '#', '[', ']', 'a', 0x7f, 0x80, 0xa2, 0xff} {
		for c := range 256 {
			for at := range 19 {
				b := bytes.Repeat([]byte{filler}, 19)
				b[at] = byte(c)
				want := len(b)
				if isSpecial(byte(c)) {
					want = at
				}
				plain := want == len(b) && filler < utf8.RuneSelf && c < utf8.RuneSelf
				// A comparison first, as there are 50 000 of them.
				if nextSpecial(b, 0) != want || isPlain(b) != plain {
					require.Equal(t, want, nextSpecial(b, 0), "%q", b)
					require.Equal(t, plain, isPlain(b), "%q", b)
				}
			}
		}
	}
}

func TestNextSpecialAnyBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte("aa !#[]\"\\\x1f\x00\x80"))), 0, 40).Draw(t, "bytes")
		i := rapid.IntRange(0, len(b)).Draw(t, "from")
		want, plain := i, true
		for want < len(b) && !isSpecial(b[want]) {
			want++
		}
		for _, c := range b {
			plain = plain && !isSpecial(c) && c < utf8.RuneSelf
		}
		require.Equal(t, want, nextSpecial(b, i))
		require.Equal(t, plain, isPlain(b))
		require.Equal(t, plain, isPlain(string(b)))
	})
}
