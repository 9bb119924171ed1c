package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// code returns the leading word of an error that Redis itself replied, such as
// "WRONGTYPE"; "" for every other error. It is the protocol's way to tell
// errors apart (RESP, "Simple errors").
func code(err error) string {
	var reply redis.Error
	if !errors.As(err, &reply) || errors.Is(err, redis.Nil) {
		return ""
	}
	word, rest, _ := strings.Cut(reply.Error(), " ")
	// Redis before 7 wraps the error of a command inside a script:
	// "ERR Error running script (call to f_…): @user_script:1: WRONGTYPE …"
	if word == "ERR" {
		for _, inner := range []string{"WRONGTYPE", "OOM", "READONLY", "MISCONF", "NOPERM"} {
			if strings.Contains(rest, inner+" ") {
				return inner
			}
		}
	}
	return word
}

// advice says for an error code of Redis what an operator should look at.
var advice = map[string]string{
	"WRONGPASS": "the user name or password is wrong",
	"NOAUTH":    "the server demands a password and none was given",
	"NOPERM":    "the server's ACL refuses this user a command, key or channel",
	"OOM":       "the server is over its maxmemory; sending is refused, consuming goes on",
	"MISCONF":   "the server cannot write its snapshot to disk and refuses writes",
	"READONLY":  "the server is a replica; the client will find the new primary",
	"LOADING":   "the server is loading its data",
	"BUSY":      "a script has blocked the server for long",
	"CROSSSLOT": "a key lies in another slot than its topic",
}

// Where in a script an error came up, as Redis tells it: from 7 on behind what is
// wrong, and before that in front of it.
var (
	scriptBehind = regexp.MustCompile(` script: [0-9a-f]{40}, on @user_script: ?\d+\.$`)
	scriptBefore = regexp.MustCompile(`ERR Error running script \(call to f_[0-9a-f]+\): (?:@user_script: ?\d+: )?([A-Z]+ )?`)
)

// said is an error that Redis replied, without the place in a script: it is one of
// the bus's own code, and of no use to whoever reads what is wrong.
type said struct{ err error }

func (e said) Error() string {
	text := scriptBehind.ReplaceAllString(e.err.Error(), "")
	return scriptBefore.ReplaceAllStringFunc(text, func(before string) string {
		if code := scriptBefore.FindStringSubmatch(before)[1]; code != "" {
			return code
		}
		return "ERR "
	})
}

func (e said) Unwrap() error { return e.err }

// wrap says what was being done, and gives the error the type under which the
// bus's users know it; where the caller's own context has ended that is its error, and
// no outage. Where one of the keys of the call holds another type, it asks
// the server which one.
func (s *Store) wrap(ctx context.Context, doing string, err error, keys ...string) error {
	if err == nil {
		return nil
	}
	c := code(err)
	if c != "" {
		err = said{err}
	}
	switch {
	case c == "WRONGTYPE":
		if culprits := s.culprits(ctx, keys); len(culprits) > 0 {
			err = fmt.Errorf("%s: %w", strings.Join(culprits, ", "), err)
		}
		err = fmt.Errorf("%w: %w", errs.WrongType, err)
	case c == "NOPERM":
		err = fmt.Errorf("%w: %s; the bus needs %s, and the lists that are queue keys: %w", errs.Unavailable, advice[c], s.ns.rules(), err)
	case c != "" && advice[c] != "":
		err = fmt.Errorf("%w: %s: %w", errs.Unavailable, advice[c], err)
	case c == "MASTERDOWN" || c == "CLUSTERDOWN" || c == "TRYAGAIN" || c == "UNBLOCKED" || c == "NOREPLICAS":
		err = fmt.Errorf("%w: %w", errs.Unavailable, err)
	case c != "":
	case given(ctx) != nil:
		if ended := given(ctx); !errors.Is(err, ended) {
			err = fmt.Errorf("%w before Redis has answered: %w", ended, err)
		}
	case errors.Is(err, context.Canceled):
	case offline(err):
		err = fmt.Errorf("%w: %w", errs.Unavailable, err)
	}
	return errs.Doing(err, doing)
}

// offline tells that the error comes from the connection, not from Redis.
func offline(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, redis.ErrClosed) || errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, context.DeadlineExceeded)
}

// OutOfMemory tells that Redis refused a write because it is over its
// maxmemory. Consuming goes on meanwhile.
func OutOfMemory(err error) bool { return code(err) == "OOM" }

// Unanswered tells that Redis has not replied to the call: it may have been
// executed, or may be yet.
func Unanswered(err error) bool { return code(err) == "" }

// mayHaveRun tells that a call without a reply may have reached Redis: it got
// beyond dialling.
func mayHaveRun(err error) bool {
	var dial *net.OpError
	return Unanswered(err) && (!errors.As(err, &dial) || dial.Op != "dial") &&
		!errors.Is(err, redis.ErrPoolTimeout) && !errors.Is(err, redis.ErrClosed)
}

// OfTopic tells that an error concerns the keys of one topic only, so that the
// others can go on: a key of another type, an ACL, a slot. Every other error is
// one of the connection or of the whole server.
func OfTopic(err error) bool {
	switch code(err) {
	case "WRONGTYPE", "NOPERM", "CROSSSLOT":
		return true
	case "ERR":
		return !redis.HasErrorPrefix(err, "max number of clients") // "ERR " is passed over
	}
	return errors.Is(err, errs.TopicNotFound) || errors.Is(err, errs.TopicDeleting) || errors.Is(err, errs.GroupNotFound)
}
