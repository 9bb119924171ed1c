package admin_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
)

// outage is a hook of a Redis client with which one command fails from the n-th on.
type outage struct {
	command string
	n, seen atomic.Int64
}

func (o *outage) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (o *outage) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (o *outage) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != o.command || o.seen.Add(1) < o.n.Load() {
			return next(ctx, cmd)
		}
		cmd.SetErr(io.ErrUnexpectedEOF)
		return cmd.Err()
	}
}

// hooked is another service on a Redis, with an outage that has not begun.
func hooked(t *testing.T, rdb *redis.Client, command string) (*admin.Service, *outage) {
	t.Helper()
	o := &outage{command: command}
	o.n.Store(1 << 30)
	client := redis.NewClient(rdb.Options())
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	client.AddHook(o)
	s, err := admin.New(struct{ redis.UniversalClient }{client}, eventbus.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, o
}

// A list of topics does not wait for each of them in vain when Redis goes away.
func TestListTopicsStopsAtAnOutage(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	const topics = 100
	for i := range topics {
		require.NoError(t, s.CreateTopic(t.Context(), fmt.Sprint("t", i), eventbus.TopicConfig{}))
	}
	cut, o := hooked(t, rdb, "hgetall")

	o.n.Store(topics + 1)
	p, err := cut.ListTopics(t.Context(), admin.Page{})
	require.NoError(t, err)
	require.Len(t, p.Topics, topics)
	require.EqualValues(t, topics, o.seen.Swap(0), "a topic is read with one command")

	o.n.Store(topics / 2)
	_, err = cut.ListTopics(t.Context(), admin.Page{})
	require.ErrorIs(t, err, eventbus.ErrUnavailable)
	require.Less(t, o.seen.Load(), int64(topics/2+10), "it went on after the outage")

	o.n.Store(topics * 9)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = cut.ListTopics(ended, admin.Page{})
	require.ErrorIs(t, err, context.Canceled)
}

// Of topics with very many groups a list reads few more than it shows, and a new one
// looks at each once, however many queue keys it brings.
func TestTopicsOfManyGroups(t *testing.T) {
	t.Parallel()
	direct, rdb := service(t)
	s, o := hooked(t, rdb, "hgetall")
	const topics, groups = 70, 1000
	var cfg eventbus.TopicConfig
	for i := range groups {
		cfg.Groups = append(cfg.Groups, eventbus.GroupConfig{Name: fmt.Sprint("g", i)})
	}
	for i := range topics {
		require.NoError(t, direct.CreateTopic(t.Context(), fmt.Sprint("t", i), cfg))
	}
	p, err := s.ListTopics(t.Context(), admin.Page{})
	require.NoError(t, err)
	require.NotEmpty(t, p.Next)
	require.Less(t, o.seen.Swap(0), int64(topics/2))

	for i := range cfg.Groups {
		cfg.Groups[i].QueueKey = fmt.Sprintf("{lists}%d", i)
	}
	require.NoError(t, s.CreateTopic(t.Context(), "lists", cfg))
	require.EqualValues(t, topics, o.seen.Load())
	taken := eventbus.GroupConfig{Name: "new", QueueKey: cfg.Groups[groups-1].QueueKey}
	require.ErrorContains(t, s.AddGroup(t.Context(), "lists", taken), `group "g999" of topic "lists" has it`)
}
