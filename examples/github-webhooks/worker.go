package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/handlers"
)

const workerEnv = "GITHUB_WEBHOOKS_WORKER"

// settings of a worker, which it is given in its environment.
const (
	envRedis  = "GITHUB_WEBHOOKS_REDIS"
	envFile   = "GITHUB_WEBHOOKS_FILE"
	envHook   = "GITHUB_WEBHOOKS_HOOK"
	envTopics = "GITHUB_WEBHOOKS_TOPICS"
)

// webhook is what the typed handler reads of a payload.
type webhook struct {
	Action     string
	Repository struct {
		FullName string `json:"full_name"`
	}
	Sender struct{ Login string }
}

// handledKey is a hash in which the typed handler keeps what it has seen: event
// id to the digest of the payload.
const handledKey = "github-webhooks:typed"

// newBus makes a bus as both the workers and the sender use it. The short lease
// makes the example quick: what the killed worker held is taken over sooner.
func newBus(rdb *redis.Client) (*eventbus.Bus, error) {
	return eventbus.New(rdb, eventbus.Config{
		Concurrency: 16,
		Lease:       2 * time.Second,
		Logger:      slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
}

// work is a worker process: the three handlers for every topic, until SIGTERM.
func work(ctx context.Context) error {
	o, err := redis.ParseURL(os.Getenv(envRedis))
	if err != nil {
		return fmt.Errorf("read the Redis URL: %w", err)
	}
	rdb := redis.NewClient(o)
	defer rdb.Close() //nolint:errcheck // the process ends
	bus, err := newBus(rdb)
	if err != nil {
		return err
	}
	file, err := handlers.NewFile(os.Getenv(envFile))
	if err != nil {
		return err
	}
	hook, err := handlers.NewWebhook(os.Getenv(envHook), handlers.WebhookOptions{})
	if err != nil {
		return err
	}
	typed := eventbus.Typed(func(ctx context.Context, w webhook) error {
		event := eventbus.EventFrom(ctx)
		if w.Sender.Login == "" && strings.Contains(string(event.Payload), `"sender"`) {
			return eventbus.Reject(errors.New("the sender was not decoded"))
		}
		if err := rdb.HSet(ctx, handledKey, event.ID, digest(event.Payload)).Err(); err != nil {
			return err
		}
		fmt.Println("handled", event.ID)
		return nil
	})
	for topic := range strings.FieldsSeq(os.Getenv(envTopics)) {
		bus.Handle(topic, "file", file)
		bus.Handle(topic, "typed", typed)
		bus.Handle(topic, "webhook", hook, eventbus.HandleConfig{
			Retry: eventbus.RetryPolicy{MaxAttempts: 2, Initial: 50 * time.Millisecond},
		})
	}
	return errors.Join(bus.Run(ctx), bus.Close(), file.Close(), hook.Close())
}
