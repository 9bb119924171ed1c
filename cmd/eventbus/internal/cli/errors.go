package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/settings"
	"github.com/seed4933/eventbus/eventbus"
)

// usageError says that the program was called in a wrong way.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func wrongUsage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// exitCode is 2 where the command line or the environment was wrong, and 1
// where the call was right and failed; so is a wrong settings file, and a
// payload that is too large.
func exitCode(err error) int {
	var usage *usageError
	var file *settings.Error
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &file), errors.Is(err, eventbus.ErrPayloadTooLarge), errors.Is(err, eventbus.ErrWrongType):
		return exitFailed
	case errors.Is(err, eventbus.ErrInvalidArgument):
		return exitUsage
	}
	return exitFailed
}

// explain says what went wrong, where, and what would be right.
func (a *app) explain(ctx context.Context, err error) string {
	text := err.Error()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return "interrupted: " + text
	}
	if a.where != "" && ofServer(err) {
		text += " (" + a.where + ")"
	}
	if hint := hint(err); hint != "" {
		text += "; " + hint
	}
	return text
}

// ofServer tells that it matters which server and namespace were asked.
func ofServer(err error) bool {
	for _, e := range []error{
		eventbus.ErrUnavailable, eventbus.ErrTopicNotFound, eventbus.ErrTopicExists, eventbus.ErrGroupNotFound,
		eventbus.ErrLayoutMismatch, eventbus.ErrRedisTooOld, eventbus.ErrWrongType,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// hints say what would be right, where the error itself does not.
var hints = []struct {
	err  error
	text string
}{
	{eventbus.ErrTopicNotFound, "eventbus topic list shows those that exist, eventbus topic create makes one"},
	{eventbus.ErrTopicExists, "eventbus topic update changes it"},
	{eventbus.ErrTopicDisabled, "eventbus topic enable switches it on"},
	{eventbus.ErrTopicFull, "wait until its events are handled, or raise the limit: eventbus topic update --max-waiting"},
	{eventbus.ErrTopicDeleting, "complete it with eventbus topic delete"},
	{eventbus.ErrGroupNotFound, "choose one with --group"},
	{eventbus.ErrFailureNotFound, "eventbus failures list shows those that exist"},
	{eventbus.ErrPayloadTooLarge, "--max-payload raises the limit"},
	{eventbus.ErrUnavailable, "--redis or EVENTBUS_REDIS says where Redis is"},
}

func hint(err error) string {
	if _, moved := redis.IsMovedError(err); moved {
		return "the server belongs to a Cluster: name two or more of its nodes, redis://HOST1:PORT,HOST2:PORT"
	}
	for _, h := range hints {
		if errors.Is(err, h.err) {
			return h.text
		}
	}
	return ""
}
