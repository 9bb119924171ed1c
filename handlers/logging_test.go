package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func TestLogging(t *testing.T) {
	t.Parallel()
	failed := errors.New("no luck")
	for name, c := range map[string]struct {
		err         error
		level, text string
	}{
		"success":      {nil, "DEBUG", "event handled"},
		"failure":      {failed, "WARN", "event failed"},
		"rejection":    {eventbus.Reject(failed), "WARN", "event failed"},
		"rate limited": {fmt.Errorf("%w: %w", ErrRateLimited, eventbus.Snooze(time.Second)), "DEBUG", "event put off"},
		"in progress":  {fmt.Errorf("%w: %w", ErrInProgress, eventbus.Snooze(time.Second)), "DEBUG", "event put off"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				logger := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
				handle := Logging(logger)(eventbus.HandleFunc(func(context.Context, *eventbus.Event) error {
					<-time.After(3 * time.Second)
					return c.err
				}))
				event := newEvent("e1", "1")
				event.Attempt = 4
				require.Equal(t, c.err, handle.Handle(t.Context(), event))

				var got map[string]any
				require.NoError(t, json.Unmarshal(out.Bytes(), &got), "one line: %s", &out)
				delete(got, "time")
				want := map[string]any{
					"level": c.level, "msg": c.text, "topic": "orders", "handler": "h", "event": "e1",
					"attempt": 4.0, "duration": float64(3 * time.Second),
				}
				if c.err != nil {
					want["err"] = c.err.Error()
				}
				require.Equal(t, want, got)
			})
		})
	}
}

func TestLogging_Panic(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	handle := Logging(slog.New(slog.NewTextHandler(&out, nil)))(
		eventbus.HandleFunc(func(context.Context, *eventbus.Event) error { panic("boom") }))
	require.PanicsWithValue(t, "boom", func() { _ = handle.Handle(t.Context(), newEvent("e1", "1")) })
	require.Contains(t, out.String(), `level=WARN msg="event failed" topic=orders handler=h event=e1`)
	require.Contains(t, out.String(), `err="handler panicked"`)
}

func TestLogging_SuccessIsQuietByDefault(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	handle := Logging(slog.New(slog.NewTextHandler(&out, nil)))(
		eventbus.HandleFunc(func(context.Context, *eventbus.Event) error { return nil }))
	require.NoError(t, handle.Handle(t.Context(), newEvent("e1", "1")))
	require.Empty(t, out.String())
	require.NotNil(t, Logging(nil))
}
