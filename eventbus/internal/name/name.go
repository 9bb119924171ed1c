// Package name holds the one rule for the names of topics, groups, handlers
// and namespaces.
package name

import (
	"unicode"
	"unicode/utf8"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// MaxLen is the greatest length of a name, in bytes.
const MaxLen = 255

// Rule says in words what Check demands.
const Rule = "a name is 1 to 255 bytes of letters, digits and . _ - : /"

// Check returns an error that wraps errs.InvalidArgument unless s is 1 to 255
// bytes of letters of any script, digits, and . _ - : / and nothing else.
// Braces would move a key to another cluster slot, spaces and globs would be
// ambiguous on a command line, and "|" separates fields in the settings hash.
// what names the kind of name in the error: "topic", "group", "handler id".
func Check(what, s string) error {
	if s == "" {
		return errs.Invalid(what, nil, "it is empty; %s", Rule)
	}
	if len(s) > MaxLen {
		return errs.Invalid(what, s, "it has %d bytes; %s", len(s), Rule)
	}
	if !utf8.ValidString(s) {
		return errs.Invalid(what, s, "it is not valid UTF-8; %s", Rule)
	}
	for i, r := range s {
		if !allowed(r) {
			return errs.Invalid(what, s, "%q at byte %d is not allowed; %s", r, i, Rule)
		}
	}
	return nil
}

func allowed(r rune) bool {
	switch r {
	case '.', '_', '-', ':', '/':
		return true
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}
