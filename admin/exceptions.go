package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// kinds of exceptions of the IDL
type kind int

const (
	notFound kind = iota
	alreadyExists
	invalidArgument
	disabled
	conflict
	unavailable
	unauthenticated
)

// codes are the errors that go over the wire: which exception says them, and under
// which code a client finds them again. The first that matches counts.
var codes = []struct {
	err  error
	code string
	kind kind
}{
	{eventbus.ErrTopicNotFound, "topic_not_found", notFound},
	{eventbus.ErrGroupNotFound, "group_not_found", notFound},
	{eventbus.ErrHandlerNotFound, "handler_not_found", notFound},
	{eventbus.ErrFailureNotFound, "failure_not_found", notFound},
	{eventbus.ErrNotDelayed, "not_delayed", notFound},
	{ErrJobNotFound, "job_not_found", notFound},
	{eventbus.ErrTopicExists, "topic_exists", alreadyExists},
	{eventbus.ErrGroupExists, "group_exists", alreadyExists},
	{eventbus.ErrPayloadTooLarge, "payload_too_large", invalidArgument},
	{eventbus.ErrWrongType, "wrong_type", unavailable},
	{eventbus.ErrInvalidArgument, "invalid_argument", invalidArgument},
	{eventbus.ErrTopicDisabled, "topic_disabled", disabled},
	{eventbus.ErrDelayedFull, "delayed_full", disabled},
	{eventbus.ErrTopicFull, "topic_full", disabled},
	{eventbus.ErrNoGroup, "no_group", disabled},
	{eventbus.ErrTopicDeleting, "topic_deleting", conflict},
	{eventbus.ErrConflict, "conflict", conflict},
	{ErrTooManyJobs, "too_many_jobs", conflict},
	{eventbus.ErrRedisTooOld, "redis_too_old", unavailable},
	{eventbus.ErrLayoutMismatch, "layout_mismatch", unavailable},
	{eventbus.ErrClosed, "closed", unavailable},
	{ErrBusy, "busy", unavailable},
	{eventbus.ErrUnavailable, "unavailable", unavailable},
	{context.Canceled, "unavailable", unavailable},
	{context.DeadlineExceeded, "unavailable", unavailable},
	{ErrUnauthenticated, "unauthenticated", unauthenticated},
}

// toException is the error of a call as the IDL says it, or one of which a client sees
// the text alone.
func toException(op string, err error) error {
	if err == nil {
		return nil
	}
	for _, c := range codes {
		if !errors.Is(err, c.err) {
			continue
		}
		if errors.Is(err, eventbus.ErrInvalidArgument) {
			c.kind = invalidArgument // also of a queue key that names no list
		}
		return exception(op, c.kind, c.code, err)
	}
	return errors.New(clip(err.Error(), maxText))
}

// isOurs tells that an exception is not the fault of who called, but of the server or of
// what stands behind it.
func isOurs(exception error) bool {
	switch exception.(type) {
	case *thriftbus.NotFound, *thriftbus.AlreadyExists, *thriftbus.InvalidArgument, *thriftbus.Disabled, *thriftbus.Conflict, *thriftbus.Unauthenticated:
		return false
	}
	return true
}

// maxText is how many bytes of a text an exception carries: who sends a list of ten
// thousand wrong names is not told of each.
const maxText = 4 << 10

// maxName is how many bytes of a name or an id errors show, all that one may have. About
// a job with a longer id Redis is not asked.
const maxName = 255

// clip returns a text as valid UTF-8, and of a longer one than most bytes the first of
// them and how many there are.
func clip(text string, most int) string {
	if len(text) <= most {
		return strings.ToValidUTF8(text, "?")
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s… %d bytes", strings.ToValidUTF8(text[:end], "?"), len(text))
}

func exception(op string, k kind, code string, err error) error {
	wrong := arguments(err)
	text, said := toArguments(err.Error(), wrong)
	text = clip(text, maxText)
	switch k {
	case notFound:
		return &thriftbus.NotFound{Message: text, Code: code}
	case alreadyExists:
		return &thriftbus.AlreadyExists{Message: text, Code: code}
	case invalidArgument:
		e := &thriftbus.InvalidArgument{Message: text, Code: code, Reason: text, Arguments: said}
		if len(wrong) == 1 {
			e.Field, e.Reason = clip(idlField(op, wrong[0].Field), maxText), clip(wrong[0].Reason, maxText)
		} else if code == "payload_too_large" {
			e.Field = "payload"
		}
		return e
	case disabled:
		return &thriftbus.Disabled{Message: text, Code: code}
	case conflict:
		return &thriftbus.Conflict{Message: text, Code: code}
	case unavailable:
		return &thriftbus.Unavailable{Message: text, Code: code}
	default:
		return &thriftbus.Unauthenticated{Message: text, Code: code}
	}
}

// arguments are all that an error says of arguments.
func arguments(err error) (all []*eventbus.ArgumentError) {
	switch e := err.(type) {
	case *eventbus.ArgumentError:
		return []*eventbus.ArgumentError{e}
	case interface{ Unwrap() error }:
		return arguments(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = append(all, arguments(one)...)
		}
	}
	return all
}

// remoteError is an error that a server has sent: its text, and what it is.
type remoteError struct {
	text string
	is   []error
}

func (e *remoteError) Error() string { return e.text }

func (e *remoteError) Unwrap() []error { return e.is }

// fromException is what a server meant; ok says whether the error is one that a
// server has sent.
func fromException(err error) (meant error, ok bool) {
	var text, code string
	var is []error
	var class error // what an exception is whose code is not known here
	var (
		missing  *thriftbus.NotFound
		exists   *thriftbus.AlreadyExists
		invalid  *thriftbus.InvalidArgument
		off      *thriftbus.Disabled
		changed  *thriftbus.Conflict
		down     *thriftbus.Unavailable
		stranger *thriftbus.Unauthenticated
	)
	switch {
	case errors.As(err, &missing):
		text, code = missing.Message, missing.Code
	case errors.As(err, &exists):
		text, code = exists.Message, exists.Code
	case errors.As(err, &invalid):
		text, code, class = invalid.Message, invalid.Code, eventbus.ErrInvalidArgument
		if text, is = fromArguments(text, invalid.Arguments); len(is) == 0 {
			is = append(is, &eventbus.ArgumentError{Field: goField(invalid.Field), Reason: invalid.Reason})
		}
	case errors.As(err, &off):
		text, code = off.Message, off.Code
	case errors.As(err, &changed):
		text, code, class = changed.Message, changed.Code, eventbus.ErrConflict
	case errors.As(err, &down):
		text, code, class = down.Message, down.Code, eventbus.ErrUnavailable
	case errors.As(err, &stranger):
		text, code, class = stranger.Message, stranger.Code, ErrUnauthenticated
	default:
		return err, false
	}
	for _, c := range codes {
		if c.code == code {
			class = c.err
			break
		}
	}
	if class != nil {
		is = append(is, class)
	}
	return &remoteError{text: text, is: is}, true
}
