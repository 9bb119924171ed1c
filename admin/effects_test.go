package admin_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
)

// effects is a process with one handler for the test's topic, which runs one event at a
// time, and one for the topic "witness", and what acts on it through Thrift.
type effects struct {
	*testing.T
	s      *admin.Service
	c      *admin.Client
	ran    chan time.Duration // what each run had left of its timeout when it began
	may    chan struct{}      // each run waits for one, or for its being closed
	begun  chan struct{}      // a run has begun to wait
	passed chan struct{}      // a witness was handled
}

func newEffects(t *testing.T) *effects {
	t.Helper()
	s, c, rdb := pair(t)
	e := &effects{
		T: t, s: s, c: c,
		ran: make(chan time.Duration, 10_000), may: make(chan struct{}), begun: make(chan struct{}, 10_000), passed: make(chan struct{}, 10_000),
	}
	for _, name := range []string{topic, "witness"} {
		require.NoError(t, s.CreateTopic(t.Context(), name, eventbus.TopicConfig{}))
	}
	e.run(rdb)
	return e
}

func (e *effects) run(rdb *redis.Client) {
	ready := make(chan struct{})
	b, err := eventbus.New(rdb, eventbus.Config{Concurrency: 2, OnReady: func() { close(ready) }})
	require.NoError(e, err)
	b.Handle(topic, "h", eventbus.HandleFunc(func(ctx context.Context, _ *eventbus.Event) error {
		until, _ := ctx.Deadline()
		left := time.Until(until)
		e.begun <- struct{}{}
		select {
		case <-e.may:
		case <-ctx.Done():
		}
		e.ran <- left
		return nil
	}), eventbus.HandleConfig{Concurrency: 1})
	b.Handle("witness", "h", eventbus.HandleFunc(func(context.Context, *eventbus.Event) error {
		e.passed <- struct{}{}
		return nil
	}))
	ran := make(chan error, 1)
	go func() { ran <- b.Run(context.Background()) }()
	<-ready
	e.Cleanup(func() {
		require.NoError(e, b.Close())
		require.NoError(e, <-ran)
	})
}

func (e *effects) stats() eventbus.Stats {
	all, err := e.s.Stats(e.Context(), topic)
	require.NoError(e, err)
	return all[0]
}

func (e *effects) send(n int) {
	_, err := e.c.SendBatch(e.Context(), topic, batch(n))
	require.NoError(e, err)
}

// witness returns when the process has taken events that were sent just now: it would
// have taken those of the test's topic, too.
func (e *effects) witness() {
	for range 5 {
		_, err := e.c.SendBatch(e.Context(), "witness", batch(1))
		require.NoError(e, err)
		<-e.passed
	}
}

// until waits for the process to tell that settings are in force.
func (e *effects) until(what string, inForce func(eventbus.HandlerSettings) bool) {
	e.Helper()
	require.Eventually(e, func() bool {
		h, err := e.s.GetHandler(e.Context(), topic, "", "h")
		require.NoError(e, err)
		return inForce(h.Settings)
	}, time.Minute, time.Millisecond, what)
}

// A topic that is switched off through Thrift is so from the moment in which the call
// returns: what was handed out before ends, and nothing begins any more.
func TestSwitchedOffTopicHandsOutNothing(t *testing.T) {
	t.Parallel()
	e := newEffects(t)
	e.send(1000)
	<-e.begun
	require.NoError(t, e.c.DisableTopic(t.Context(), topic))
	close(e.may)
	require.Eventually(t, func() bool { return e.stats().InFlight == 0 }, time.Minute, time.Millisecond)
	handled, left := len(e.ran), e.stats().Waiting
	require.Positive(t, left, "one run at a time held up the others")
	_, err := e.c.SendBatch(t.Context(), topic, batch(1))
	require.ErrorIs(t, err, eventbus.ErrTopicDisabled)
	e.witness()
	require.Equal(t, left, e.stats().Waiting)
	require.Len(t, e.ran, handled)

	require.NoError(t, e.c.EnableTopic(t.Context(), topic))
	require.Eventually(t, func() bool { return len(e.ran) == 1000 }, time.Minute, time.Millisecond)
}

// What is set for a handler through Thrift acts on the process that runs it.
func TestSettingsOfAHandlerAct(t *testing.T) {
	t.Parallel()
	e := newEffects(t)
	close(e.may)
	e.send(1)
	require.Greater(t, <-e.ran, 3*time.Second)

	three := 3 * time.Second
	_, err := e.c.UpdateHandler(t.Context(), topic, "", "h", eventbus.HandlerUpdate{Timeout: &three})
	require.NoError(t, err)
	e.until("it has the new timeout", func(s eventbus.HandlerSettings) bool { return s.Timeout == three })
	e.send(1)
	require.LessOrEqual(t, <-e.ran, three)

	require.NoError(t, e.c.DisableHandler(t.Context(), topic, "", "h"))
	e.until("it is off", func(s eventbus.HandlerSettings) bool { return !s.Enabled })
	e.send(1)
	e.witness()
	require.EqualValues(t, 1, e.stats().Waiting)
	require.Empty(t, e.ran)

	require.NoError(t, e.c.EnableHandler(t.Context(), topic, "", "h"))
	require.LessOrEqual(t, <-e.ran, three)
}

// batch is n events.
func batch(n int) []eventbus.Message {
	all := make([]eventbus.Message, n)
	for i := range all {
		all[i].Value = eventbus.Raw{Payload: []byte("1")}
	}
	return all
}
