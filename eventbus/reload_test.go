package eventbus_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/eventbus/internal/redistest"
)

// patience bounds every wait: for what should take seconds.
const patience = 30 * time.Second

// reading is a client that calls read before it reads the settings of a topic, and
// fails with what that returns.
type reading struct {
	redis.UniversalClient
	read func(key string) error
}

func (r *reading) HGetAll(ctx context.Context, key string) *redis.MapStringStringCmd {
	if err := r.read(key); err != nil {
		cmd := redis.NewMapStringStringCmd(ctx, "hgetall", key)
		cmd.SetErr(err)
		return cmd
	}
	return r.UniversalClient.HGetAll(ctx, key)
}

// running runs a bus with a handler for each topic, which hands on what it gets,
// until the test ends.
func running(t *testing.T, rdb redis.UniversalClient, log *slog.Logger, topics ...string) (*eventbus.Bus, <-chan string) {
	t.Helper()
	ready, handled, ended := make(chan struct{}), make(chan string, 1000), make(chan error, 1)
	b, err := eventbus.New(rdb, eventbus.Config{Logger: log, OnReady: func() { close(ready) }})
	require.NoError(t, err)
	for _, topic := range topics {
		require.NoError(t, b.Topics().Create(t.Context(), topic, eventbus.TopicConfig{}))
		b.Handle(topic, "h", eventbus.HandleFunc(func(_ context.Context, e *eventbus.Event) error {
			handled <- e.Topic
			return nil
		}))
	}
	go func() { ended <- b.Run(context.Background()) }()
	t.Cleanup(func() {
		require.NoError(t, b.Close())
		require.NoError(t, <-ended)
	})
	select {
	case <-ready:
	case <-time.After(patience):
		require.FailNow(t, "the bus does not take events")
	}
	return b, handled
}

// A reading of all topics' settings that fails half way is made good by the next
// one, also for those topics that it has read.
func TestReadingSettingsThatFailsHalfWay(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Options{}).Client(t)
	admin, err := eventbus.New(rdb, eventbus.Config{})
	require.NoError(t, err)
	defer admin.Close()
	var reads, armed, failed atomic.Int64
	b, handled := running(t, &reading{rdb, func(key string) error {
		switch {
		case strings.Contains(key, "{changed}"):
			reads.Add(1)
			armed.CompareAndSwap(1, 2)
		case armed.CompareAndSwap(2, 0):
			failed.Add(1)
			return io.EOF
		}
		return nil
	}}, slog.New(slog.DiscardHandler), "changed", "a", "b", "c", "d", "e", "f", "g")
	for range 3 {
		require.Eventually(t, func() bool { return b.Health(t.Context()) == nil }, patience, 10*time.Millisecond)
		before := reads.Load()
		require.NoError(t, admin.Topics().Disable(t.Context(), "changed"))
		require.Eventually(t, func() bool { return reads.Load() > before }, patience, 5*time.Millisecond)
		// switched on as by somebody whose announcement is lost
		armed.Store(1)
		require.NoError(t, rdb.HSet(t.Context(), "eventbus:{changed}:config", "enabled", 1).Err())
		require.NoError(t, rdb.HIncrBy(t.Context(), "eventbus:{changed}:config", "rev", 1).Err())
		require.NoError(t, rdb.Incr(t.Context(), "eventbus:revision").Err())
		_, err := admin.Send(t.Context(), "changed", 1)
		require.NoError(t, err)
		select {
		case <-handled:
		case <-time.After(patience):
			require.FailNow(t, "it is not served")
		}
	}
	require.Positive(t, failed.Load())
}
