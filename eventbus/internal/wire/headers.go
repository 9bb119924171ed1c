package wire

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// Limits of what CheckHeaders lets pass.
const (
	// MaxHeaders is how many headers an event may have.
	MaxHeaders = 64
	// MaxHeaderName is the greatest length of a header's name, in bytes.
	MaxHeaderName = 20
	// MaxHeaderValue is the greatest length of a header's value, in bytes.
	MaxHeaderValue = 8 << 10
)

const headerRule = "a header's name is 1 to 20 of a-z and 0-9"

// CheckHeaders returns an error that wraps errs.InvalidArgument unless all
// headers can be attributes of a CloudEvents envelope beside those of the bus:
// names of 1 to 20 characters a-z and 0-9, that are neither attributes with a
// meaning of their own in the envelope nor begin with "eb"; values of valid
// UTF-8 without control characters, at most 8 KiB each; at most 64 headers.
// "subject", "dataschema" and "traceparent" are headers like others.
//
// Of several faults it names the one of the first header in alphabetical order.
func CheckHeaders(h map[string]string) error {
	if len(h) > MaxHeaders {
		return errs.Invalid("headers", nil, "there are %d; at most %d are allowed", len(h), MaxHeaders)
	}
	if len(h) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if err := checkHeaderName(name); err != nil {
			return err
		}
		if err := checkHeaderValue(name, h[name]); err != nil {
			return err
		}
	}
	return nil
}

func checkHeaderName(name string) error {
	const field = "header name"
	switch {
	case name == "":
		return errs.Invalid(field, nil, "it is empty; %s", headerRule)
	case len(name) > MaxHeaderName:
		return errs.Invalid(field, name, "it has %d bytes; %s", len(name), headerRule)
	}
	for i, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return errs.Invalid(field, name, "%q at byte %d is not allowed; %s", r, i, headerRule)
		}
	}
	switch {
	case isCore(name):
		return errs.Invalid(field, name, "it is an attribute of the envelope itself; choose another name")
	case strings.HasPrefix(name, ownPrefix):
		return errs.Invalid(field, name, "names that begin with %q are the bus's own; choose another name", ownPrefix)
	}
	return nil
}

func checkHeaderValue(name, value string) error {
	field := "header " + name
	switch {
	case len(value) > MaxHeaderValue:
		return errs.Invalid(field, nil, "its value has %d bytes; at most %d are allowed", len(value), MaxHeaderValue)
	case !utf8.ValidString(value):
		return errs.Invalid(field, value, "its value is not valid UTF-8; encode bytes as base64")
	}
	for i, r := range value {
		if unicode.IsControl(r) {
			return errs.Invalid(field, value, "%q at byte %d is a control character, which is not allowed", r, i)
		}
	}
	return nil
}
