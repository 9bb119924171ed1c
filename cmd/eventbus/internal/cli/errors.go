package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/cmd/eventbus/internal/serve"
	"github.com/seed4933/eventbus/cmd/eventbus/internal/settings"
	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/credentials"
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

// explain says what went wrong, where, and what would be right: of several errors
// of each, but what would be right for some in a row once, behind the last.
func (a *app) explain(ctx context.Context, err error) string {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		var text []string
		for _, one := range joined(err) {
			if one != context.Canceled { // it says no more than that
				text = append(text, a.reword(one))
			}
		}
		if len(text) == 0 {
			return "interrupted"
		}
		return "interrupted: " + strings.Join(text, "; ")
	}
	var text, right []string
	for _, one := range joined(err) {
		what, remedy := a.reword(one), a.remedy(ctx, one)
		if n := len(right); n > 0 && right[n-1] == remedy {
			right[n-1] = ""
		}
		text, right = append(text, what), append(right, remedy)
	}
	for i := range text {
		text[i] += right[i]
	}
	return strings.Join(text, "; ")
}

// joined takes apart what errors.Join has put together.
func joined(err error) []error {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	var text []string
	for _, one := range several.Unwrap() {
		all, text = append(all, joined(one)...), append(text, one.Error())
	}
	if strings.Join(text, "\n") != err.Error() {
		return []error{err} // it has words of its own
	}
	return all
}

// remedy is what stands behind an error: where it was met, and what would be right.
func (a *app) remedy(ctx context.Context, err error) (text string) {
	connecting := ofConnection(err)
	if a.where != "" && (connecting || ofServer(err)) && !strings.Contains(err.Error(), a.where) {
		text = " (" + a.where + ")"
	}
	right := ""
	if connecting && !a.remote && !dialling(err) && !answered(err) {
		right = a.target.Mismatch(ctx)
	}
	if right == "" && a.remote {
		right = remoteHint(err, a.secure)
	}
	if right == "" && !(a.removing() && errors.Is(err, eventbus.ErrGroupNotFound)) {
		right = hint(err)
	}
	if right != "" {
		text += "; " + right
	}
	return text
}

// removing tells that a group is named by another flag than --group.
func (a *app) removing() bool { return a.command != nil && a.command.Flags().Changed("remove-group") }

// instead says of an error of the bus what the user has asked for, in place of the
// step on the way to it that has failed: of that its text says step first.
func instead(what, step string, err error) error {
	text, _ := strings.CutPrefix(err.Error(), step+": ")
	return &steppedError{what + ": " + text, err}
}

type steppedError struct {
	text string
	err  error
}

func (e *steppedError) Error() string { return e.text }
func (e *steppedError) Unwrap() error { return e.err }

// The steps that stand in for what was asked for.
func reading(topic string) string { return fmt.Sprintf("read topic %q", topic) }

func readingFigures(topic string) string { return fmt.Sprintf("read figures of topic %q", topic) }

func counting(topic, group string) string {
	return fmt.Sprintf("count failures of topic %q, group %q", topic, group)
}

// ofServer tells that it matters which server and namespace were asked.
func ofServer(err error) bool {
	return isAny(err, eventbus.ErrTopicNotFound, eventbus.ErrTopicExists, eventbus.ErrGroupNotFound, eventbus.ErrHandlerNotFound,
		eventbus.ErrLayoutMismatch, eventbus.ErrRedisTooOld, eventbus.ErrWrongType, admin.ErrUnauthenticated)
}

// ofConnection tells that a server could not be reached, refuses to serve, or
// does not speak as Redis does. The last has no type: it is what neither Redis,
// nor the bus, nor this program has said.
func ofConnection(err error) bool {
	var reply redis.Error
	var usage *usageError
	var file *settings.Error
	var path *fs.PathError
	var secret *credentials.Error
	var answer *show.WriteError
	var listen *net.OpError
	var job *jobError
	switch {
	case errors.Is(err, eventbus.ErrUnavailable):
		return true
	case errors.As(err, &reply), errors.As(err, &usage), errors.As(err, &file), errors.As(err, &path), errors.As(err, &secret), errors.As(err, &answer), errors.As(err, &job):
		return false
	case errors.As(err, &listen) && listen.Op == "listen": // the HTTP side
		return false
	}
	return !ofServer(err) && !isAny(err, errDeclined, errForeign, serve.ErrAbandoned, context.Canceled,
		admin.ErrJobNotFound, admin.ErrTooManyJobs, eventbus.ErrInvalidArgument, eventbus.ErrPayloadTooLarge, eventbus.ErrTopicDisabled, eventbus.ErrTopicFull, eventbus.ErrTopicDeleting, eventbus.ErrGroupExists,
		eventbus.ErrNoGroup, eventbus.ErrConflict, eventbus.ErrHandlerExists, eventbus.ErrNoHandler, eventbus.ErrFailureNotFound, eventbus.ErrNotDelayed,
		eventbus.ErrClosed, eventbus.ErrRunning)
}

// dialling tells that nobody answered at all. A dial that ran out of time does not
// tell it: what it lacked may have gone to an earlier one, which was answered.
func dialling(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "dial" && !network.Timeout()
}

// answered tells that Redis itself has refused: who speaks with it needs no look at
// how, which takes a second where TLS is not spoken.
func answered(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// hints say what would be right, where the error itself does not.
var hints = []struct {
	err  error
	text string
}{
	{eventbus.ErrTopicNotFound, "eventbus topic list shows those that exist, eventbus topic create makes one"},
	{eventbus.ErrTopicExists, "eventbus topic update changes it"},
	{eventbus.ErrTopicDisabled, "eventbus topic enable switches it on"},
	{eventbus.ErrDelayedFull, "wait until they are due, or cancel some: eventbus delayed cancel, or raise the limit: eventbus topic update --max-waiting"},
	{eventbus.ErrTopicFull, "wait until its events are handled, or raise the limit: eventbus topic update --max-waiting"},
	{eventbus.ErrTopicDeleting, "complete it with eventbus topic delete --yes"},
	{eventbus.ErrGroupNotFound, "choose one with --group"},
	{eventbus.ErrFailureNotFound, "eventbus failures list shows those that exist"},
	{eventbus.ErrNotDelayed, "eventbus delayed list shows those that wait"},
	{eventbus.ErrPayloadTooLarge, "--max-payload raises the limit"},
	{eventbus.ErrUnavailable, "--redis or EVENTBUS_REDIS says where Redis is"},
}

// remoteHint is hint for what is reached through an admin service, with TLS or without.
func remoteHint(err error, secure bool) string {
	if text := certificateHint(err, adminTrust, time.Now()); text != "" {
		return text
	}
	var argument *eventbus.ArgumentError
	switch {
	case credentials.Refused(err):
		return "the server wants a certificate that an authority of its admin.tls client_ca has signed: --admin-cert with --admin-key"
	case errors.Is(err, admin.ErrUnauthenticated):
		return "--admin-token-file, or else EVENTBUS_ADMIN_TOKEN, gives the token of the service's settings"
	case errors.Is(err, eventbus.ErrPayloadTooLarge) && errors.As(err, &argument):
		return "the limit is the server's: max_payload in its settings file"
	case errors.Is(err, admin.ErrUnreachable) && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)):
		if secure {
			return "the server may speak no TLS (--admin-tls and the like ask for it), be stopping, have no place free, or be no admin service"
		}
		return "the server may speak TLS (--admin-tls and --admin-ca ask for it), be stopping, have no place free, or be no admin service"
	case errors.Is(err, admin.ErrUnreachable):
		return "--admin or EVENTBUS_ADMIN says where the admin service is; eventbus serve runs one"
	case errors.Is(err, eventbus.ErrUnavailable) && !errors.Is(err, admin.ErrBusy):
		return "the server cannot use its Redis; its log says more"
	}
	return ""
}

func hint(err error) string {
	if _, moved := redis.IsMovedError(err); moved {
		return "the server belongs to a Cluster: name two or more of its nodes, redis://HOST1:PORT,HOST2:PORT"
	}
	if text := certificateHint(err, redisTrust, time.Now()); text != "" {
		return text
	}
	for _, h := range hints {
		if errors.Is(err, h.err) {
			if h.err == eventbus.ErrUnavailable && refused(err) {
				return "" // where it is is known
			}
			return h.text
		}
	}
	return ""
}

// refused tells that Redis has answered, and refuses for another reason than who asks:
// it is full, a replica, or cannot write to its disk.
func refused(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && !redis.IsAuthError(err) && !redis.IsPermissionError(err)
}
