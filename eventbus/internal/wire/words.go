package wire

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Most bytes of an entry stand in strings, and most strings hold nothing that
// ends or escapes. So strings are searched eight bytes at a time, with the
// arithmetic of H. Warren, "Hacker's Delight" (2nd ed., section 6-1): taking one
// from a byte sets its top bit if the byte was zero, and the lowest bit that is
// set in this way is exact, since borrows go upwards alone.
const (
	each = 0x0101010101010101 // one in each byte
	tops = 0x80 * each
)

// special sets the top bit of the first byte of w that is a quote, a backslash
// or a control character, and leaves those before it clear.
func special(w uint64) uint64 {
	quote, slash := w^'"'*each, w^'\\'*each
	return ((w-' '*each)&^w | (quote-each)&^quote | (slash-each)&^slash) & tops
}

func isSpecial(c byte) bool { return c < ' ' || c == '"' || c == '\\' }

// nextSpecial returns the index of the first quote, backslash or control
// character from b[i] on, or len(b).
func nextSpecial(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if m := special(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(b) && !isSpecial(b[i]) {
		i++
	}
	return i
}

// isPlain tells whether s is ASCII that stands in a JSON string as it is.
func isPlain[T string | []byte](s T) bool {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		// The compiler makes one load of this.
		w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		if special(w)|w&tops != 0 {
			return false
		}
	}
	for ; i < len(s); i++ {
		if isSpecial(s[i]) || s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
