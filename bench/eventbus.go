package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus"
)

func runEventbus(ctx context.Context, rdb *redis.Client, s settings) (f figures, err error) {
	bus, err := eventbus.New(rdb, eventbus.Config{
		Concurrency: s.workers, AutoCreateTopics: true, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, bus.Close()) }()
	run := newRun(s.events)
	bus.Handle("bench", "noop", eventbus.HandleFunc(func(context.Context, *eventbus.Event) error {
		run.handled()
		return nil
	}))
	began := time.Now()
	batch := make([]eventbus.Message, 0, 500)
	for i := range s.events {
		batch = append(batch, eventbus.Message{Value: payload(s.size)})
		if len(batch) == cap(batch) || i == s.events-1 {
			if _, err := bus.SendBatch(ctx, "bench", batch); err != nil {
				return f, fmt.Errorf("send: %w", err)
			}
			batch = batch[:0]
		}
	}
	f.send = rate(s.events, began)

	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	began = time.Now()
	go func() { ended <- bus.Run(running) }()
	if err := run.wait(ctx); err != nil {
		stop()
		return f, errors.Join(err, <-ended)
	}
	f.consume = rate(s.events, began)
	f.pickup, err = run.pickups(ctx, s.picks, func() error {
		_, err := bus.Send(ctx, "bench", payload(s.size))
		return err
	})
	stop()
	return f, errors.Join(err, <-ended)
}
