package admin_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// A caller whose own deadline passes is told so, and not of an outage: whoever sees one
// looks at Redis, and tries again.
func TestDeadlineOfTheCallerIsNoOutage(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Start(t, redistest.Options{}).Addr())
	rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
	defer func() { require.NoError(t, rdb.Close()) }()
	fresh, err := admin.New(rdb, eventbus.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, fresh.Close()) }()
	used, err := admin.New(rdb, eventbus.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, used.Close()) }()
	require.NoError(t, used.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	address, _ := serve(t, used, admin.ServerConfig{})
	remote := client(t, admin.ClientConfig{Address: address})
	require.NoError(t, remote.Ping(t.Context()))
	proxy.Blackhole(true)
	defer proxy.Blackhole(false)

	calls := map[string]func(ctx context.Context, api admin.API) error{
		"ping": func(ctx context.Context, api admin.API) error { return api.Ping(ctx) },
		"topics": func(ctx context.Context, api admin.API) error {
			_, err := api.ListTopics(ctx, admin.Page{})
			return err
		},
		"topic":  func(ctx context.Context, api admin.API) error { _, err := api.GetTopic(ctx, topic); return err },
		"switch": func(ctx context.Context, api admin.API) error { return api.DisableTopic(ctx, topic) },
		"count": func(ctx context.Context, api admin.API) error {
			_, err := api.CountFailures(ctx, topic, "")
			return err
		},
		"stats": func(ctx context.Context, api admin.API) error { _, err := api.Stats(ctx, topic); return err },
		"job":   func(ctx context.Context, api admin.API) error { _, err := api.GetJob(ctx, "j"); return err },
		"send": func(ctx context.Context, api admin.API) error {
			_, err := api.SendBatch(ctx, topic, batch(1))
			return err
		},
	}
	for which, api := range map[string]admin.API{"directly": used, "as the first call": fresh, "through a server": remote} {
		for what, call := range calls {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			err := call(ctx, api)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded, "%s, %s", which, what)
			require.NotErrorIs(t, err, eventbus.ErrUnavailable, "%s, %s", which, what)
		}
	}
}
