// Package show writes answers for people, as tables, and for programs, as one
// JSON object a line. Nothing that came from an event, an error or a name can
// move a terminal's cursor, colour it or reorder its text: whatever is not a
// printable character is written as an escape.
package show

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text returns s with everything that is not printable escaped as in a Go
// string literal: control characters, the C1 controls that some terminals obey,
// marks that turn the direction of writing, and bytes that are not UTF-8.
func Text(s string) string {
	if printable(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case strconv.IsPrint(r):
			b.WriteString(s[:size])
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[size:]
	}
	return b.String()
}

func printable(s string) bool {
	for i, r := range s {
		if !strconv.IsPrint(r) || r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)) {
			return false
		}
	}
	return true
}

// Line returns s as one line of Text: line breaks become "; ".
func Line(s string) string {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	return Text(strings.Join(parts, "; "))
}

// Cut returns at most n characters of Text(s). Where some are left out, an ellipsis
// stands for them in the first half: errors begin with what was done and end with the
// cause.
func Cut(s string, n int) string {
	// A character is at most 4 bytes, so that the middle need not be looked at, and one
	// that is cut there is not shown.
	if most := 4 * n; len(s) > 2*most {
		s = s[:most] + s[len(s)-most:]
	} else if utf8.RuneCountInString(Text(s)) <= n {
		return Text(s)
	}
	r := []rune(Text(s))
	head := (n - 1) / 3
	return string(r[:head]) + "…" + string(r[len(r)-(n-1-head):])
}

// escapeJSON writes what is not printable in one line of JSON text as \u
// escapes. It stands within strings only, so that the text's meaning is the
// same; but for tabs, which in JSON text stand only between its tokens.
func escapeJSON(text []byte) []byte {
	clean := true
	for _, c := range text {
		if c < ' ' || c >= 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return text
	}
	var b bytes.Buffer
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\ufffd`)
		case r == '\t', strconv.IsPrint(r):
			b.Write(text[:size])
		case r > 0xffff:
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[size:]
	}
	return b.Bytes()
}
