package admin_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// What is set through Thrift acts on processes that run: a switch-off holds from the
// moment in which the call returns, everything else within a second.
func TestEffectsOnRunningProcesses(t *testing.T) {
	t.Parallel()
	const soon = time.Second
	s, c, rdb := pair(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	var handled atomic.Int64
	var timeout atomic.Int64 // of the last run
	stop := run(t, rdb, eventbus.Config{Concurrency: 1}, func(ctx context.Context, _ *eventbus.Event) error {
		until, _ := ctx.Deadline()
		timeout.Store(int64(time.Until(until).Round(time.Second)))
		handled.Add(1)
		return nil
	})
	defer stop()
	stats := func() eventbus.Stats {
		all, err := s.Stats(t.Context(), topic)
		require.NoError(t, err)
		return all[0]
	}
	send := func(n int) {
		_, err := c.SendBatch(t.Context(), topic, batch(n))
		require.NoError(t, err)
	}
	within := func(what string, done func() bool) {
		t.Helper()
		began := time.Now()
		require.Eventually(t, done, time.Minute, time.Millisecond, what)
		require.Less(t, time.Since(began), soon, what)
	}

	send(1)
	require.Eventually(t, func() bool { return timeout.Load() == int64(eventbus.DefaultTimeout) }, time.Minute, time.Millisecond)

	for range 5 {
		send(1000)
		require.NoError(t, c.DisableTopic(t.Context(), topic))
		// What was handed out before ends, and nothing begins any more.
		require.Eventually(t, func() bool { return stats().InFlight == 0 }, time.Minute, time.Millisecond)
		before, left := handled.Load(), stats().Waiting
		require.Positive(t, left, "the consumer was too fast for this test to say anything")
		_, err := c.SendBatch(t.Context(), topic, batch(1))
		require.ErrorIs(t, err, eventbus.ErrTopicDisabled)
		require.Never(t, func() bool { return handled.Load() != before || stats().Waiting != left }, 200*time.Millisecond, 10*time.Millisecond)
		require.NoError(t, c.EnableTopic(t.Context(), topic))
		within("it goes on once it is enabled", func() bool { return handled.Load() > before })
		require.Eventually(t, func() bool { return stats().Waiting == 0 }, time.Minute, time.Millisecond)
	}

	three := 3 * time.Second
	_, err := c.UpdateHandler(t.Context(), topic, "", "h", eventbus.HandlerUpdate{Timeout: &three})
	require.NoError(t, err)
	within("runs have the new timeout", func() bool { send(1); return timeout.Load() == int64(three) })

	require.NoError(t, c.DisableHandler(t.Context(), topic, "", "h"))
	within("no run begins", func() bool {
		before := handled.Load()
		send(1)
		return !comes(100*time.Millisecond, func() bool { return handled.Load() > before })
	})
	require.NoError(t, c.EnableHandler(t.Context(), topic, "", "h"))
	before := handled.Load()
	within("runs begin", func() bool { send(1); return handled.Load() > before })
}

// batch is n events.
func batch(n int) []eventbus.Message {
	all := make([]eventbus.Message, n)
	for i := range all {
		all[i].Value = eventbus.Raw{Payload: []byte("1")}
	}
	return all
}

// comes tells whether something comes to be within a time.
func comes(within time.Duration, done func() bool) bool {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.After(within); !done(); {
		select {
		case <-tick.C:
		case <-end:
			return false
		}
	}
	return true
}
