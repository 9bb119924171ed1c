package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// reply is an error as Redis itself sends it.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func TestErrorsAreToldApart(t *testing.T) {
	t.Parallel()
	s := &Store{ns: "ns"}
	for _, c := range []struct {
		err                             error
		is                              error // nil: none of the bus's own
		ofTopic, outOfMemory, unanswerd bool
	}{
		{err: reply("WRONGTYPE Operation against a key"), is: errs.WrongType, ofTopic: true},
		{err: reply("ERR Error running script (call to f_1): @user_script:1: WRONGTYPE Operation"), is: errs.WrongType, ofTopic: true},
		{err: reply("NOPERM this user has no permissions"), is: errs.Unavailable, ofTopic: true},
		{err: reply("CROSSSLOT Keys in request"), is: errs.Unavailable, ofTopic: true},
		{err: reply("ERR something about these arguments"), ofTopic: true},
		{err: reply("ERR max number of clients reached"), ofTopic: false},
		{err: reply("OOM command not allowed"), is: errs.Unavailable, outOfMemory: true},
		{err: reply("ERR Error running script (call to f_1): @user_script:1: OOM command not allowed"), is: errs.Unavailable, outOfMemory: true},
		{err: reply("READONLY You can't write against a read only replica."), is: errs.Unavailable},
		{err: reply("MISCONF Redis is configured to save"), is: errs.Unavailable},
		{err: reply("LOADING Redis is loading"), is: errs.Unavailable},
		{err: reply("BUSY Redis is busy"), is: errs.Unavailable},
		{err: reply("NOAUTH Authentication required."), is: errs.Unavailable},
		{err: reply("WRONGPASS invalid username-password pair"), is: errs.Unavailable},
		{err: reply("UNBLOCKED force unblock"), is: errs.Unavailable},
		{err: reply("MASTERDOWN Link with MASTER is down"), is: errs.Unavailable},
		{err: reply("CLUSTERDOWN The cluster is down"), is: errs.Unavailable},
		{err: &net.OpError{Op: "read", Err: errors.New("reset")}, is: errs.Unavailable, unanswerd: true},
		{err: io.EOF, is: errs.Unavailable, unanswerd: true},
		{err: io.ErrUnexpectedEOF, is: errs.Unavailable, unanswerd: true},
		{err: redis.ErrClosed, is: errs.Unavailable, unanswerd: true},
		{err: redis.ErrPoolTimeout, is: errs.Unavailable, unanswerd: true},
		{err: context.DeadlineExceeded, is: errs.Unavailable, unanswerd: true},
		{err: context.Canceled, unanswerd: true},
	} {
		err := s.wrap(t.Context(), "do it", fmt.Errorf("beneath: %w", c.err))
		require.ErrorIs(t, err, c.err)
		require.ErrorContains(t, err, "do it: ")
		for _, sentinel := range []error{errs.WrongType, errs.Unavailable} {
			require.Equal(t, sentinel == c.is, errors.Is(err, sentinel), "%v is %v", err, sentinel)
		}
		require.Equal(t, c.ofTopic, OfTopic(err), "%v", err)
		require.Equal(t, c.outOfMemory, OutOfMemory(err), "%v", err)
		require.Equal(t, c.unanswerd, Unanswered(err), "%v", err)
	}
	require.NoError(t, s.wrap(t.Context(), "do it", nil))
	require.False(t, OfTopic(nil))
	require.True(t, OfTopic(fmt.Errorf("x: %w", errs.TopicNotFound)))
}

// The end of the caller's own context is told as such, whatever it did to the
// connection; that of a deadline of the bus's own is an outage.
func TestWhoseDeadlineItWas(t *testing.T) {
	t.Parallel()
	s := &Store{ns: "ns"}
	network := &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
	synctest.Test(t, func(t *testing.T) {
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for what, c := range map[string]struct {
			of context.Context
			is error
		}{
			"cancelled":              {cancelled, context.Canceled},
			"late":                   {late, context.DeadlineExceeded},
			"a deadline of no clock": {stuck{t.Context(), time.Now()}, context.DeadlineExceeded},
			"neither":                {t.Context(), errs.Unavailable},
		} {
			own, cancel := Within(c.of, 2*time.Second)
			defer cancel()
			<-time.After(3 * time.Second) // by the clock of the bubble
			for _, ctx := range []context.Context{c.of, own} {
				err := s.wrap(ctx, "do it", network)
				require.ErrorIs(t, err, c.is, what)
				require.ErrorIs(t, err, network, what)
				require.Equal(t, c.is == errs.Unavailable, errors.Is(err, errs.Unavailable), what)
				require.True(t, Unanswered(err), what)
				require.ErrorIs(t, s.wrap(ctx, "do it", reply("OOM no more")), errs.Unavailable, "what Redis says comes first")
			}
		}
		require.EqualError(t, s.wrap(cancelled, "do it", context.Canceled), "do it: context canceled")
		require.EqualError(t, s.wrap(cancelled, "do it", io.EOF), "do it: context canceled before Redis has answered: EOF")
	})
}

// stuck is a context that knows its deadline, and does not end.
type stuck struct {
	context.Context
	end time.Time
}

func (s stuck) Deadline() (time.Time, bool) { return s.end, true }

// Users read what Redis says of their data, not at which line of which script of
// the bus it said so; the error itself stays as Redis sent it.
func TestErrorsSayNothingOfScripts(t *testing.T) {
	t.Parallel()
	s := &Store{ns: "ns"}
	const digest = "307b291697c86bbe09d6b006219b51a15eb2bfe8"
	for said, read := range map[string]string{
		"WRONGTYPE Operation against a key script: " + digest + ", on @user_script:12.":                           "redis key holds another type: WRONGTYPE Operation against a key",
		"ERR Error running script (call to f_" + digest + "): @user_script:12: WRONGTYPE Operation against a key": "redis key holds another type: WRONGTYPE Operation against a key",
		"ERR Error running script (call to f_" + digest + "): @user_script: 12: OOM no more":                      "redis is unavailable: " + advice["OOM"] + ": OOM no more",
		"ERR Error running script (call to f_" + digest + "): @user_script:12: user_script:12: attempt to index":  "ERR user_script:12: attempt to index",
		"ERR user_script:12: attempt to index script: " + digest + ", on @user_script:12.":                        "ERR user_script:12: attempt to index",
		"READONLY You can't write script: " + digest + ", &c, on @user_script:1.":                                 "redis is unavailable: " + advice["READONLY"] + ": READONLY You can't write script: " + digest + ", &c, on @user_script:1.",
		"ERR a script: of the user's":       "ERR a script: of the user's",
		"WRONGTYPE Operation against a key": "redis key holds another type: WRONGTYPE Operation against a key",
	} {
		err := s.wrap(t.Context(), "do it", reply(said))
		require.EqualError(t, err, "do it: "+read)
		require.ErrorIs(t, err, reply(said))
		var redisError redis.Error
		require.ErrorAs(t, err, &redisError)
		require.Equal(t, said, redisError.Error())
	}
}

// The slots are those that Redis Cluster itself tells (CLUSTER KEYSLOT).
func TestSlot(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]uint16{
		"": 0, "123456789": 12739, "foo": 12182, "bar": 5061,
		"{foo}": 12182, "a{foo}b": 12182, "{foo}{bar}": 12182, "x{foo{bar}": slot("foo{bar"),
		"{}foo": slot("{}foo"), "foo}{": slot("foo}{"),
	} {
		require.Equal(t, want, slot(key), key)
	}
	require.NotEqual(t, slot(""), slot("{}foo"), "an empty tag is none")
}

func TestKeysOfATopicShareItsSlot(t *testing.T) {
	t.Parallel()
	for _, topic := range []string{"orders", "a:b/c", "ä", "-", "..."} {
		k := keyspace("ns").group(topic, WireRaw, Group{Name: "g"})
		for _, key := range []string{
			k.Config, k.Queue, k.Returns, k.Bell, k.Holders, k.Failures, k.Retry, k.Dead, k.Counts,
			k.Delayed, k.DelayOrder, k.DelayChannel, k.Inflight("c"), keyspace("ns").topicWake(topic, "c"),
		} {
			require.Equal(t, slot(topic), slot(key), key)
		}
	}
}
