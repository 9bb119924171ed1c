package wire

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// maxDepth is how deep the arrays and objects of a payload may be nested if it
// is to stand in an envelope as JSON. encoding/json stops at 10 000 levels, but
// other readers of a queue stop earlier (Jackson and Lua's cjson at 1 000).
const maxDepth = 512

// isValue tells whether b is exactly one JSON value of RFC 8259, without white
// space around it and no deeper than maxDepth. It says nothing about UTF-8.
//
// It agrees with json.Valid, and exists because Append and Decode check each
// payload: it takes less than a third of the time.
func isValue(b []byte) bool { return skipValue(b, 0, maxDepth) == len(b) }

// isJSON tells whether b is a JSON text: a value, white space around it, UTF-8.
func isJSON(b []byte) bool {
	if len(b) == 0 || !utf8.Valid(b) {
		return false
	}
	// json.Valid has the last word on what is nested too deeply for isValue.
	return isValue(bytes.Trim(b, " \t\r\n")) || json.Valid(b)
}

// The skip functions return the index after what begins at b[i], or -1 when
// there is no such thing. All accept an i of -1 or beyond the end.

func skipValue(b []byte, i, depth int) int {
	if uint(i) >= uint(len(b)) {
		return -1
	}
	switch c := b[i]; c {
	case '"':
		return skipString(b, i)
	case '{':
		return skipObject(b, i, depth)
	case '[':
		return skipArray(b, i, depth)
	case 't':
		return skipLiteral(b, i, "true")
	case 'f':
		return skipLiteral(b, i, "false")
	case 'n':
		return skipLiteral(b, i, "null")
	default:
		return skipNumber(b, i)
	}
}

func skipObject(b []byte, i, depth int) int {
	if depth == 0 {
		return -1
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		i = skipSpace(b, skipString(b, i))
		if uint(i) >= uint(len(b)) || b[i] != ':' {
			return -1
		}
		i = skipSpace(b, skipValue(b, skipSpace(b, i+1), depth-1))
		if uint(i) >= uint(len(b)) {
			return -1
		}
		switch b[i] {
		case '}':
			return i + 1
		case ',':
			i = skipSpace(b, i+1)
		default:
			return -1
		}
	}
}

func skipArray(b []byte, i, depth int) int {
	if depth == 0 {
		return -1
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		i = skipSpace(b, skipValue(b, i, depth-1))
		if uint(i) >= uint(len(b)) {
			return -1
		}
		switch b[i] {
		case ']':
			return i + 1
		case ',':
			i = skipSpace(b, i+1)
		default:
			return -1
		}
	}
}

func skipString(b []byte, i int) int {
	if uint(i) >= uint(len(b)) || b[i] != '"' {
		return -1
	}
	for i = nextSpecial(b, i+1); i < len(b); i = nextSpecial(b, i) {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return -1
			}
			i += n
		default:
			return -1
		}
	}
	return -1
}

// escapeLen returns the length of the escape sequence that b begins with, or 0.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0
			}
		}
		return 6
	}
	return 0
}

func skipNumber(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = skipDigits(b, i); i < 0 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = skipDigits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return skipDigits(b, i)
	}
	return i
}

// skipDigits wants at least one digit.
func skipDigits(b []byte, i int) int {
	start := i
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

func skipLiteral(b []byte, i int, literal string) int {
	if len(b)-i < len(literal) || string(b[i:i+len(literal)]) != literal {
		return -1
	}
	return i + len(literal)
}

func skipSpace(b []byte, i int) int {
	for uint(i) < uint(len(b)) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
