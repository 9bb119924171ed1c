package admin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// arguments draws them, more of those at the edges than others.
type arguments struct{ *rapid.T }

func (a arguments) name(what string, usual ...string) string {
	return rapid.SampledFrom(append(usual, usual[0], usual[0], "missing", "", "a{b}", "\xff", strings.Repeat("x", 256))).Draw(a.T, what)
}

func (a arguments) text() string {
	return rapid.SampledFrom([]string{"", "a", "b", "é", "\x00", "\xff", strings.Repeat("y", 256)}).Draw(a.T, "text")
}

func (a arguments) int() int {
	edges := []int{0, 1, -1, 2, 10, 11, 100, 101, 1000, 1001, math.MaxInt32, math.MaxInt32 + 1, 1<<32 + 1, math.MinInt32 - 1, math.MaxInt, math.MinInt}
	return rapid.OneOf(rapid.SampledFrom(edges), rapid.Int()).Draw(a.T, "int")
}

func (a arguments) int64() int64 { return int64(a.int()) }

func (a arguments) duration() time.Duration {
	const year = 365 * 24 * time.Hour
	edges := []time.Duration{0, 1, -1, -2, 500 * time.Microsecond, time.Millisecond, -time.Millisecond, 1500 * time.Microsecond, time.Second + 1,
		time.Hour, year, year + 1, eventbus.MaxDelay, eventbus.MaxDelay + 1, 100 * year, 100*year + 1, math.MaxInt64, math.MinInt64}
	d := rapid.OneOf(rapid.SampledFrom(edges), rapid.Map(rapid.Int64(), func(n int64) time.Duration { return time.Duration(n) }))
	return d.Draw(a.T, "duration")
}

// time is none that clocks of two calls could lie on both sides of.
func (a arguments) time() time.Time {
	return rapid.SampledFrom([]time.Time{
		{}, time.Unix(0, 0), time.Unix(0, -1), time.Unix(0, 1), time.UnixMilli(1), time.UnixMilli(-1), time.Unix(1, 1),
		time.Now().Add(24 * time.Hour), time.Now().AddDate(9, 0, 0), time.Now().AddDate(11, 0, 0), time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC),
		time.Date(-9999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(99999, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Unix(math.MaxInt64/1000+1, 0), time.Unix(math.MinInt64/1000-1, 0), time.Unix(math.MaxInt64-62135596801, 999_999_999),
	}).Draw(a.T, "time")
}

func (a arguments) bool() bool { return rapid.Bool().Draw(a.T, "bool") }

// maybe draws a pointer to what f draws, or nil.
func maybe[T any](a arguments, f func() T) *T {
	if a.bool() {
		return nil
	}
	v := f()
	return &v
}

func (a arguments) delivery() eventbus.Delivery {
	return rapid.SampledFrom([]eventbus.Delivery{"", eventbus.AtLeastOnce, eventbus.AtMostOnce, "odd"}).Draw(a.T, "delivery")
}

func (a arguments) state() eventbus.FailureState {
	return rapid.SampledFrom([]eventbus.FailureState{"", "", eventbus.Dead, eventbus.Retrying, "odd"}).Draw(a.T, "state")
}

func (a arguments) count() int {
	return rapid.SampledFrom([]int{0, 1, 1, 2, 1000, 1001, 10_001}).Draw(a.T, "count")
}

func (a arguments) config() eventbus.TopicConfig {
	cfg := eventbus.TopicConfig{
		Delivery: a.delivery(), Wire: rapid.SampledFrom([]eventbus.Wire{"", eventbus.WireCloudEvents, eventbus.WireRaw, "odd"}).Draw(a.T, "wire"),
		Disabled: a.bool(), RedissonOrderList: a.bool(), RedissonOldClients: a.bool(),
	}
	// One wrong setting hides what becomes of the others.
	switch rapid.IntRange(0, 6).Draw(a.T, "setting") {
	case 0:
		cfg.MaxWaiting = a.int64()
	case 1:
		cfg.Concurrency = a.int()
	case 2:
		cfg.DeadLimit = a.int64()
	case 3, 4:
		cfg.DeadAge = a.duration()
	case 5:
		for i := range a.count() {
			cfg.Groups = append(cfg.Groups, eventbus.GroupConfig{Name: fmt.Sprint("g", i)})
		}
	}
	return cfg
}

func (a arguments) topicUpdate() (u eventbus.TopicUpdate) {
	switch rapid.IntRange(0, 5).Draw(a.T, "setting") {
	case 0:
		u.Delivery = maybe(a, a.delivery)
	case 1:
		u.MaxWaiting, u.DeadLimit = maybe(a, a.int64), maybe(a, a.int64)
	case 2:
		u.Concurrency = maybe(a, a.int)
	case 3:
		u.DeadAge = maybe(a, a.duration)
	case 4:
		u.IfRevision = a.int64()
	case 5:
		u.RedissonOrderList, u.RedissonOldClients = maybe(a, a.bool), maybe(a, a.bool)
	}
	return u
}

func (a arguments) handlerUpdate() (u eventbus.HandlerUpdate) {
	switch rapid.IntRange(0, 6).Draw(a.T, "setting") {
	case 0:
		u.Enabled, u.MaxAttempts = maybe(a, a.bool), maybe(a, a.int)
	case 1:
		u.Timeout = maybe(a, a.duration)
	case 2:
		u.RetryInitial, u.RetryMax = maybe(a, a.duration), maybe(a, a.duration)
	case 3:
		u.BreakerOpen = maybe(a, a.duration)
	case 4:
		u.Concurrency, u.MaxAbandoned = maybe(a, a.int), maybe(a, a.int)
	case 5:
		u.BreakerFailures = maybe(a, a.int)
	case 6:
		u.Enabled, u.IfRevision = maybe(a, a.bool), a.int64()
	}
	return u
}

func (a arguments) filter() (f eventbus.FailureFilter) {
	f.State = a.state()
	if rapid.IntRange(0, 3).Draw(a.T, "by id") == 0 {
		for i := range a.count() {
			f.IDs = append(f.IDs, fmt.Sprint(i))
		}
	}
	f.Handler = rapid.SampledFrom([]string{"", "", "h", "other", "no name"}).Draw(a.T, "handler")
	if a.bool() {
		f.Before = a.time()
	}
	f.All = rapid.IntRange(0, 9).Draw(a.T, "all") == 0
	return f
}

func (a arguments) cursor() string {
	return rapid.SampledFrom([]string{"", "", "", "?", "YQ", "MSBh", "1-00", "YWZ0ZXIgYQ"}).Draw(a.T, "cursor")
}

func (a arguments) page() admin.Page { return admin.Page{Limit: a.int(), Cursor: a.cursor()} }

func (a arguments) messages() []eventbus.Message {
	all := make([]eventbus.Message, a.count())
	for i := range all {
		if i > 1 {
			all[i] = all[1]
			continue
		}
		values := []any{
			eventbus.Raw{}, eventbus.Raw{Payload: []byte("{}")}, eventbus.Raw{Payload: []byte{0xff}, ContentType: "text/x"}, eventbus.Raw{ContentType: "\x00"},
			eventbus.Raw{Payload: make([]byte, 1001)}, &eventbus.Raw{}, nil, 1, "text", []byte("bytes"), map[string]int{"a": 1},
			json.RawMessage(`{"a":1}`), json.RawMessage("{"), json.RawMessage(nil), make(chan int), math.Inf(1),
		}
		all[i] = eventbus.Message{ID: a.text(), Value: values[rapid.IntRange(0, len(values)-1).Draw(a.T, "value")]}
		switch rapid.IntRange(0, 4).Draw(a.T, "option") {
		case 0:
			all[i].Delay = a.duration()
		case 1:
			all[i].DueAt = a.time()
		case 2:
			all[i].Delay, all[i].DueAt = a.duration(), a.time()
		case 3:
			all[i].Headers = map[string]string{rapid.SampledFrom([]string{"a", "", "A", "id", "\xff"}).Draw(a.T, "header"): a.text()}
		}
	}
	return all
}

// question is a call with its arguments. What differs between two buses (ids,
// times, names of keys) is no part of its answer.
type question func(api admin.API) (answer any, err error)

func only(err error) (any, error) { return nil, err }

func stripped(t eventbus.Topic) eventbus.Topic {
	t.Created, t.Revision = time.Time{}, 0
	return t
}

func (a arguments) question(topic string) (what string, ask question) {
	ctx := a.Context()
	name, group, handler := a.name("topic", topic), a.name("group", "default", "g0"), a.name("handler", "h")
	kind := rapid.SampledFrom([]string{
		"create", "create", "update", "update", "get", "enable", "disable", "delete", "add group", "remove group", "topics",
		"handlers", "handler", "update handler", "update handler", "enable handler", "disable handler", "reset handler",
		"failures", "failures", "failure", "count", "replay", "replay", "discard", "discard", "job", "cancel job",
		"delayed", "cancel", "unreadable", "unreadable", "stats", "consumers", "send", "send", "send", "send",
	}).Draw(a.T, "call")
	switch kind {
	case "create":
		cfg := a.config()
		return kind, func(api admin.API) (any, error) { return only(api.CreateTopic(ctx, name, cfg)) }
	case "update":
		u := a.topicUpdate()
		return kind, func(api admin.API) (any, error) { _, err := api.UpdateTopic(ctx, name, u); return only(err) }
	case "get":
		return kind, func(api admin.API) (any, error) { t, err := api.GetTopic(ctx, name); return stripped(t), err }
	case "enable":
		return kind, func(api admin.API) (any, error) { return only(api.EnableTopic(ctx, name)) }
	case "disable":
		return kind, func(api admin.API) (any, error) { return only(api.DisableTopic(ctx, name)) }
	case "delete":
		return kind, func(api admin.API) (any, error) { return only(api.DeleteTopic(ctx, name)) }
	case "add group":
		key := rapid.SampledFrom([]string{"", "", strings.Repeat("k", 1025)}).Draw(a.T, "key")
		return kind, func(api admin.API) (any, error) {
			return only(api.AddGroup(ctx, name, eventbus.GroupConfig{Name: group, QueueKey: key}))
		}
	case "remove group":
		return kind, func(api admin.API) (any, error) { return only(api.RemoveGroup(ctx, name, group)) }
	case "topics":
		page := a.page()
		return kind, func(api admin.API) (any, error) {
			p, err := api.ListTopics(ctx, page)
			for i := range p.Topics {
				p.Topics[i] = stripped(p.Topics[i])
			}
			return p, err
		}
	case "handlers":
		page := a.page()
		return kind, func(api admin.API) (any, error) { return api.ListHandlers(ctx, name, group, page) }
	case "handler":
		return kind, func(api admin.API) (any, error) { return api.GetHandler(ctx, name, group, handler) }
	case "update handler":
		u := a.handlerUpdate()
		return kind, func(api admin.API) (any, error) {
			_, err := api.UpdateHandler(ctx, name, group, handler, u)
			return only(err)
		}
	case "enable handler":
		return kind, func(api admin.API) (any, error) { return only(api.EnableHandler(ctx, name, group, handler)) }
	case "disable handler":
		return kind, func(api admin.API) (any, error) { return only(api.DisableHandler(ctx, name, group, handler)) }
	case "reset handler":
		return kind, func(api admin.API) (any, error) { return only(api.ResetHandler(ctx, name, group, handler)) }
	case "failures":
		name := a.name("topic", "failed", topic)
		q := eventbus.FailureQuery{State: a.state(), Handler: a.name("of", "", "h"), Limit: a.int(), Cursor: a.cursor()}
		return kind, func(api admin.API) (any, error) {
			p, err := api.ListFailures(ctx, name, group, q)
			for i, f := range p.Failures {
				p.Failures[i] = eventbus.Failure{State: f.State, Topic: f.Topic, Group: f.Group, Handler: f.Handler, Reason: f.Reason, Error: f.Error, Attempts: f.Attempts}
			}
			p.Next = p.Next[:min(1, len(p.Next))]
			return p, err
		}
	case "failure":
		id := a.text()
		return kind, func(api admin.API) (any, error) { return api.GetFailure(ctx, name, group, id) }
	case "count":
		return kind, func(api admin.API) (any, error) { return api.CountFailures(ctx, name, group) }
	case "replay", "discard":
		name, filter := a.name("topic", "failed", topic), a.filter()
		return kind, func(api admin.API) (any, error) {
			begin := api.ReplayFailures
			if kind == "discard" {
				begin = api.DiscardFailures
			}
			j, err := begin(ctx, name, group, filter)
			for err == nil && j.State == admin.JobRunning {
				j, err = api.GetJob(ctx, j.ID)
			}
			j.ID, j.Started, j.Updated = "", time.Time{}, time.Time{}
			return j, err
		}
	case "job":
		id := a.text()
		return kind, func(api admin.API) (any, error) { return api.GetJob(ctx, id) }
	case "cancel job":
		id := a.text()
		return kind, func(api admin.API) (any, error) { return api.CancelJob(ctx, id) }
	case "delayed":
		q := eventbus.DelayedQuery{Limit: a.int(), Cursor: a.cursor()}
		if q.Limit > 0 && q.Limit < admin.MaxPage {
			q.Limit = admin.MaxPage // which of those that are due at once come first is chance
		}
		return kind, func(api admin.API) (any, error) {
			p, err := api.ListDelayed(ctx, name, group, q)
			for i, e := range p.Events {
				p.Events[i].DueAt = e.DueAt.Round(24 * time.Hour)
				if len(e.ID) == 36 {
					p.Events[i].ID = ""
				}
			}
			sort.Slice(p.Events, func(i, j int) bool {
				return fmt.Sprint(p.Events[i]) < fmt.Sprint(p.Events[j])
			})
			if p.Next != "" {
				return len(p.Events), err
			}
			return p, err
		}
	case "cancel":
		id := a.text()
		return kind, func(api admin.API) (any, error) { return api.CancelDelayed(ctx, name, id) }
	case "unreadable":
		most := a.int()
		return kind, func(api admin.API) (any, error) {
			u, err := api.ListUnreadable(ctx, name, group, most)
			u.List = strings.TrimLeft(u.List, "onetw")
			return u, err
		}
	case "stats":
		return kind, func(api admin.API) (any, error) {
			all, err := api.Stats(ctx, name)
			for i := range all {
				all[i].OldestAge, all[i].NextDue, all[i].ReadAt = 0, time.Time{}, time.Time{}
			}
			return all, err
		}
	case "consumers":
		page := a.page()
		return kind, func(api admin.API) (any, error) { return api.ListConsumers(ctx, page) }
	default:
		messages := a.messages()
		return kind, func(api admin.API) (any, error) {
			ids, err := api.SendBatch(ctx, name, messages)
			for i := range ids {
				if messages[i].ID == "" && len(ids[i]) == 36 {
					ids[i] = ""
				}
			}
			return ids, err
		}
	}
}

// Service and Client give the same answers and the same errors, whatever they are
// asked: the same calls are made of two buses, of one directly, of the other through
// a server.
func TestServiceAndClientAgree(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Options{}).Client(t)
	of := func(namespace string) *admin.Service {
		s, err := admin.New(rdb, eventbus.Config{Namespace: namespace, MaxPayload: 1000})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		require.NoError(t, s.CreateTopic(t.Context(), "failed", eventbus.TopicConfig{}))
		buryIn(t, rdb, s, namespace, 20)
		return s
	}
	service, served := of("one"), of("two")
	address, _ := serve(t, served, admin.ServerConfig{})
	c := client(t, admin.ClientConfig{Address: address})
	var runs atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		a := arguments{t}
		topic := fmt.Sprint("topic-", runs.Add(1))
		if cfg := (eventbus.TopicConfig{}); a.bool() {
			require.NoError(t, service.CreateTopic(t.Context(), topic, cfg))
			require.NoError(t, c.CreateTopic(t.Context(), topic, cfg))
		}
		for range rapid.IntRange(1, 15).Draw(t, "calls") {
			what, ask := a.question(topic)
			want, wrong := ask(service)
			got, err := ask(c)
			if errors.Is(err, eventbus.ErrMarshal) {
				require.ErrorIs(t, wrong, eventbus.ErrInvalidArgument) // of several wrong arguments either tells one
				continue
			}
			require.Equal(t, classOf(wrong), classOf(err), "%s: %v: %v", what, wrong, err)
			require.Equal(t, want, got, what)
		}
	})
}

// buryIn makes dead failures in the topic "failed" of a namespace.
func buryIn(t *testing.T, rdb *redis.Client, s admin.API, namespace string, n int) {
	t.Helper()
	stop := runOn(t, rdb, "failed", eventbus.Config{Namespace: namespace}, reject)
	defer stop()
	batch := make([]eventbus.Message, n)
	for i := range batch {
		batch[i].Value = i
	}
	_, err := s.SendBatch(t.Context(), "failed", batch)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		c, err := s.CountFailures(t.Context(), "failed", "")
		require.NoError(t, err)
		return c.Dead == int64(n)
	}, time.Minute, 10*time.Millisecond)
}
