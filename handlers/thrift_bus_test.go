package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/redistest"
)

// A bus on Redis whose handler is hosted elsewhere: what the server answers is
// what becomes of each event.
func TestThrift_Bus(t *testing.T) {
	t.Parallel()
	type call struct {
		id      string
		attempt int32
		at      time.Time
		payload string
	}
	const pause = 300 * time.Millisecond
	calls := make(chan call, 100)
	server := serveThrift(t, ThriftConfig{}, func(_ context.Context, event *thriftbus.Event) (*thriftbus.HandleResult_, error) {
		calls <- call{event.ID, event.Attempt, time.Now(), string(event.Payload)}
		result := &thriftbus.HandleResult_{Outcome: thriftbus.Outcome_DONE, Message: thrift.StringPtr("as " + event.ID)}
		switch {
		case event.ID == "poison":
			return nil, errors.New("NullPointerException")
		case event.ID == "reject":
			result.Outcome = thriftbus.Outcome_REJECT
		case event.ID == "hopeless", event.ID == "retry" && event.Attempt == 1:
			result.Outcome = thriftbus.Outcome_RETRY
		case event.ID == "later" && event.Attempt == 1:
			result.Outcome, result.RetryAfterMs = thriftbus.Outcome_RETRY_AFTER, thrift.Int64Ptr(pause.Milliseconds())
		}
		return result, nil
	})
	ready := make(chan struct{})
	bus, err := eventbus.New(redistest.Start(t, redistest.Options{}).Client(t), eventbus.Config{Logger: slog.New(slog.DiscardHandler), OnReady: func() { close(ready) }})
	require.NoError(t, err)
	ctx := t.Context()
	require.NoError(t, bus.Topics().Create(ctx, "orders", eventbus.TopicConfig{}))
	bus.Handle("orders", "bill", openThrift(t, server.address, ThriftConfig{}), eventbus.HandleConfig{
		Retry:   eventbus.RetryPolicy{MaxAttempts: 2, Initial: time.Millisecond},
		Breaker: eventbus.BreakerConfig{Failures: 1, Open: time.Hour}, // answers do not open it
	})
	ran := make(chan error, 1)
	go func() { ran <- bus.Run(context.Background()) }()
	t.Cleanup(func() {
		require.NoError(t, bus.Close())
		require.NoError(t, <-ran)
	})
	<-ready
	const payload = `{"n":130775545883395173}`
	for _, id := range []string{"poison", "done", "retry", "later", "reject", "hopeless"} {
		_, err := bus.Send(ctx, "orders", json.RawMessage(payload), eventbus.WithID(id))
		require.NoError(t, err)
	}
	at := map[string][]time.Time{}
	for range 10 {
		select {
		case c := <-calls:
			at[c.id] = append(at[c.id], c.at)
			require.EqualValues(t, len(at[c.id]), c.attempt, c.id)
			require.Equal(t, payload, c.payload)
		case <-time.After(patience):
			require.FailNow(t, "not in time", "%v", at)
		}
	}
	require.Len(t, at["retry"], 2)
	require.Len(t, at["later"], 2)
	require.GreaterOrEqual(t, at["later"][1].Sub(at["later"][0]), pause-5*time.Millisecond)
	var dead []eventbus.Failure
	require.Eventually(t, func() bool {
		page, err := bus.Failures().List(ctx, "orders", eventbus.FailureQuery{})
		require.NoError(t, err)
		dead = page.Failures
		return len(dead) == 3
	}, patience, 10*time.Millisecond)
	reasons := map[string]string{}
	for _, f := range dead {
		reasons[f.EventID] = string(f.Reason) + ": " + f.Error
	}
	require.Equal(t, map[string]string{
		"reject":   `rejected: rejected: handler "bill" at ` + server.address + " answered REJECT: as reject",
		"hopeless": `exhausted: handler "bill" at ` + server.address + " answered RETRY: as hopeless",
		"poison":   "exhausted: call handler at " + server.address + ": it answered with an exception: Internal error processing handle: NullPointerException",
	}, reasons)
	require.Empty(t, calls, "nothing runs more often than that")
}
