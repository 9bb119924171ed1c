package wire

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// quotedLen returns the greatest length that appendString may write for s: a
// control character takes six bytes.
func quotedLen(s string) int {
	if isPlain(s) {
		return len(s) + len(`""`)
	}
	return len(s)*len(`\u0000`) + len(`""`)
}

// appendString appends s as a JSON string. It escapes only what RFC 8259 says
// must be escaped, and writes U+FFFD for invalid UTF-8 as encoding/json does.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	if isPlain(s) {
		dst = append(dst, s...)
		return append(dst, '"')
	}
	start := 0 // of what is not yet written
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, s[start:i]...)
			dst = append(dst, '\\', byte(r))
			start = i + 1
		case r < ' ':
			dst = append(dst, s[start:i]...)
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&0xf])
			start = i + 1
		case r == utf8.RuneError:
			// Either one invalid byte, or U+FFFD itself, which stays.
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				dst = append(dst, s[start:i]...)
				dst = utf8.AppendRune(dst, utf8.RuneError)
				start = i + 1
			}
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
