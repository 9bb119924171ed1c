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

// A list of topics does not wait for each of them in vain when Redis goes away.
func TestListTopicsStopsAtAnOutage(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	const topics = 100
	for i := range topics {
		require.NoError(t, s.CreateTopic(t.Context(), fmt.Sprint("t", i), eventbus.TopicConfig{}))
	}
	o := &outage{command: "hgetall"}
	hooked := redis.NewClient(rdb.Options())
	defer func() { require.NoError(t, hooked.Close()) }()
	hooked.AddHook(o)
	cut, err := admin.New(struct{ redis.UniversalClient }{hooked}, eventbus.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, cut.Close()) }()

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
