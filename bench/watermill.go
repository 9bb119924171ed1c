package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9"
)

func runWatermill(ctx context.Context, rdb *redis.Client, s settings) (f figures, err error) {
	logger := watermill.NopLogger{}
	publisher, err := redisstream.NewPublisher(redisstream.PublisherConfig{Client: rdb}, logger)
	if err != nil {
		return f, err
	}
	data, err := json.Marshal(payload(s.size))
	if err != nil {
		return f, err
	}
	// The subscriber closes its client, so it gets one of its own.
	subscriber, err := redisstream.NewSubscriber(redisstream.SubscriberConfig{
		Client: redis.NewClient(rdb.Options()), ConsumerGroup: "bench", OldestId: "0",
	}, logger)
	if err != nil {
		return f, err
	}
	send := func() error { return publisher.Publish("bench", message.NewMessage(watermill.NewUUID(), data)) }
	began := time.Now()
	for range s.events {
		if err := send(); err != nil {
			return f, fmt.Errorf("send: %w", err)
		}
	}
	f.send = rate(s.events, began)

	run := newRun(s.events)
	began = time.Now()
	messages, err := subscriber.Subscribe(ctx, "bench")
	if err != nil {
		return f, errors.Join(err, subscriber.Close())
	}
	go func() {
		for m := range messages {
			run.handled()
			m.Ack()
		}
	}()
	defer func() { err = errors.Join(err, subscriber.Close()) }()
	if err := run.wait(ctx); err != nil {
		return f, err
	}
	f.consume = rate(s.events, began)
	f.pickup, err = run.pickups(ctx, s.picks, send)
	return f, err
}
