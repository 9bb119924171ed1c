package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

func runAsynq(ctx context.Context, rdb *redis.Client, s settings) (f figures, err error) {
	client := asynq.NewClientFromRedisClient(rdb)
	data, err := json.Marshal(payload(s.size))
	if err != nil {
		return f, err
	}
	run := newRun(s.events)
	began := time.Now()
	for range s.events {
		if _, err := client.EnqueueContext(ctx, asynq.NewTask("bench", data)); err != nil {
			return f, fmt.Errorf("send: %w", err)
		}
	}
	f.send = rate(s.events, began)

	mux := asynq.NewServeMux()
	mux.HandleFunc("bench", func(context.Context, *asynq.Task) error {
		run.handled()
		return nil
	})
	server := asynq.NewServerFromRedisClient(rdb, asynq.Config{Concurrency: s.workers, LogLevel: asynq.FatalLevel})
	began = time.Now()
	if err := server.Start(mux); err != nil {
		return f, err
	}
	defer server.Shutdown()
	if err := run.wait(ctx); err != nil {
		return f, err
	}
	f.consume = rate(s.events, began)
	f.pickup, err = run.pickups(ctx, s.picks, func() error {
		_, err := client.EnqueueContext(ctx, asynq.NewTask("bench", data))
		return err
	})
	return f, err
}
