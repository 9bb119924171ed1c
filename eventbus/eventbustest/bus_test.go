package eventbustest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

var errOnPurpose = errors.New("on purpose")

func succeeds(context.Context, *eventbus.Event) error { return nil }

func handle(b *Bus, topic, id string, f eventbus.HandleFunc, cfg ...eventbus.HandleConfig) {
	b.Handle(topic, id, f, cfg...)
}

func send(t *testing.T, b *Bus, topic string, value any, options ...eventbus.SendOption) string {
	t.Helper()
	id, err := b.Send(t.Context(), topic, value, options...)
	require.NoError(t, err)
	return id
}

func TestNewNeedsNoSetUp(t *testing.T) {
	t.Parallel()
	b := New(t)
	handle(b, "orders", "archive", succeeds)
	b.Start(t)
	id := send(t, b, "orders", 1)
	require.Equal(t, id, b.RequireSent(t, "orders", nil).ID)
	require.Equal(t, id, b.RequireHandled(t, "orders", "archive", 1)[0].ID)
}

func TestNewTakesAConfigAsItIs(t *testing.T) {
	t.Parallel()
	ready := false
	b := New(t, eventbus.Config{Namespace: "shop", Group: "billing", OnReady: func() { ready = true }})
	_, err := b.Send(t.Context(), "orders", 1)
	require.ErrorIs(t, err, eventbus.ErrTopicNotFound, "no topics are made where that was not asked for")
	require.NoError(t, b.Topics().Create(t.Context(), "orders", eventbus.TopicConfig{}))
	handle(b, "orders", "h", succeeds)
	b.Start(t)
	require.True(t, ready)
	send(t, b, "orders", 1)
	require.Equal(t, "billing", b.RequireHandled(t, "orders", "h", 1)[0].Group)
	require.NoError(t, b.Redis().Exists(t.Context(), "shop:{orders}:config").Err())
}

func TestAnotherSharesTheRedis(t *testing.T) {
	t.Parallel()
	b := New(t)
	other := b.Another(t, eventbus.Config{Group: "other"})
	handle(b, "orders", "h", succeeds)
	handle(other, "orders", "h", succeeds)
	b.Start(t)
	other.Start(t)
	send(t, b, "orders", 1)
	b.RequireHandled(t, "orders", "h", 1)
	other.RequireHandled(t, "orders", "h", 1)
	require.Same(t, b.Clock, other.Clock)
}

func TestStartStops(t *testing.T) {
	t.Parallel()
	b := New(t)
	begun, ended := make(chan struct{}), make(chan struct{})
	handle(b, "orders", "h", func(context.Context, *eventbus.Event) error {
		close(begun)
		<-ended
		return nil
	})
	stop := b.Start(t)
	send(t, b, "orders", 1)
	<-begun
	close(ended)
	stop()
	stop()
	b.RequireHandled(t, "orders", "h", 1)
	require.ErrorIs(t, b.Run(t.Context()), eventbus.ErrRunning)
	send(t, b, "orders", 2)
	require.Len(t, b.Sent(t, "orders"), 2)
}

func TestRedisStandsAlone(t *testing.T) {
	t.Parallel()
	rdb, stop := Redis()
	require.NoError(t, rdb.Ping(t.Context()).Err())
	stop()
	require.Error(t, rdb.Ping(t.Context()).Err())
}

func TestClockMovesRetries(t *testing.T) {
	t.Parallel()
	b := New(t)
	handle(b, "orders", "h", func(_ context.Context, e *eventbus.Event) error {
		if e.Attempt < 3 {
			return eventbus.RetryAfter(time.Hour, errOnPurpose)
		}
		return nil
	})
	b.Start(t)
	send(t, b, "orders", 1)
	f := b.RequireFailed(t, "orders", "h", 1)[0]
	require.WithinDuration(t, b.Clock.Now().Add(time.Hour), f.NextAttempt, 10*time.Second)
	b.Clock.Advance(59 * time.Minute)
	b.WaitIdle(t)
	require.Equal(t, 1, b.RequireFailed(t, "orders", "h", 1)[0].Attempts, "it is not yet due")
	b.Clock.Advance(time.Minute)
	b.WaitIdle(t)
	require.Equal(t, 2, b.RequireFailed(t, "orders", "h", 1)[0].Attempts)
	b.Clock.Advance(time.Hour)
	b.RequireHandled(t, "orders", "h", 1)
	b.WaitIdle(t)
	b.RequireFailed(t, "orders", "h", 0)
}

// Advance does not wait for any process to look.
func TestClockMovesRetriesAtOnce(t *testing.T) {
	t.Parallel()
	b := New(t)
	handle(b, "orders", "h", func(context.Context, *eventbus.Event) error { return eventbus.RetryAfter(time.Hour, errOnPurpose) })
	stop := b.Start(t)
	for range 300 {
		send(t, b, "orders", 1)
	}
	b.RequireFailed(t, "orders", "h", 300)
	stop()
	b.Clock.Advance(30 * time.Minute)
	require.EqualValues(t, 300, stats(t, b, "orders").Retrying)
	b.Clock.Advance(30 * time.Minute)
	s := stats(t, b, "orders")
	require.EqualValues(t, 300, s.Waiting)
	require.Zero(t, s.Retrying)
}

func TestClockGoesOnByItself(t *testing.T) {
	t.Parallel()
	b := New(t)
	b.Clock.Advance(24 * time.Hour)
	first, err := b.Redis().Time(t.Context()).Result()
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(24*time.Hour), first, time.Minute)
	require.Eventually(t, func() bool {
		now, err := b.Redis().Time(context.Background()).Result()
		return err == nil && now.After(first)
	}, defaultPatience, time.Millisecond)
}

func TestClockTakesNobodyForDead(t *testing.T) {
	t.Parallel()
	b := New(t)
	block := make(chan struct{})
	begun := make(chan struct{}, 10)
	held := func(ctx context.Context, _ *eventbus.Event) error {
		begun <- struct{}{}
		<-block
		return nil
	}
	handle(b, "orders", "h", held)
	b.Start(t)
	send(t, b, "orders", 1)
	<-begun
	other := b.Another(t)
	handle(other, "orders", "h", held)
	other.Start(t)
	b.Clock.Advance(1000 * time.Hour)
	consumers, err := b.Consumers(t.Context())
	require.NoError(t, err)
	require.Len(t, consumers, 2)
	for _, c := range consumers {
		require.False(t, c.Expired)
	}
	close(block)
	b.RequireHandled(t, "orders", "h", 1)
	b.WaitIdle(t)
	require.Empty(t, begun, "no other ran it")
}

func TestClockDropsOldFailures(t *testing.T) {
	t.Parallel()
	b := New(t)
	handle(b, "orders", "h", func(context.Context, *eventbus.Event) error { return eventbus.Reject(errOnPurpose) })
	b.Start(t)
	send(t, b, "orders", 1)
	b.RequireFailed(t, "orders", "h", 1)
	b.Clock.Advance(eventbus.DefaultDeadAge - time.Hour)
	b.RequireFailed(t, "orders", "h", 1)
	b.Clock.Advance(2 * time.Hour)
	b.RequireFailed(t, "orders", "h", 0)
}

func TestReplayWorksUnderTheClock(t *testing.T) {
	t.Parallel()
	b := New(t)
	handle(b, "orders", "h", func(_ context.Context, e *eventbus.Event) error {
		return eventbus.Reject(errOnPurpose)
	})
	b.Start(t)
	send(t, b, "orders", 1)
	b.RequireFailed(t, "orders", "h", 1)
	b.Clock.Advance(time.Hour)
	n, err := b.Failures().Replay(t.Context(), "orders", eventbus.FailureFilter{All: true})
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	b.WaitIdle(t)
	f := b.RequireFailed(t, "orders", "h", 1)[0]
	require.WithinDuration(t, b.Clock.Now(), f.FailedAt, time.Minute)
}
