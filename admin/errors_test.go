package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
)

// told are the errors of package eventbus that can be in an answer, and untold those
// that are returned to handlers, or by what no API has.
var (
	told = map[string]error{
		"ErrInvalidArgument": eventbus.ErrInvalidArgument, "ErrMarshal": eventbus.ErrMarshal, "ErrPayloadTooLarge": eventbus.ErrPayloadTooLarge,
		"ErrTopicNotFound": eventbus.ErrTopicNotFound, "ErrTopicExists": eventbus.ErrTopicExists, "ErrTopicDisabled": eventbus.ErrTopicDisabled,
		"ErrTopicFull": eventbus.ErrTopicFull, "ErrDelayedFull": eventbus.ErrDelayedFull, "ErrTopicDeleting": eventbus.ErrTopicDeleting,
		"ErrGroupNotFound": eventbus.ErrGroupNotFound, "ErrGroupExists": eventbus.ErrGroupExists, "ErrNoGroup": eventbus.ErrNoGroup,
		"ErrConflict": eventbus.ErrConflict, "ErrHandlerNotFound": eventbus.ErrHandlerNotFound, "ErrFailureNotFound": eventbus.ErrFailureNotFound,
		"ErrNotDelayed": eventbus.ErrNotDelayed, "ErrClosed": eventbus.ErrClosed, "ErrUnavailable": eventbus.ErrUnavailable,
		"ErrRedisTooOld": eventbus.ErrRedisTooOld, "ErrLayoutMismatch": eventbus.ErrLayoutMismatch, "ErrWrongType": eventbus.ErrWrongType,
	}
	untold = []string{
		"ErrUnmarshal", "ErrHandlerExists", "ErrNoHandler", "ErrRunning", "ErrTimeout", "ErrAbandoned", "ErrPanic", "ErrStopping",
	}
	own = []error{admin.ErrJobNotFound, admin.ErrTooManyJobs, admin.ErrUnauthenticated, admin.ErrUnreachable, admin.ErrBusy}
)

// classOf is all that an error says it is.
func classOf(err error) (is []string) {
	if err == nil {
		return []string{"none"}
	}
	for _, class := range slices.Concat(slices.Collect(maps.Values(told)), own) {
		if errors.Is(err, class) {
			is = append(is, class.Error())
		}
	}
	slices.Sort(is)
	return is
}

func TestEveryErrorOfTheBusIsToldOrNot(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "../eventbus/errors.go", nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var declared []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for _, name := range spec.Names {
				declared = append(declared, name.Name)
			}
		}
		return true
	})
	require.ElementsMatch(t, declared, slices.Concat(slices.Collect(maps.Keys(told)), untold))
}

// Whatever errors.Is says of an error of the service's it says of the same through a
// server.
func TestErrorsAreTheSameThroughAServer(t *testing.T) {
	t.Parallel()
	s, c, rdb := pair(t)
	ctx := t.Context()
	for name, cfg := range map[string]eventbus.TopicConfig{
		topic: {}, "off": {Disabled: true}, "nobody": {Groups: []eventbus.GroupConfig{}}, "small": {MaxWaiting: 1}, "going": {}, "spoiled": {},
	} {
		require.NoError(t, s.CreateTopic(ctx, name, cfg))
	}
	require.NoError(t, s.RemoveGroup(ctx, "nobody", "default"))
	_, err := s.SendBatch(ctx, "small", []eventbus.Message{{Value: 1}, {Value: 1, Delay: time.Hour}})
	require.NoError(t, err)
	require.NoError(t, rdb.HSet(ctx, "eventbus:{going}:config", "deleting", "1").Err())
	require.NoError(t, rdb.Set(ctx, "eventbus:{spoiled}:queue:default", "no list", 0).Err())
	require.NoError(t, rdb.ZAdd(ctx, "a zset", redis.Z{Member: "m"}).Err())

	send := func(topic string, value any, delay time.Duration) func(api admin.API) error {
		return func(api admin.API) error {
			_, err := api.SendBatch(ctx, topic, []eventbus.Message{{Value: value, Delay: delay}})
			return err
		}
	}
	seen := map[string]bool{"ErrUnavailable": false}
	for what, ask := range map[string]func(api admin.API) error{
		"a wrong name":     func(api admin.API) error { return api.EnableTopic(ctx, "a|b") },
		"no JSON":          send(topic, make(chan int), 0),
		"no raw JSON":      send(topic, json.RawMessage("{"), 0),
		"empty raw JSON":   send(topic, json.RawMessage(nil), 0),
		"not a number":     send(topic, math.NaN(), 0),
		"a *Raw":           send(topic, &eventbus.Raw{}, 0),
		"no JSON anywhere": send("a|b", make(chan int), 0),
		"a large payload":  send(topic, strings.Repeat("x", 2<<20), 0),
		"no such topic":    func(api admin.API) error { return api.EnableTopic(ctx, "missing") },
		"a topic again":    func(api admin.API) error { return api.CreateTopic(ctx, topic, eventbus.TopicConfig{}) },
		"a topic off":      send("off", 1, 0),
		"a full topic":     send("small", 1, 0),
		"too many delayed": send("small", 1, time.Hour),
		"half deleted":     func(api admin.API) error { return api.EnableTopic(ctx, "going") },
		"no such group":    func(api admin.API) error { _, err := api.CountFailures(ctx, topic, "missing"); return err },
		"a group again": func(api admin.API) error {
			return api.AddGroup(ctx, topic, eventbus.GroupConfig{Name: "default"})
		},
		"no group": send("nobody", 1, 0),
		"another's change": func(api admin.API) error {
			_, err := api.UpdateTopic(ctx, topic, eventbus.TopicUpdate{IfRevision: 1 << 40})
			return err
		},
		"no such handler":   func(api admin.API) error { _, err := api.GetHandler(ctx, topic, "", "h"); return err },
		"no such failure":   func(api admin.API) error { _, err := api.GetFailure(ctx, topic, "", "f"); return err },
		"nothing delayed":   func(api admin.API) error { _, err := api.CancelDelayed(ctx, topic, "d"); return err },
		"no such job":       func(api admin.API) error { _, err := api.GetJob(ctx, "j"); return err },
		"a key of a string": send("spoiled", 1, 0),
		"a queue that is none": func(api admin.API) error {
			return api.AddGroup(ctx, topic, eventbus.GroupConfig{Name: "more", QueueKey: "a zset"})
		},
		"a topic with a queue that is none": func(api admin.API) error {
			return api.CreateTopic(ctx, "new", eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "more", QueueKey: "a zset"}}})
		},
	} {
		want := ask(s)
		require.Error(t, want, what)
		got := ask(c)
		require.EqualError(t, got, want.Error(), what)
		require.Equal(t, classOf(want), classOf(got), "%s: %v", what, want)
		for name, err := range told {
			seen[name] = seen[name] || errors.Is(want, err)
		}
	}
	// What takes a whole server to be so, or another release of it.
	for _, name := range []string{"ErrClosed", "ErrUnavailable", "ErrRedisTooOld", "ErrLayoutMismatch"} {
		api := &failing{}
		api.with.Store(told[name])
		address, _ := serve(t, api, admin.ServerConfig{})
		_, err := client(t, admin.ClientConfig{Address: address}).Stats(context.Background(), topic)
		require.Equal(t, classOf(told[name]), classOf(err), name)
		seen[name] = true
	}
	for name, met := range seen {
		require.True(t, met, "no answer here has %s", name)
	}
}

// How long a list may be is one argument, and has one name: of each list, directly and
// through a server.
func TestLimitsOfListsAreToldAlike(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // nothing is asked of it
	defer func() { require.NoError(t, rdb.Close()) }()
	s, err := admin.New(rdb, eventbus.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	address, _ := serve(t, s, admin.ServerConfig{})
	for what, call := range map[string]func(api admin.API) error{
		"topics": func(api admin.API) error {
			_, err := api.ListTopics(t.Context(), admin.Page{Limit: -1})
			return err
		},
		"failures": func(api admin.API) error {
			_, err := api.ListFailures(t.Context(), topic, "", eventbus.FailureQuery{Limit: -1})
			return err
		},
		"delayed": func(api admin.API) error {
			_, err := api.ListDelayed(t.Context(), topic, "", eventbus.DelayedQuery{Limit: -1})
			return err
		},
		"unreadable": func(api admin.API) error { _, err := api.ListUnreadable(t.Context(), topic, "", -1); return err },
	} {
		var directly, remotely *eventbus.ArgumentError
		require.ErrorAs(t, call(s), &directly, what)
		require.ErrorAs(t, call(client(t, admin.ClientConfig{Address: address})), &remotely, what)
		require.Equal(t, "limit", directly.Field, what)
		require.Equal(t, directly, remotely, what)
	}
}
