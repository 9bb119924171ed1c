package eventbustest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// fake is a test that fails, to see that it does.
type fake struct {
	testing.TB
	failed string
}

func (f *fake) Helper() {}

func (f *fake) Fatalf(format string, args ...any) {
	f.failed = fmt.Sprintf(format, args...)
	panic(f)
}

// failsWith runs a helper and returns the text with which it fails the test.
func failsWith(t *testing.T, helper func(t testing.TB)) (text string) {
	t.Helper()
	f := &fake{TB: t}
	defer func() {
		if r := recover(); r != nil && r != any(f) {
			panic(r)
		}
		require.NotEmpty(t, f.failed, "the helper should have failed")
		text = f.failed
	}()
	helper(f)
	return ""
}

func TestSentFindsEventsInAllPlaces(t *testing.T) {
	t.Parallel()
	b := New(t, eventbus.Config{AutoCreateTopics: true, Concurrency: 1})
	block, begun := make(chan struct{}), make(chan struct{}, 10)
	handle(b, "orders", "h", func(_ context.Context, e *eventbus.Event) error {
		switch string(e.Payload) {
		case `"dead"`:
			return eventbus.Reject(errOnPurpose)
		case `"retry"`:
			return eventbus.RetryAfter(time.Hour, errOnPurpose)
		case `"in flight"`:
			begun <- struct{}{}
			<-block
		}
		return nil
	})
	b.Start(t)
	kinds := []string{"done", "dead", "retry", "in flight", "waiting"}
	var ids []string
	for _, kind := range kinds {
		ids = append(ids, send(t, b, "orders", kind, eventbus.WithHeader("kind", strings.ReplaceAll(kind, " ", ""))))
	}
	<-begun
	sent := b.Sent(t, "orders")
	require.Len(t, sent, len(kinds))
	for i, e := range sent {
		require.Equal(t, ids[i], e.ID)
		require.Equal(t, `"`+kinds[i]+`"`, string(e.Payload))
		require.Equal(t, "orders", e.Topic)
		require.NotEmpty(t, e.Headers)
		got := b.RequireSent(t, "orders", func(e *eventbus.Event) bool { return string(e.Payload) == `"`+kinds[i]+`"` })
		require.Equal(t, ids[i], got.ID)
	}
	close(block)
	b.WaitIdle(t)
	require.Len(t, b.Sent(t, "orders"), len(kinds), "also when they are done")
}

// A bus that is not of this package handles what is sent.
func TestSentFindsWhatOthersHandle(t *testing.T) {
	t.Parallel()
	b := New(t)
	other, err := eventbus.New(b.Redis(), eventbus.Config{AutoCreateTopics: true, Concurrency: 1, StopTimeout: -1})
	require.NoError(t, err)
	begun := make(chan struct{}, 10)
	other.Handle("orders", "h", eventbus.HandleFunc(func(ctx context.Context, e *eventbus.Event) error {
		begun <- struct{}{}
		switch string(e.Payload) {
		case `"dead"`:
			return eventbus.Reject(errOnPurpose)
		case `"retry"`:
			return eventbus.RetryAfter(time.Hour, errOnPurpose)
		}
		<-ctx.Done()
		return ctx.Err()
	}))
	ended := make(chan error, 1)
	go func() { ended <- other.Run(context.Background()) }()
	var ids []string
	for _, kind := range []string{"dead", "retry", "in flight", "waiting"} {
		ids = append(ids, send(t, b, "orders", kind))
	}
	for range 3 {
		<-begun
	}
	var found []string
	for _, e := range b.Sent(t, "orders") {
		found = append(found, e.ID)
	}
	require.Equal(t, ids, found)
	require.NoError(t, other.Close())
	require.NoError(t, <-ended)
}

// Without a bus that runs, what is sent waits.
func TestSentNeedsNoHandler(t *testing.T) {
	t.Parallel()
	b := New(t)
	require.Empty(t, b.Sent(t, "orders"))
	b.RequireNotSent(t, "orders", nil)
	id := send(t, b, "orders", 7)
	require.Equal(t, id, b.RequireSent(t, "orders", nil).ID)
	b.RequireNotSent(t, "orders", func(e *eventbus.Event) bool { return string(e.Payload) == "8" })
	require.Empty(t, b.Sent(t, "others"))

	// To a topic whose groups are others', too.
	require.NoError(t, b.Topics().Create(t.Context(), "mail", eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "a"}, {Name: "b"}}}))
	send(t, b, "mail", 1)
	require.Len(t, b.Sent(t, "mail"), 1)
}

func TestSentOnARawTopic(t *testing.T) {
	t.Parallel()
	b := New(t)
	require.NoError(t, b.Topics().Create(t.Context(), "orders", eventbus.TopicConfig{Wire: eventbus.WireRaw}))
	send(t, b, "orders", map[string]string{"specversion": "1.0", "id": "x", "source": "y", "type": "z"})
	got := b.RequireSent(t, "orders", nil)
	require.JSONEq(t, `{"specversion":"1.0","id":"x","source":"y","type":"z"}`, string(got.Payload))
	handle(b, "orders", "h", func(_ context.Context, e *eventbus.Event) error { return eventbus.RetryAfter(time.Hour, errOnPurpose) })
	b.Start(t)
	b.RequireFailed(t, "orders", "h", 1)
	require.Len(t, b.Sent(t, "orders"), 1)
}

func TestRequireSentWaits(t *testing.T) {
	t.Parallel()
	b := New(t)
	handle(b, "orders", "forward", func(ctx context.Context, e *eventbus.Event) error {
		_, err := b.Send(ctx, "invoices", "for "+e.ID)
		return err
	})
	b.Start(t)
	id := send(t, b, "orders", 1)
	got := b.RequireSent(t, "invoices", nil)
	require.Equal(t, `"for `+id+`"`, string(got.Payload))
}

func TestRequirementsFailWithWhatThereIs(t *testing.T) {
	t.Parallel()
	b := New(t)
	handle(b, "orders", "h", func(_ context.Context, e *eventbus.Event) error {
		if string(e.Payload) == `"bad"` {
			return eventbus.Reject(errOnPurpose)
		}
		return nil
	})
	b.Start(t)
	send(t, b, "orders", "good")
	send(t, b, "orders", "good")
	bad := send(t, b, "orders", "bad")
	b.WaitIdle(t)

	text := failsWith(t, func(t testing.TB) { b.RequireNotSent(t, "orders", nil) })
	require.Contains(t, text, "there are 3")
	require.Contains(t, text, bad)
	text = failsWith(t, func(t testing.TB) { b.RequireHandled(t, "orders", "h", 1) })
	require.Contains(t, text, "there are 2")
	text = failsWith(t, func(t testing.TB) { b.RequireFailed(t, "orders", "h", 0) })
	require.Contains(t, text, bad)
	require.Contains(t, text, "on purpose")
	text = failsWith(t, func(t testing.TB) { b.Clock.t = t; b.Clock.Advance(-1) })
	require.Contains(t, text, "does not go back")
}

func TestRequirementsFailInTime(t *testing.T) {
	t.Parallel()
	b := New(t)
	b.server.patience = 300 * time.Millisecond
	handle(b, "orders", "h", func(_ context.Context, e *eventbus.Event) error { return eventbus.Snooze(time.Minute) })
	b.Start(t)
	send(t, b, "orders", 1)
	for name, c := range map[string]struct {
		helper func(t testing.TB)
		says   string
	}{
		"RequireSent":    {func(t testing.TB) { b.RequireSent(t, "nothing", nil) }, "there are 0"},
		"RequireHandled": {func(t testing.TB) { b.RequireHandled(t, "orders", "h", 1) }, "handlers that were called: h"},
		"RequireFailed":  {func(t testing.TB) { b.RequireFailed(t, "orders", "h", 1) }, "and 0 did"},
		"Drain":          {func(t testing.TB) { b.Drain(t) }, "snoozed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, failsWith(t, c.helper), c.says)
		})
	}
}

func TestWaitIdleFailsInTime(t *testing.T) {
	t.Parallel()
	b := New(t, eventbus.Config{AutoCreateTopics: true, StopTimeout: -1})
	b.server.patience = 300 * time.Millisecond
	handle(b, "stuck", "h", func(ctx context.Context, e *eventbus.Event) error { <-ctx.Done(); return ctx.Err() }, eventbus.HandleConfig{Timeout: time.Hour})
	handle(b, "fine", "h", succeeds)
	stop := b.Start(t)
	send(t, b, "stuck", 1)
	text := failsWith(t, func(t testing.TB) { b.WaitIdle(t) })
	require.Contains(t, text, `topic "stuck", group "default": 1 event is in flight`)
	require.NotContains(t, text, "fine")
	stop()
}

func TestStartFailsWithTheReason(t *testing.T) {
	t.Parallel()
	b := New(t, eventbus.Config{})
	require.Contains(t, failsWith(t, func(t testing.TB) { b.Start(t) }), eventbus.ErrNoHandler.Error())
	handle(b, "orders", "h", succeeds)
	require.Contains(t, failsWith(t, func(t testing.TB) { b.Start(t) }), eventbus.ErrTopicNotFound.Error())
}
