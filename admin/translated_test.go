package admin_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
)

func TestClientSeesWhatTheServiceSees(t *testing.T) {
	t.Parallel()
	s, c, rdb := pair(t)
	ctx := t.Context()
	require.NoError(t, c.Ping(ctx))
	require.Equal(t, admin.ServerInfo{Namespace: "eventbus", Group: "default"},
		same(t, s, c, func(api admin.API) (admin.ServerInfo, error) { return api.Server(ctx) }))
	require.NoError(t, c.CreateTopic(ctx, topic, eventbus.TopicConfig{MaxWaiting: 5000, DeadAge: -1}))
	require.NoError(t, c.CreateTopic(ctx, "raw", eventbus.TopicConfig{Wire: eventbus.WireRaw, Delivery: eventbus.AtMostOnce, Disabled: true}))
	require.NoError(t, c.AddGroup(ctx, topic, eventbus.GroupConfig{Name: "more", QueueKey: "a list"}))
	concurrency := 7
	revision, err := c.UpdateTopic(ctx, topic, eventbus.TopicUpdate{Concurrency: &concurrency})
	require.NoError(t, err)
	got := same(t, s, c, func(api admin.API) (eventbus.Topic, error) { return api.GetTopic(ctx, topic) })
	require.Equal(t, revision, got.Revision)
	require.Equal(t, 7, got.Concurrency)
	require.EqualValues(t, -1, got.DeadAge)
	_, err = c.UpdateTopic(ctx, topic, eventbus.TopicUpdate{Concurrency: &concurrency, IfRevision: 1})
	require.ErrorIs(t, err, eventbus.ErrConflict)
	p := same(t, s, c, func(api admin.API) (admin.TopicPage, error) { return api.ListTopics(ctx, admin.Page{Limit: 1}) })
	require.NotEmpty(t, p.Next)
	same(t, s, c, func(api admin.API) (admin.TopicPage, error) { return api.ListTopics(ctx, admin.Page{Cursor: p.Next}) })

	_, err = c.SendBatch(ctx, "raw", []eventbus.Message{{Value: eventbus.Raw{Payload: []byte("x")}}})
	require.ErrorIs(t, err, eventbus.ErrTopicDisabled)
	require.NoError(t, c.EnableTopic(ctx, "raw"))
	_, err = c.SendBatch(ctx, "raw", []eventbus.Message{{Value: eventbus.Raw{Payload: []byte("x")}}})
	require.NoError(t, err)
	require.NoError(t, c.DisableTopic(ctx, "raw"))
	require.NoError(t, c.DeleteTopic(ctx, "raw"))
	require.NoError(t, c.RemoveGroup(ctx, topic, "more"))

	bury(t, s, rdb, 30)
	stop := run(t, rdb, eventbus.Config{}, func(context.Context, *eventbus.Event) error { return nil })
	timeout := 4 * time.Second
	_, err = c.UpdateHandler(ctx, topic, "", "h", eventbus.HandlerUpdate{Timeout: &timeout})
	require.NoError(t, err)
	require.NoError(t, c.DisableHandler(ctx, topic, "", "h"))
	require.Eventually(t, func() bool {
		h, err := s.GetHandler(ctx, topic, "", "h")
		require.NoError(t, err)
		return h.Settings.Timeout == timeout && !h.Settings.Enabled
	}, 10*time.Second, time.Millisecond)
	same(t, s, c, func(api admin.API) (eventbus.HandlerInfo, error) { return api.GetHandler(ctx, topic, "", "h") })
	same(t, s, c, func(api admin.API) (admin.HandlerPage, error) { return api.ListHandlers(ctx, topic, "", admin.Page{}) })
	require.NoError(t, c.EnableHandler(ctx, topic, "", "h"))
	require.NoError(t, c.ResetHandler(ctx, topic, "", "h"))
	consumers, err := c.ListConsumers(ctx, admin.Page{})
	require.NoError(t, err)
	require.Len(t, consumers.Consumers, 1)
	require.Equal(t, "h", consumers.Consumers[0].Handlers[topic][0].ID)
	stop()

	page := same(t, s, c, func(api admin.API) (eventbus.FailurePage, error) {
		return api.ListFailures(ctx, topic, "", eventbus.FailureQuery{Limit: 10})
	})
	require.Len(t, page.Failures, 10)
	page = same(t, s, c, func(api admin.API) (eventbus.FailurePage, error) {
		return api.ListFailures(ctx, topic, "", eventbus.FailureQuery{Cursor: page.Next})
	})
	require.Len(t, page.Failures, 20)
	one := same(t, s, c, func(api admin.API) (eventbus.Failure, error) {
		f, err := api.GetFailure(ctx, topic, "", page.Failures[3].ID)
		f.Event.Time = f.Event.Time.Truncate(time.Millisecond) // as it travels
		return f, err
	})
	require.NotNil(t, one.Event)
	same(t, s, c, func(api admin.API) (eventbus.FailureCount, error) { return api.CountFailures(ctx, topic, "") })
	j, err := c.ReplayFailures(ctx, topic, "", eventbus.FailureFilter{IDs: []string{one.ID}})
	require.NoError(t, err)
	j = ended(t, c, j.ID)
	require.Equal(t, admin.JobDone, j.State)
	require.EqualValues(t, 1, j.Moved)
	j, err = c.DiscardFailures(ctx, topic, "", eventbus.FailureFilter{Handler: "h"})
	require.NoError(t, err)
	j = ended(t, c, j.ID)
	require.EqualValues(t, 29, j.Moved)
	same(t, s, c, func(api admin.API) (admin.Job, error) { return api.CancelJob(ctx, j.ID) })

	ids, err := c.SendBatch(ctx, topic, []eventbus.Message{
		{Value: eventbus.Raw{Payload: []byte{0, 0xff, 1}}, ID: "one", Delay: time.Hour, Headers: map[string]string{"k": "v"}},
		{Value: eventbus.Raw{Payload: []byte(`{}`)}, DueAt: time.Now().Add(time.Hour)},
	})
	require.NoError(t, err)
	require.Equal(t, "one", ids[0])
	delayed := same(t, s, c, func(api admin.API) (eventbus.DelayedPage, error) {
		return api.ListDelayed(ctx, topic, "", eventbus.DelayedQuery{})
	})
	require.Len(t, delayed.Events, 2)
	groups, err := c.CancelDelayed(ctx, topic, "one")
	require.NoError(t, err)
	require.Equal(t, []string{"default"}, groups)
	same(t, s, c, func(api admin.API) (eventbus.UnreadableEvents, error) { return api.ListUnreadable(ctx, topic, "", 5) })
	stats, err := c.Stats(ctx, topic)
	require.NoError(t, err)
	require.EqualValues(t, 1, stats[0].Delayed)
	require.EqualValues(t, 1, stats[0].Waiting)
}

// What is wrong is told alike, also of what the IDL has no word for.
func TestWrongArgumentsAreToldAlike(t *testing.T) {
	t.Parallel()
	s, c, _ := pair(t)
	ctx := t.Context()
	require.NoError(t, s.CreateTopic(ctx, topic, eventbus.TopicConfig{}))
	minus := -1
	longest := time.Minute
	_, err := s.UpdateHandler(ctx, topic, "", "set", eventbus.HandlerUpdate{RetryMax: &longest})
	require.NoError(t, err)
	for what, call := range map[string]func(api admin.API) error{
		"a bad name":   func(api admin.API) error { return api.DisableTopic(ctx, "a{b}c") },
		"an empty one": func(api admin.API) error { return api.DeleteTopic(ctx, "") },
		"bad setting": func(api admin.API) error {
			_, err := api.UpdateHandler(ctx, topic, "", "h", eventbus.HandlerUpdate{MaxAttempts: &minus})
			return err
		},
		"beside a setting": func(api admin.API) error {
			_, err := api.UpdateHandler(ctx, topic, "", "set", eventbus.HandlerUpdate{RetryInitial: new(time.Hour)})
			return err
		},
		"bad page":   func(api admin.API) error { _, err := api.ListTopics(ctx, admin.Page{Limit: 2000}); return err },
		"bad cursor": func(api admin.API) error { _, err := api.ListConsumers(ctx, admin.Page{Cursor: "?"}); return err },
		"wrong settings": func(api admin.API) error {
			_, err := api.UpdateTopic(ctx, topic, eventbus.TopicUpdate{MaxWaiting: new(int64(-1)), DeadAge: new(-2 * time.Second), IfRevision: -1})
			return err
		},
		"a wrong group": func(api admin.API) error { return api.AddGroup(ctx, topic, eventbus.GroupConfig{Name: "a b"}) },
		"wrong groups": func(api admin.API) error {
			return api.CreateTopic(ctx, "new", eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "a"}, {Name: "a", QueueKey: strings.Repeat("q", 2000)}}})
		},
		"a wrong handler": func(api admin.API) error { return api.EnableHandler(ctx, topic, "", "a b") },
		"handlers' failures": func(api admin.API) error {
			_, err := api.ListFailures(ctx, topic, "", eventbus.FailureQuery{Handler: "a b"})
			return err
		},
		"a wrong header": func(api admin.API) error {
			_, err := api.SendBatch(ctx, topic, []eventbus.Message{{Value: 1}, {Value: 1, Headers: map[string]string{"tenant": "\x00"}}})
			return err
		},
		"an odd delivery": func(api admin.API) error {
			return api.CreateTopic(ctx, "new", eventbus.TopicConfig{Delivery: "odd", Wire: "odd"})
		},
		"an odd change": func(api admin.API) error {
			_, err := api.UpdateTopic(ctx, topic, eventbus.TopicUpdate{Delivery: new(eventbus.Delivery("odd"))})
			return err
		},
		"an odd state": func(api admin.API) error {
			_, err := api.ListFailures(ctx, topic, "default", eventbus.FailureQuery{State: "odd"})
			return err
		},
		"ids with a state": func(api admin.API) error {
			_, err := api.ReplayFailures(ctx, topic, "default", eventbus.FailureFilter{IDs: []string{"a"}, State: eventbus.Dead})
			return err
		},
		"before 1970": func(api admin.API) error {
			_, err := api.DiscardFailures(ctx, topic, "default", eventbus.FailureFilter{Before: time.Unix(0, -1).UTC()})
			return err
		},
		"too many unreadable": func(api admin.API) error { _, err := api.ListUnreadable(ctx, topic, "", 101); return err },
		"fewer than none":     func(api admin.API) error { _, err := api.ListUnreadable(ctx, topic, "", -1); return err },
		"too many events": func(api admin.API) error {
			_, err := api.SendBatch(ctx, topic, make([]eventbus.Message, 20_000))
			return err
		},
		"two times": func(api admin.API) error {
			_, err := api.SendBatch(ctx, topic, []eventbus.Message{{Value: eventbus.Raw{}, Delay: 1, DueAt: time.Unix(1, 0).UTC()}})
			return err
		},
		"seconds": func(api admin.API) error {
			_, err := api.SendBatch(ctx, topic, []eventbus.Message{{Value: eventbus.Raw{}, DueAt: time.UnixMilli(1_796_000_000).UTC()}})
			return err
		},
		"before so many seconds": func(api admin.API) error {
			_, err := api.DiscardFailures(ctx, topic, "default", eventbus.FailureFilter{Before: time.UnixMilli(1_796_000_000).UTC()})
			return err
		},
		"too late": func(api admin.API) error {
			_, err := api.SendBatch(ctx, topic, []eventbus.Message{{Value: eventbus.Raw{}, DueAt: time.Date(200_000_000, 1, 1, 0, 0, 0, 0, time.UTC)}})
			return err
		},
		"bad header": func(api admin.API) error {
			_, err := api.SendBatch(ctx, topic, []eventbus.Message{{Value: eventbus.Raw{}, Headers: map[string]string{"UPPER": "x"}}})
			return err
		},
	} {
		want := call(s)
		require.Error(t, want, what)
		got := call(c)
		require.Error(t, got, what)
		require.Equal(t, want.Error(), got.Error(), what)
		var here, there *eventbus.ArgumentError
		if errors.As(want, &here) {
			require.ErrorAs(t, got, &there, what)
			require.Equal(t, here, there, what)
		}
		require.Equal(t, classOf(want), classOf(got), what)
	}
}
