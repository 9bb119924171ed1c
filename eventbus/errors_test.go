package eventbus_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// operation is something that the bus does for its user, and the words in which
// its errors say what it was.
type operation struct {
	says string
	call func(ctx context.Context, b *eventbus.Bus) error
}

// operations are all that ask Redis something, of the topic t and the bus's group,
// g.
func operations() []operation {
	second, some := time.Second, int64(5)
	first := func(_ any, err error) error { return err }
	all := eventbus.FailureFilter{All: true}
	ids := eventbus.FailureFilter{IDs: []string{"f"}}
	return []operation{
		{`create topic "t"`, func(ctx context.Context, b *eventbus.Bus) error {
			return b.Topics().Create(ctx, "t", eventbus.TopicConfig{})
		}},
		{`create topic "new"`, func(ctx context.Context, b *eventbus.Bus) error {
			return b.Topics().Create(ctx, "new", eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "g", QueueKey: "a list"}}})
		}},
		{`read topic "t"`, func(ctx context.Context, b *eventbus.Bus) error { return first(b.Topics().Get(ctx, "t")) }},
		{`list topics`, func(ctx context.Context, b *eventbus.Bus) error { return first(b.Topics().List(ctx)) }},
		{`change topic "t"`, func(ctx context.Context, b *eventbus.Bus) error {
			return first(b.Topics().Update(ctx, "t", eventbus.TopicUpdate{MaxWaiting: &some}))
		}},
		{`enable topic "t"`, func(ctx context.Context, b *eventbus.Bus) error { return b.Topics().Enable(ctx, "t") }},
		{`disable topic "t"`, func(ctx context.Context, b *eventbus.Bus) error { return b.Topics().Disable(ctx, "t") }},
		{`add group "more" to topic "t"`, func(ctx context.Context, b *eventbus.Bus) error {
			return b.Topics().AddGroup(ctx, "t", eventbus.GroupConfig{Name: "more", QueueKey: "a list"})
		}},
		{`add group "g" to topic "t"`, func(ctx context.Context, b *eventbus.Bus) error {
			return b.Topics().AddGroup(ctx, "t", eventbus.GroupConfig{Name: "g"})
		}},
		{`list handlers of topic "t", group "g"`, func(ctx context.Context, b *eventbus.Bus) error { return first(b.Handlers().List(ctx, "t")) }},
		{`read handler "h" of topic "t", group "g"`, func(ctx context.Context, b *eventbus.Bus) error {
			return first(b.Handlers().Get(ctx, "t", "h"))
		}},
		{`change handler "h" of topic "t", group "g"`, func(ctx context.Context, b *eventbus.Bus) error {
			return first(b.Handlers().Update(ctx, "t", "h", eventbus.HandlerUpdate{Timeout: &second}))
		}},
		{`enable handler "h" of topic "t", group "g"`, func(ctx context.Context, b *eventbus.Bus) error { return b.Handlers().Enable(ctx, "t", "h") }},
		{`disable handler "h" of topic "t", group "g"`, func(ctx context.Context, b *eventbus.Bus) error {
			return b.Handlers().Disable(ctx, "t", "h")
		}},
		{`reset handler "h" of topic "t", group "g"`, func(ctx context.Context, b *eventbus.Bus) error { return b.Handlers().Reset(ctx, "t", "h") }},
		{`list consumers`, func(ctx context.Context, b *eventbus.Bus) error { return first(b.Consumers(ctx)) }},
		{`list failures of topic "t", group "g"`, func(ctx context.Context, b *eventbus.Bus) error {
			return first(b.Failures().List(ctx, "t", eventbus.FailureQuery{}))
		}},
		{`read failure "f" of topic "t", group "g"`, func(ctx context.Context, b *eventbus.Bus) error {
			return first(b.Failures().Get(ctx, "t", "f"))
		}},
		{`read failure "f" of topic "t", group "g"`, func(ctx context.Context, b *eventbus.Bus) error {
			return first(b.Failures().Find(ctx, "t", "f"))
		}},
		{`count failures of topic "t", group "g"`, func(ctx context.Context, b *eventbus.Bus) error {
			return first(b.Failures().Count(ctx, "t"))
		}},
		{`replay failures of topic "t", group "g"`, func(ctx context.Context, b *eventbus.Bus) error {
			return first(b.Failures().Replay(ctx, "t", all))
		}},
		{`replay failures of topic "t", group "g"`, func(ctx context.Context, b *eventbus.Bus) error {
			return first(b.Failures().Replay(ctx, "t", ids))
		}},
		{`discard failures of topic "t", group "g"`, func(ctx context.Context, b *eventbus.Bus) error {
			return first(b.Failures().Discard(ctx, "t", ids))
		}},
		{`discard failures of topic "t", group "g"`, func(ctx context.Context, b *eventbus.Bus) error {
			return first(b.Failures().Discard(ctx, "t", all))
		}},
		{`read figures of topic "t"`, func(ctx context.Context, b *eventbus.Bus) error { return first(b.Stats(ctx, "t")) }},
		{`read figures of topic "t", group "g"`, func(ctx context.Context, b *eventbus.Bus) error { return first(b.GroupStats(ctx, "t")) }},
		{`send to topic "t"`, func(ctx context.Context, b *eventbus.Bus) error { return first(b.Send(ctx, "t", 1)) }},
		{`run the bus`, func(ctx context.Context, b *eventbus.Bus) error { return b.Run(ctx) }},
		// what is removed is asked for last
		{`remove group "g" from topic "t"`, func(ctx context.Context, b *eventbus.Bus) error { return b.Topics().RemoveGroup(ctx, "t", "g") }},
		{`delete topic "t"`, func(ctx context.Context, b *eventbus.Bus) error { return b.Topics().Delete(ctx, "t") }},
	}
}

// spoiled puts a string where the bus keeps something else.
func spoiled(t *testing.T, rdb redis.UniversalClient, key string) {
	t.Helper()
	require.NoError(t, rdb.Del(t.Context(), key).Err())
	require.NoError(t, rdb.Set(t.Context(), key, "somebody else's", 0).Err())
}

// Whatever an operation meets, its error says once what was being done, in the
// operation's own words; and of a topic, a group or a handler, which.
func TestErrorsSayOnceWhatWasDone(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Options{}).Client(t)
	topic := func(part string) func(t *testing.T, ns string) {
		return func(t *testing.T, ns string) { spoiled(t, rdb, ns+":{t}:"+part) }
	}
	global := func(part string) func(t *testing.T, ns string) {
		return func(t *testing.T, ns string) { spoiled(t, rdb, ns+":"+part) }
	}
	for name, spoil := range map[string]func(t *testing.T, ns string){
		"unknown topic": func(t *testing.T, ns string) { require.NoError(t, rdb.Del(t.Context(), ns+":{t}:config").Err()) },
		"unknown group": func(t *testing.T, ns string) {
			require.NoError(t, rdb.HDel(t.Context(), ns+":{t}:config", "group|g").Err())
		},
		"topic being deleted": func(t *testing.T, ns string) {
			require.NoError(t, rdb.HSet(t.Context(), ns+":{t}:config", "deleting", "mark").Err())
		},
		"settings": topic("config"), "queue": topic("queue:g"), "bell": topic("bell:g"), "holders": topic("holders:g"),
		"failures": topic("failures:g"), "retry": topic("retry:g"), "dead": topic("dead:g"), "counts": topic("counts:g"),
		"topics": global("topics"), "consumers": global("consumers"), "runs": global("consumers:runs"), "revision": global("revision"),
		"nothing": func(*testing.T, string) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failed := 0
			for _, o := range operations() {
				ns := "ns-" + uuid.NewString()
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				b, err := eventbus.New(rdb, eventbus.Config{
					Namespace: ns, Group: "g", Logger: slog.New(slog.DiscardHandler),
					OnReady: cancel, // a Run that begins ends
				})
				require.NoError(t, err)
				require.NoError(t, b.Topics().Create(t.Context(), "t", eventbus.TopicConfig{}))
				spoil(t, ns)
				b.Handle("t", "h", eventbus.HandleFunc(func(context.Context, *eventbus.Event) error { return nil }))
				err = o.call(ctx, b)
				cancel()
				if err != nil {
					failed++
					requireSaidOnce(t, o.says, err)
				}
				require.NoError(t, b.Close())
			}
			require.Positive(t, failed)
		})
	}
}

// The same holds before Redis is asked anything, and where it cannot be.
func TestErrorsWithoutRedisSayOnceWhatWasDone(t *testing.T) {
	t.Parallel()
	nobody := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { require.NoError(t, nobody.Close()) })
	for _, o := range operations() {
		b, err := eventbus.New(nobody, eventbus.Config{Group: "g", Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		b.Handle("t", "h", eventbus.HandleFunc(func(context.Context, *eventbus.Event) error { return nil }))
		err = o.call(t.Context(), b)
		require.ErrorIs(t, err, eventbus.ErrUnavailable)
		requireSaidOnce(t, o.says, err)
		require.Contains(t, err.Error(), o.says+": connect to Redis: ")
		require.NoError(t, b.Close())
		err = o.call(t.Context(), b)
		require.ErrorIs(t, err, eventbus.ErrClosed)
		require.Equal(t, o.says+": bus is closed", err.Error())
	}
	b, err := eventbus.New(nobody, eventbus.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer b.Close()
	const wrong = "a|b"
	for says, err := range map[string]error{
		`create topic "a|b"`:                                  b.Topics().Create(t.Context(), wrong, eventbus.TopicConfig{}),
		`read topic "a|b"`:                                    second(b.Topics().Get(t.Context(), wrong)),
		`change topic "a|b"`:                                  second(b.Topics().Update(t.Context(), wrong, eventbus.TopicUpdate{})),
		`enable topic "a|b"`:                                  b.Topics().Enable(t.Context(), wrong),
		`delete topic "a|b"`:                                  b.Topics().Delete(t.Context(), wrong),
		`add group "g" to topic "a|b"`:                        b.Topics().AddGroup(t.Context(), wrong, eventbus.GroupConfig{Name: "g"}),
		`remove group "a|b" from topic "t"`:                   b.Topics().RemoveGroup(t.Context(), "t", wrong),
		`list handlers of topic "a|b", group "default"`:       second(b.Handlers().List(t.Context(), wrong)),
		`read handler "a|b" of topic "t", group "default"`:    second(b.Handlers().Get(t.Context(), "t", wrong)),
		`read handler "h" of topic "a|b", group "default"`:    second(b.Handlers().Get(t.Context(), wrong, "h")),
		`reset handler "a|b" of topic "t", group "default"`:   b.Handlers().Reset(t.Context(), "t", wrong),
		`disable handler "a|b" of topic "t", group "default"`: b.Handlers().Disable(t.Context(), "t", wrong),
		`list failures of topic "a|b", group "default"`:       second(b.Failures().List(t.Context(), wrong, eventbus.FailureQuery{})),
		`replay failures of topic "t", group "default"`:       second(b.Failures().Replay(t.Context(), "t", eventbus.FailureFilter{})),
		`read figures of topic "a|b"`:                         second(b.Stats(t.Context(), wrong)),
		`send to topic "a|b"`:                                 second(b.Send(t.Context(), wrong, 1)),
		`register handler "a|b" for topic "t"`: b.TryHandle("t", wrong, eventbus.HandleFunc(func(context.Context, *eventbus.Event) error {
			return nil
		})),
		"make a bus": second(eventbus.New(nil, eventbus.Config{})),
	} {
		require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
		requireSaidOnce(t, says, err)
	}
}

func second[T any](_ T, err error) error { return err }

// verbs are those with which the bus's words for something that is done begin.
var verbs = []string{
	"add", "announce", "change", "claim", "close", "count", "create", "delete", "describe", "disable", "discard", "enable",
	"index", "list", "look", "make", "move", "open", "read", "register", "remove", "renew", "replay", "reset", "run", "send", "take",
}

// steps of a start may stand behind it: nobody could guess that they are part of it.
var steps = []string{"run the bus: take a lease: ", "run the bus: look for changed settings: "}

// requireSaidOnce demands that an error begins with what was being done, and that
// nothing of the kind stands behind that; but for connecting, which is for no
// operation in particular, and the steps of a start.
func requireSaidOnce(t *testing.T, says string, err error) {
	t.Helper()
	rest, ok := strings.CutPrefix(err.Error(), says+": ")
	require.True(t, ok, "%q begins with %q", err, says)
	for _, step := range steps {
		rest = strings.TrimPrefix(says+": "+rest, step)
		rest = strings.TrimPrefix(rest, says+": ")
	}
	for _, part := range strings.Split(rest, ": ") {
		word, _, _ := strings.Cut(part, " ")
		require.False(t, slices.Contains(verbs, word), "%q says it more than once", err)
	}
}
