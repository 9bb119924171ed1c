package handlers

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed4933/eventbus/eventbus"
)

// errUnwound stands for the error of a handler that did not return.
var errUnwound = errors.New("handler panicked")

// Logging returns a Middleware that writes one line per run with the topic, the
// handler, the event's id, the attempt, the duration and the error. A success is
// at level debug, a failure at warn, and a run that RateLimit or Deduplicate put
// off at debug. A nil logger means slog.Default().
func Logging(logger *slog.Logger) eventbus.Middleware {
	if logger == nil {
		logger = slog.Default()
	}
	return func(next eventbus.EventHandle) eventbus.EventHandle {
		return eventbus.HandleFunc(func(ctx context.Context, event *eventbus.Event) error {
			start := time.Now()
			err := errUnwound
			// Deferred, so that a panic on its way to the bus leaves its line too.
			defer func() { logRun(ctx, logger, event, time.Since(start), err) }()
			err = next.Handle(ctx, event)
			return err
		})
	}
}

func logRun(ctx context.Context, logger *slog.Logger, event *eventbus.Event, took time.Duration, err error) {
	level, text := slog.LevelDebug, "event handled"
	switch {
	case errors.Is(err, ErrRateLimited), errors.Is(err, ErrInProgress):
		text = "event put off"
	case err != nil:
		level, text = slog.LevelWarn, "event failed"
	}
	if !logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("topic", event.Topic),
		slog.String("handler", event.Handler),
		slog.String("event", event.ID),
		slog.Int("attempt", event.Attempt),
		slog.Duration("duration", took),
	}
	if err != nil {
		attrs = append(attrs, slog.String("err", err.Error()))
	}
	logger.LogAttrs(ctx, level, text, attrs...)
}
