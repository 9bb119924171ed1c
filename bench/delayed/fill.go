package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus"
)

const background = "pending" // the topic that holds what is pending meanwhile

func newBus(rdb *redis.Client, concurrency int) (*eventbus.Bus, error) {
	return eventbus.New(rdb, eventbus.Config{
		Concurrency: concurrency, AutoCreateTopics: true, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
}

// payload is a JSON text of so many bytes.
func payload(size int) eventbus.Raw {
	return eventbus.Raw{Payload: []byte(`"` + strings.Repeat("x", max(0, size-2)) + `"`)}
}

// fill sends n events that are due at random from a time on, within a span.
func fill(ctx context.Context, bus *eventbus.Bus, topic string, n, size int, from time.Time, span time.Duration) error {
	batch := make([]eventbus.Message, 0, 500)
	for i := range n {
		batch = append(batch, eventbus.Message{Value: payload(size), DueAt: from.Add(rand.N(span))})
		if len(batch) == cap(batch) || i == n-1 {
			if _, err := bus.SendBatch(ctx, topic, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return nil
}

// fillBackground makes sure that the events are pending that the run asks for.
func (b *bench) fillBackground(ctx context.Context) error {
	bus, err := newBus(b.rdb, 1)
	if err != nil {
		return err
	}
	defer bus.Close() //nolint:errcheck // it only sends
	if stats, err := bus.GroupStats(ctx, background); err == nil && stats.Delayed >= int64(b.pending) {
		return nil
	}
	began := time.Now()
	if err := fill(ctx, bus, background, b.pending, b.size, time.Now().Add(24*time.Hour), 30*24*time.Hour); err != nil {
		return err
	}
	fmt.Printf("fill: %d events with random delays, in batches of 500: %.0f/s\n", b.pending, float64(b.pending)/time.Since(began).Seconds())
	return nil
}

// memory tells what a pending event costs.
func (b *bench) memory(ctx context.Context) error {
	before, err := b.used(ctx)
	if err != nil {
		return err
	}
	if err := b.fillBackground(ctx); err != nil {
		return err
	}
	after, err := b.used(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("memory: %.0f bytes an event, payload of %d bytes in a CloudEvents envelope, %d pending\n", float64(after-before)/float64(b.pending), b.size, b.pending)
	bus, err := newBus(b.rdb, 1)
	if err != nil {
		return err
	}
	defer bus.Close() //nolint:errcheck // it only sends
	if err := bus.Topics().Create(ctx, "raw", eventbus.TopicConfig{Wire: eventbus.WireRaw}); err != nil {
		return err
	}
	n := b.pending / 5
	if err := fill(ctx, bus, "raw", n, b.size, time.Now().Add(24*time.Hour), 30*24*time.Hour); err != nil {
		return err
	}
	bare, err := b.used(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("memory: %.0f bytes an event, bare payload of %d bytes, %d pending\n", float64(bare-after)/float64(n), b.size, n)
	return bus.Topics().Delete(ctx, "raw")
}
