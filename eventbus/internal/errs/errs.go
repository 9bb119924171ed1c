// Package errs defines the errors that the bus returns to its users. It
// exists so that the internal packages can return them without importing the
// public package, which documents each of them in its errors.go.
package errs

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Sentinels. eventbus/errors.go says when each occurs and what it leaves behind.
var (
	InvalidArgument = errors.New("invalid argument")
	TopicNotFound   = errors.New("topic not found")
	TopicExists     = errors.New("topic already exists")
	TopicDisabled   = errors.New("topic is disabled")
	TopicFull       = errors.New("topic is full")
	DelayedFull     = fmt.Errorf("%w: too many events are delayed", TopicFull)
	TopicDeleting   = errors.New("topic is being deleted")
	GroupNotFound   = errors.New("group not found")
	GroupExists     = errors.New("group already exists")
	NoGroup         = errors.New("topic has no group")
	HandlerExists   = errors.New("handler already registered")
	HandlerNotFound = errors.New("handler not found")
	NoHandler       = errors.New("no handler registered")
	FailureNotFound = errors.New("failure not found")
	NotDelayed      = errors.New("no delayed event of that id waits; it was handed out or cancelled, or was never delayed")
	Conflict        = errors.New("settings changed meanwhile")
	PayloadTooLarge = errors.New("payload too large")
	Marshal         = errors.New("event does not marshal")
	Unmarshal       = errors.New("payload does not unmarshal")
	Closed          = errors.New("bus is closed")
	Running         = errors.New("bus is already running")
	Unavailable     = errors.New("redis is unavailable")
	RedisTooOld     = errors.New("redis is too old")
	LayoutMismatch  = errors.New("layout of another version")
	WrongType       = errors.New("redis key holds another type")
	Timeout         = errors.New("handler timed out")
	Panic           = errors.New("handler panicked")
	Abandoned       = errors.New("handler ignored its context")
	KilledProcess   = errors.New("processes died while handling")
)

// Argument says which argument was wrong, why, and what would be right.
type Argument struct {
	Field  string // dotted path of the field or name of the argument
	Value  string // what was given, quoted and cut
	Reason string // what is wrong and what would be right
}

func (e *Argument) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("invalid %s: %s", e.Field, e.Reason)
	}
	return fmt.Sprintf("invalid %s %s: %s", e.Field, e.Value, e.Reason)
}

// Unwrap makes errors.Is(err, InvalidArgument) hold.
func (e *Argument) Unwrap() error { return InvalidArgument }

// Invalid returns an *Argument. The value is quoted when it is a string, printed
// with %v otherwise, and cut at 80 bytes, with how many it has.
func Invalid(field string, value any, reason string, args ...any) error {
	text := ""
	switch v := value.(type) {
	case nil:
	case string:
		text = quote(v, shown)
	default:
		text = fmt.Sprintf("%v", v)
		if len(text) > shown {
			text = text[:shown] + "…"
		}
	}
	return &Argument{Field: field, Value: text, Reason: fmt.Sprintf(reason, args...)}
}

const (
	// shown is how many bytes are shown of what is wrong.
	shown = 80
	// longest is the greatest length of a name or an id, in bytes.
	longest = 255
)

// Quote returns a name or an id in quotes. Of what is longer than one may be it is
// the first 80 bytes and the length: who sends megabytes is not to get them back,
// four times as long, in an error and in the log.
func Quote(s string) string { return quote(s, longest) }

func quote(s string, most int) string {
	if len(s) <= most {
		return strconv.Quote(s)
	}
	end := shown
	for end > shown-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%q… (%d bytes)", s[:end], len(s))
}
