package admin_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

const topic = "orders"

// service returns a service, and its server.
func service(t *testing.T) (*admin.Service, *redis.Client) {
	t.Helper()
	rdb := redistest.Start(t, redistest.Options{}).Client(t)
	s, err := admin.New(rdb, eventbus.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, rdb
}

// run runs a bus with a handler for the test's topic until the function that it
// returns is called.
func run(t *testing.T, rdb *redis.Client, cfg eventbus.Config, f eventbus.HandleFunc) (stop func()) {
	t.Helper()
	return runOn(t, rdb, topic, cfg, f)
}

// runOn is run for another topic.
func runOn(t *testing.T, rdb *redis.Client, topic string, cfg eventbus.Config, f eventbus.HandleFunc) (stop func()) {
	t.Helper()
	ready := make(chan struct{})
	cfg.OnReady = func() { close(ready) }
	b, err := eventbus.New(rdb, cfg)
	require.NoError(t, err)
	b.Handle(topic, "h", f)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- b.Run(ctx) }()
	<-ready
	stop = func() {
		cancel()
		require.NoError(t, <-ran)
		require.NoError(t, b.Close())
	}
	return stop
}

func reject(context.Context, *eventbus.Event) error {
	return eventbus.Reject(errors.New("on purpose"))
}

// bury makes n dead failures.
func bury(t *testing.T, s admin.API, rdb *redis.Client, n int) {
	t.Helper()
	stop := run(t, rdb, eventbus.Config{}, reject)
	defer stop()
	for sent := 0; sent < n; sent += 1000 {
		batch := make([]eventbus.Message, min(1000, n-sent))
		for i := range batch {
			batch[i].Value = sent + i
		}
		_, err := s.SendBatch(t.Context(), topic, batch)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		c, err := s.CountFailures(t.Context(), topic, "")
		require.NoError(t, err)
		return c.Dead == int64(n)
	}, time.Minute, 10*time.Millisecond)
}

func ended(t *testing.T, s admin.API, id string) admin.Job {
	t.Helper()
	var j admin.Job
	require.Eventually(t, func() bool {
		var err error
		j, err = s.GetJob(t.Context(), id)
		require.NoError(t, err)
		return j.State != admin.JobRunning
	}, time.Minute, 5*time.Millisecond)
	return j
}

func TestListsComeInPages(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	var want []string
	for i := range 25 {
		name := fmt.Sprintf("topic-%02d", i)
		want = append(want, name)
		require.NoError(t, s.CreateTopic(t.Context(), name, eventbus.TopicConfig{}))
	}
	var got []string
	var sizes []int
	for page := (admin.Page{Limit: 10}); ; {
		p, err := s.ListTopics(t.Context(), page)
		require.NoError(t, err)
		sizes = append(sizes, len(p.Topics))
		for _, topic := range p.Topics {
			got = append(got, topic.Name)
		}
		if p.Next == "" {
			break
		}
		// What is deleted or made meanwhile moves nothing of the rest.
		page.Cursor = p.Next
	}
	require.Equal(t, want, got)
	require.Equal(t, []int{10, 10, 5}, sizes)

	p, err := s.ListTopics(t.Context(), admin.Page{Limit: 10})
	require.NoError(t, err)
	require.NoError(t, s.DeleteTopic(t.Context(), "topic-09"))
	require.NoError(t, s.CreateTopic(t.Context(), "topic-0", eventbus.TopicConfig{}))
	p, err = s.ListTopics(t.Context(), admin.Page{Limit: 1, Cursor: p.Next})
	require.NoError(t, err)
	require.Equal(t, "topic-10", p.Topics[0].Name)

	for _, bad := range []admin.Page{{Limit: -1}, {Limit: 1001}, {Cursor: "no cursor!"}} {
		_, err := s.ListTopics(t.Context(), bad)
		require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
		_, err = s.ListHandlers(t.Context(), topic, "", bad)
		require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
		_, err = s.ListConsumers(t.Context(), bad)
		require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
	}
}

// A page is never too large for a frame, however large its elements are.
func TestPagesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	groups := make([]eventbus.GroupConfig, 1000)
	for i := range groups {
		groups[i].Name = fmt.Sprintf("%0250d", i)
	}
	for i := range 6 {
		require.NoError(t, s.CreateTopic(t.Context(), fmt.Sprint("t", i), eventbus.TopicConfig{Groups: groups}))
	}
	names := map[string]bool{}
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		p, err := s.ListTopics(t.Context(), admin.Page{Cursor: cursor})
		require.NoError(t, err)
		require.Less(t, len(p.Topics), 6)
		for _, topic := range p.Topics {
			require.False(t, names[topic.Name])
			names[topic.Name] = true
		}
		cursor = p.Next
	}
	require.Len(t, names, 6)
}

// What is wrong with one topic does not take the others away.
func TestTopicsThatCannotBeReadAreListed(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), "spoiled", eventbus.TopicConfig{}))
	require.NoError(t, rdb.Set(t.Context(), "eventbus:{spoiled}:config", "no settings", 0).Err())
	require.NoError(t, s.CreateTopic(t.Context(), "a", eventbus.TopicConfig{}))
	require.NoError(t, s.CreateTopic(t.Context(), "b", eventbus.TopicConfig{}))
	require.NoError(t, rdb.HSet(t.Context(), "eventbus:{a}:config", "deleting", "1").Err())
	address, _ := serve(t, s, admin.ServerConfig{})
	for _, api := range []admin.API{s, client(t, admin.ClientConfig{Address: address})} {
		p, err := api.ListTopics(t.Context(), admin.Page{})
		require.NoError(t, err)
		require.Equal(t, []string{"a"}, p.Deleting)
		require.Equal(t, []string{"spoiled"}, p.Unreadable)
		require.Len(t, p.Topics, 1)
		require.Equal(t, "b", p.Topics[0].Name)
		_, err = api.GetTopic(t.Context(), "spoiled")
		require.ErrorIs(t, err, eventbus.ErrWrongType)
	}
}

func TestGroupsOfOthersAreReached(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "default"}, {Name: "other"}}}))
	stop := run(t, rdb, eventbus.Config{Group: "other"}, func(context.Context, *eventbus.Event) error { return nil })
	defer stop()
	timeout := 3 * time.Second
	_, err := s.UpdateHandler(t.Context(), topic, "other", "h", eventbus.HandlerUpdate{Timeout: &timeout})
	require.NoError(t, err)
	require.NoError(t, s.DisableHandler(t.Context(), topic, "other", "h"))
	require.Eventually(t, func() bool {
		h, err := s.GetHandler(t.Context(), topic, "other", "h")
		require.NoError(t, err)
		return h.Settings.Timeout == timeout && !h.Settings.Enabled
	}, time.Minute, time.Millisecond)
	p, err := s.ListHandlers(t.Context(), topic, "other", admin.Page{})
	require.NoError(t, err)
	require.Len(t, p.Handlers, 1)
	p, err = s.ListHandlers(t.Context(), topic, "", admin.Page{})
	require.NoError(t, err)
	require.Empty(t, p.Handlers)
	c, err := s.ListConsumers(t.Context(), admin.Page{})
	require.NoError(t, err)
	require.Len(t, c.Consumers, 1)
	require.Equal(t, "other", c.Consumers[0].Group)
}
