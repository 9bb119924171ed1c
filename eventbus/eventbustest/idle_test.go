package eventbustest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// WaitIdle never returns early: whatever it waited for is done.
func TestWaitIdleWaitsForAll(t *testing.T) {
	t.Parallel()
	for _, delivery := range []eventbus.Delivery{eventbus.AtLeastOnce, eventbus.AtMostOnce} {
		t.Run(string(delivery), func(t *testing.T) {
			t.Parallel()
			b := New(t)
			for _, topic := range []string{"first", "second"} {
				require.NoError(t, b.Topics().Create(t.Context(), topic, eventbus.TopicConfig{Delivery: delivery}))
			}
			var done atomic.Int64
			handle(b, "first", "forward", func(ctx context.Context, e *eventbus.Event) error {
				_, err := b.Send(ctx, "second", e.ID)
				return err
			})
			handle(b, "second", "h", func(_ context.Context, e *eventbus.Event) error {
				if e.Attempt == 1 {
					return eventbus.RetryAfter(0, errOnPurpose)
				}
				done.Add(1)
				return nil
			})
			b.Start(t)
			for i := range 30 {
				send(t, b, "first", i)
				b.WaitIdle(t)
				require.EqualValues(t, i+1, done.Load())
				require.EqualValues(t, i+1, stats(t, b, "second").Done)
			}
		})
	}
}

func stats(t *testing.T, b *Bus, topic string) eventbus.Stats {
	t.Helper()
	s, err := b.GroupStats(t.Context(), topic)
	require.NoError(t, err)
	return s
}

func TestBusySaysWhy(t *testing.T) {
	t.Parallel()
	on, off := map[string]bool{"a": false, "b": true}, map[string]bool{"a": false}
	for name, c := range map[string]struct {
		load    load
		topic   store.Topic
		enabled map[string]bool
		says    string
	}{
		"nothing":                      {load{}, store.Topic{Enabled: true}, on, ""},
		"in flight":                    {load{held: 2}, store.Topic{Enabled: false}, off, "2 events are in flight"},
		"one in flight":                {load{held: 1}, store.Topic{Enabled: false}, off, "1 event is in flight"},
		"one waiting":                  {load{waiting: 1}, store.Topic{Enabled: true}, on, "1 event waits"},
		"several running":              {load{running: 2}, store.Topic{Enabled: true, Delivery: store.AtMostOnce}, on, "2 handlers run"},
		"waiting":                      {load{waiting: 2}, store.Topic{Enabled: true}, on, "2 events wait"},
		"waiting, topic off":           {load{waiting: 2, due: true}, store.Topic{Enabled: false}, on, ""},
		"waiting, handlers off":        {load{waiting: 2}, store.Topic{Enabled: true}, off, ""},
		"due":                          {load{due: true}, store.Topic{Enabled: true}, off, "a retry is due"},
		"popped, not yet with handler": {load{totals: map[string]string{"sent": "3"}, seen: 2}, store.Topic{Enabled: true, Delivery: store.AtMostOnce}, on, "1 event has not come to a handler yet"},
		"running, kept nowhere":        {load{running: 1}, store.Topic{Enabled: true, Delivery: store.AtMostOnce}, on, "1 handler runs"},
		"delayed, cancelled":           {load{totals: map[string]string{"sent": "3", "cancelled": "1"}, delayed: 1, seen: 1}, store.Topic{Enabled: true, Delivery: store.AtMostOnce}, on, ""},
		"delayed event due":            {load{delayed: 1, delayedDue: true}, store.Topic{Enabled: true}, off, "a delayed event is due"},
		"delayed event due, topic off": {load{delayed: 1, delayedDue: true}, store.Topic{}, on, ""},
		"all seen":                     {load{totals: map[string]string{"sent": "3"}, seen: 3}, store.Topic{Enabled: true, Delivery: store.AtMostOnce}, on, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.says, c.load.busy(&served{topic: &c.topic, enabled: c.enabled}))
		})
	}
}

func TestWaitIdleLeavesWhatIsSwitchedOff(t *testing.T) {
	t.Parallel()
	b := New(t)
	handle(b, "off", "h", succeeds)
	handle(b, "none", "h", succeeds, eventbus.HandleConfig{Disabled: true})
	handle(b, "one", "off", succeeds, eventbus.HandleConfig{Disabled: true})
	handle(b, "one", "on", succeeds)
	b.Start(t)
	send(t, b, "off", 1)
	b.RequireHandled(t, "off", "h", 1)
	require.NoError(t, b.Topics().Disable(t.Context(), "off"))
	require.NoError(t, b.Redis().LPush(t.Context(), "eventbus:{off}:queue:default", "foreign").Err())
	send(t, b, "none", 1)
	send(t, b, "one", 1)
	b.WaitIdle(t)
	b.Drain(t)
	b.RequireHandled(t, "one", "on", 1)
	b.RequireHandled(t, "one", "off", 0)
	b.RequireFailed(t, "one", "off", 0)
	require.EqualValues(t, 1, stats(t, b, "none").Waiting)
	require.EqualValues(t, 1, stats(t, b, "off").Waiting)
	require.NoError(t, b.Handlers().Enable(t.Context(), "none", "h"))
	b.RequireHandled(t, "none", "h", 1)
}

func TestWaitIdleWithoutABus(t *testing.T) {
	t.Parallel()
	b := New(t)
	b.WaitIdle(t)
	b.Drain(t)
	send(t, b, "orders", 1)
	b.WaitIdle(t) // nobody has anything to do
}

// Drain passes through hours of backoff in no time, in the order of the clock.
func TestDrainRunsRetriesToTheirEnd(t *testing.T) {
	t.Parallel()
	b := New(t)
	began := b.Clock.Now()
	var mu sync.Mutex
	var order []string
	handle(b, "orders", "h", func(_ context.Context, e *eventbus.Event) error {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, fmt.Sprintf("%s %d", e.Payload, e.Attempt))
		switch string(e.Payload) {
		case "1":
			return eventbus.RetryAfter(3*time.Hour, errOnPurpose)
		case "2":
			return eventbus.RetryAfter(2*time.Hour, errOnPurpose)
		}
		if len(order) < 10 {
			return eventbus.Snooze(5 * time.Hour)
		}
		return nil
	}, eventbus.HandleConfig{Concurrency: 1, Retry: eventbus.RetryPolicy{MaxAttempts: 3}})
	b.Start(t)
	for i := range 3 {
		send(t, b, "orders", i+1)
	}
	b.Drain(t)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{
		"1 1", "2 1", "3 1", // now
		"2 2", // 2 h
		"1 2", // 3 h
		"2 3", // 4 h
		"3 1", // 5 h
		"1 3", // 6 h
		"3 1", // 10 h
		"3 1", // 15 h
	}, order)
	require.WithinDuration(t, began.Add(15*time.Hour), b.Clock.Now(), time.Minute)
	b.RequireHandled(t, "orders", "h", 1)
	for _, f := range b.RequireFailed(t, "orders", "h", 2) {
		require.Equal(t, eventbus.Dead, f.State)
		require.Equal(t, 3, f.Attempts)
		require.NotNil(t, f.Event)
	}
}

func TestDrainUsesTheHandlersBackoff(t *testing.T) {
	t.Parallel()
	b := New(t)
	handle(b, "orders", "h", func(_ context.Context, e *eventbus.Event) error { return errOnPurpose })
	b.Start(t)
	send(t, b, "orders", 1)
	b.Drain(t)
	f := b.RequireFailed(t, "orders", "h", 1)[0]
	require.Equal(t, eventbus.DefaultMaxAttempts, f.Attempts)
	require.Equal(t, eventbus.ReasonExhausted, f.Reason)
}
