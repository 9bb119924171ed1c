package eventbustest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// delayedOrders is where the topic orders has its delayed events.
const delayedOrders = "redisson_delay_queue_timeout:eventbus:{orders}:queue:default"

var deliveries = []eventbus.Delivery{eventbus.AtLeastOnce, eventbus.AtMostOnce}

// What is delayed, or was cancelled, does not keep a bus from being idle.
func TestWaitIdleDoesNotWaitForDelayed(t *testing.T) {
	t.Parallel()
	for _, delivery := range deliveries {
		t.Run(string(delivery), func(t *testing.T) {
			t.Parallel()
			b := New(t)
			require.NoError(t, b.Topics().Create(t.Context(), "orders", eventbus.TopicConfig{Delivery: delivery}))
			handle(b, "orders", "h", succeeds)
			b.Start(t)
			send(t, b, "orders", "delayed", eventbus.WithDelay(time.Hour))
			id := send(t, b, "orders", "cancelled", eventbus.WithDelay(time.Hour))
			_, err := b.Delayed().Cancel(t.Context(), "orders", id)
			require.NoError(t, err)
			b.WaitIdle(t)
			send(t, b, "orders", "now")
			b.WaitIdle(t)
			b.RequireHandled(t, "orders", "h", 1)
			b.Clock.Advance(time.Hour)
			b.WaitIdle(t)
			b.RequireHandled(t, "orders", "h", 2)
		})
	}
}

// What is due is to be done, also before a process has moved it.
func TestWaitIdleWaitsForWhatIsDue(t *testing.T) {
	t.Parallel()
	for _, delivery := range deliveries {
		t.Run(string(delivery), func(t *testing.T) {
			t.Parallel()
			b := New(t)
			require.NoError(t, b.Topics().Create(t.Context(), "orders", eventbus.TopicConfig{Delivery: delivery}))
			handle(b, "orders", "h", succeeds)
			b.Start(t)
			const channel = "redisson_delay_queue_channel:eventbus:{orders}:queue:default"
			require.Eventually(t, func() bool {
				n, err := b.Redis().PubSubNumSub(context.Background(), channel).Result()
				return err == nil && n[channel] > 0
			}, defaultPatience, time.Millisecond)
			send(t, b, "orders", 1, eventbus.WithDelay(time.Millisecond))
			b.RequireHandled(t, "orders", "h", 1)
			// Nobody announces this one: the bus finds it by its sweep.
			require.NoError(t, b.Redis().ZAdd(t.Context(), delayedOrders, redis.Z{Score: 1, Member: "\x0812345678\x01\x00\x00\x00\x00\x00\x00\x00x"}).Err())
			require.NoError(t, b.Redis().HIncrBy(t.Context(), "eventbus:{orders}:counts:default", "sent", 1).Err())
			b.WaitIdle(t)
			require.Len(t, b.server.runs.succeeded(place{"orders", eventbus.DefaultGroup}, "h"), 2)
		})
	}
}

func TestSentFindsDelayed(t *testing.T) {
	t.Parallel()
	for _, wire := range []eventbus.Wire{eventbus.WireCloudEvents, eventbus.WireRaw} {
		for _, old := range []bool{false, true} {
			b := New(t)
			require.NoError(t, b.Topics().Create(t.Context(), "orders", eventbus.TopicConfig{Wire: wire, RedissonOldClients: old}))
			id := send(t, b, "orders", "now")
			later := send(t, b, "orders", "later", eventbus.WithDelay(30*time.Minute))
			gone := send(t, b, "orders", "gone", eventbus.WithDelay(time.Minute))
			require.Len(t, b.Sent(t, "orders"), 3)
			got := b.RequireSent(t, "orders", func(e *eventbus.Event) bool { return string(e.Payload) == `"later"` })
			if wire == eventbus.WireCloudEvents {
				require.Equal(t, later, got.ID)
				require.Equal(t, id, b.Sent(t, "orders")[0].ID)
				require.WithinDuration(t, time.Now(), got.Time, time.Minute)
			}
			require.Equal(t, "application/json", got.ContentType)
			require.Contains(t, failsWith(t, func(t testing.TB) {
				b.RequireNotSent(t, "orders", func(e *eventbus.Event) bool { return string(e.Payload) == `"later"` })
			}), "later")

			_, err := b.Delayed().Cancel(t.Context(), "orders", gone)
			require.NoError(t, err)
			require.Len(t, b.Sent(t, "orders"), 2, "nothing is kept of what was cancelled")

			// What nobody can read is no event.
			require.NoError(t, b.Redis().ZAdd(t.Context(), delayedOrders, redis.Z{Score: 1, Member: "junk"}).Err())
			require.Len(t, b.Sent(t, "orders"), 2)

			b.Clock.Advance(time.Hour)
			require.Len(t, b.Sent(t, "orders"), 2, "they stand there once, wherever they are")
			handle(b, "orders", "h", succeeds)
			b.Start(t)
			b.RequireHandled(t, "orders", "h", 2)
			b.WaitIdle(t)
			require.Len(t, b.Sent(t, "orders"), 2)
		}
	}
}

// Drain passes through the delays, too, in the order of the clock.
func TestDrainRunsDelayedEvents(t *testing.T) {
	t.Parallel()
	for _, delivery := range deliveries {
		t.Run(string(delivery), func(t *testing.T) {
			t.Parallel()
			b := New(t)
			require.NoError(t, b.Topics().Create(t.Context(), "orders", eventbus.TopicConfig{Delivery: delivery}))
			require.NoError(t, b.Topics().Create(t.Context(), "reminders", eventbus.TopicConfig{Delivery: delivery}))
			began := b.Clock.Now()
			handle(b, "orders", "h", func(ctx context.Context, e *eventbus.Event) error {
				if string(e.Payload) == `"retry"` && e.Attempt == 1 {
					return eventbus.RetryAfter(2*time.Hour, errOnPurpose)
				}
				_, err := b.Send(ctx, "reminders", 1, eventbus.WithDelay(24*time.Hour))
				return err
			})
			handle(b, "reminders", "h", succeeds)
			b.Start(t)
			send(t, b, "orders", "year", eventbus.WithDelay(365*24*time.Hour))
			send(t, b, "orders", "retry")
			send(t, b, "orders", "hour", eventbus.WithDelay(time.Hour))
			b.Drain(t)
			var order []string
			for _, e := range b.RequireHandled(t, "orders", "h", 3) {
				order = append(order, string(e.Payload))
			}
			require.Equal(t, []string{`"hour"`, `"retry"`, `"year"`}, order)
			b.RequireHandled(t, "reminders", "h", 3)
			require.WithinDuration(t, began.Add(366*24*time.Hour), b.Clock.Now(), time.Minute)
			require.Zero(t, stats(t, b, "orders").Delayed)
		})
	}
}

// What nobody would run stays, and so does what is never due.
func TestDrainLeavesDelayedThatNobodyRuns(t *testing.T) {
	t.Parallel()
	b := New(t)
	handle(b, "orders", "off", succeeds, eventbus.HandleConfig{Disabled: true})
	handle(b, "disabled", "h", succeeds)
	handle(b, "never", "h", succeeds)
	b.Start(t)
	for _, topic := range []string{"orders", "disabled", "nobody"} {
		send(t, b, topic, 1, eventbus.WithDelay(time.Hour))
	}
	require.NoError(t, b.Topics().Disable(t.Context(), "disabled"))
	for _, score := range []float64{9e16, 253402300799000} {
		require.NoError(t, b.Redis().ZAdd(t.Context(), "redisson_delay_queue_timeout:eventbus:{never}:queue:default", redis.Z{Score: score, Member: "m"}).Err())
		began := b.Clock.Now()
		b.Drain(t)
		require.WithinDuration(t, began, b.Clock.Now(), time.Minute)
	}
	require.EqualValues(t, 1, stats(t, b, "orders").Delayed)
	require.EqualValues(t, 1, stats(t, b, "disabled").Delayed)
	require.NoError(t, b.Handlers().Enable(t.Context(), "orders", "off"))
	b.Drain(t)
	b.RequireHandled(t, "orders", "off", 1)
}

// A requirement that is not met tells of what is delayed, and what to do.
func TestRequirementsTellOfDelayed(t *testing.T) {
	t.Parallel()
	b := New(t)
	b.server.patience = 100 * time.Millisecond
	handle(b, "orders", "h", succeeds)
	handle(b, "none", "h", succeeds)
	b.Start(t)
	handled := func(topic string) string {
		return failsWith(t, func(t testing.TB) { b.RequireHandled(t, topic, "h", 1) })
	}
	require.NotContains(t, handled("none"), "delayed")
	require.NotContains(t, handled("unknown"), "delayed")
	send(t, b, "orders", 1, eventbus.WithDelay(time.Hour))
	require.Contains(t, handled("orders"), "1 event is delayed, due in 1h0m0s: Clock.Advance")
	send(t, b, "orders", 1, eventbus.WithDelay(2*time.Hour))
	require.Contains(t, handled("orders"), "2 events are delayed, the next due in 1h0m0s: Clock.Advance")
	require.Contains(t, failsWith(t, func(t testing.TB) { b.RequireFailed(t, "orders", "h", 1) }), "2 events are delayed, the next due in")

	again := New(t)
	again.server.patience = 300 * time.Millisecond
	handle(again, "orders", "h", func(ctx context.Context, e *eventbus.Event) error {
		_, err := again.Send(ctx, "orders", 1, eventbus.WithDelay(time.Hour))
		return err
	})
	again.Start(t)
	send(t, again, "orders", 1)
	require.Contains(t, failsWith(t, func(t testing.TB) { again.Drain(t) }), `topic "orders", group "default": 1 event is delayed`)
	require.True(t, slices.ContainsFunc(again.Sent(t, "orders"), func(e *eventbus.Event) bool { return e.Handler == "" }))
}
