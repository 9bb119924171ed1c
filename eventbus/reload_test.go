package eventbus_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// patience bounds every wait: for what should take seconds.
const patience = 30 * time.Second

// journal keeps what is logged, a line each.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) count(text string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.text.String(), text)
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

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

// The log says once that a topic was deleted, and of which group's process, however
// often the topics are looked at afterwards.
func TestDeletionOfATopicIsToldOnce(t *testing.T) {
	t.Parallel()
	log := &journal{}
	var reads atomic.Int64
	rdb := redistest.Start(t, redistest.Options{}).Client(t)
	b, handled := running(t, &reading{rdb, func(key string) error {
		if strings.Contains(key, "{gone}") {
			reads.Add(1)
		}
		return nil
	}}, log.logger(), "gone", "other")
	const said = `msg="a topic with handlers here was deleted; it is served again when it is made anew" topic=gone group=default`
	for n := 1; n <= 2; n++ {
		require.NoError(t, b.Topics().Delete(t.Context(), "gone"))
		for range 5 { // each has the settings of all topics read anew
			before := reads.Load()
			require.NoError(t, b.Topics().Disable(t.Context(), "other"))
			require.ErrorIs(t, b.Topics().Delete(t.Context(), "gone"), eventbus.ErrTopicNotFound)
			require.Eventually(t, func() bool { return reads.Load() > before }, patience, 5*time.Millisecond)
		}
		require.Equal(t, n, log.count(said))
		require.NoError(t, b.Topics().Create(t.Context(), "gone", eventbus.TopicConfig{}))
		_, err := b.Send(t.Context(), "gone", 1)
		require.NoError(t, err)
		select {
		case <-handled:
		case <-time.After(patience):
			require.FailNow(t, "it is not served again")
		}
	}
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
	// A round in which the topic is read last arms nothing.
	for round := 0; round < 3 || failed.Load() == 0; round++ {
		require.Less(t, round, 50, "no reading was made to fail")
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
}

// That Redis has lost its data is told once, also where joining anew fails at first;
// and a topic whose key is taken meanwhile keeps the process from nothing else.
func TestLossOfDataIsToldOnce(t *testing.T) {
	t.Parallel()
	log := &journal{}
	rdb := redistest.Start(t, redistest.Options{}).Client(t)
	var reads, failing atomic.Int64
	running(t, &reading{rdb, func(string) error {
		reads.Add(1)
		if failing.Add(-1) >= 0 {
			return io.EOF
		}
		return nil
	}}, log.logger(), "broken", "other")
	failing.Store(3)
	require.NoError(t, rdb.FlushAll(t.Context()).Err())
	require.NoError(t, rdb.Set(t.Context(), "eventbus:{broken}:config", "somebody else's", 0).Err())
	require.Eventually(t, func() bool { return log.count("settings of a topic cannot be read") == 1 }, patience, 10*time.Millisecond)
	before := reads.Load()
	require.Eventually(t, func() bool { return reads.Load() >= before+4 }, patience, 10*time.Millisecond)
	require.Equal(t, 1, log.count("redis has lost the bus's data"))
	require.Equal(t, 1, log.count("a topic with handlers here was deleted"), "of the other topic")
	require.Zero(t, log.count("a look over the topics met an error"))
}
