package eventbus_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// Every setting outside its bounds is refused, with its name, and all of them at
// once; those at the bounds are taken.
func TestNewRefusesWhatIsOutOfBounds(t *testing.T) {
	t.Parallel()
	_, rdb := redistest.Miniredis(t)
	for field, bad := range map[string][]eventbus.Config{
		"Concurrency": {{Concurrency: -1}, {Concurrency: eventbus.MaxConcurrency + 1}},
		"MaxPayload":  {{MaxPayload: -1}, {MaxPayload: eventbus.MaxPayloadLimit + 1}},
		"Lease":       {{Lease: -1}, {Lease: eventbus.MinLease - 1}, {Lease: time.Hour + 1}},
		"StopTimeout": {{StopTimeout: -2}, {StopTimeout: 24*time.Hour + 1}},
		"Namespace":   {{Namespace: "a{b"}},
		"Group":       {{Group: "a b"}},
		"Middleware":  {{Middleware: []eventbus.Middleware{nil}}},
	} {
		for _, cfg := range bad {
			bus, err := eventbus.New(rdb, cfg)
			require.Nil(t, bus)
			require.ErrorIs(t, err, eventbus.ErrInvalidArgument, "%s %+v", field, cfg)
			require.ErrorContains(t, err, field)
		}
	}
	_, err := eventbus.New(rdb, eventbus.Config{Concurrency: -1, MaxPayload: -1, Lease: -1, StopTimeout: -2})
	for _, field := range []string{"Concurrency", "MaxPayload", "Lease", "StopTimeout"} {
		require.ErrorContains(t, err, field)
	}
	for _, cfg := range []eventbus.Config{
		{},
		{Concurrency: 1, MaxPayload: 1, Lease: eventbus.MinLease, StopTimeout: -1},
		{Concurrency: eventbus.MaxConcurrency, MaxPayload: eventbus.MaxPayloadLimit, Lease: time.Hour, StopTimeout: 24 * time.Hour},
	} {
		bus, err := eventbus.New(rdb, cfg)
		require.NoError(t, err, "%+v", cfg)
		require.NoError(t, bus.Close())
	}
}

// A handler has ten seconds unless its settings say otherwise.
func TestHandlersHaveTenSeconds(t *testing.T) {
	t.Parallel()
	_, rdb := redistest.Miniredis(t)
	bus, err := eventbus.New(rdb, eventbus.Config{AutoCreateTopics: true, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	left := make(chan time.Duration, 1)
	bus.Handle("orders", "ship", eventbus.HandleFunc(func(ctx context.Context, _ *eventbus.Event) error {
		deadline, _ := ctx.Deadline()
		left <- time.Until(deadline)
		return nil
	}))
	ended := make(chan error, 1)
	go func() { ended <- bus.Run(context.Background()) }()
	_, err = bus.Send(t.Context(), "orders", 1)
	require.NoError(t, err)
	got := <-left
	require.LessOrEqual(t, got, 10*time.Second)
	require.Greater(t, got, 5*time.Second)
	require.NoError(t, bus.Close())
	require.NoError(t, <-ended)
}
