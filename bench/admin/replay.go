package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
)

// replay makes dead failures and has the service replay them, while another client
// goes on asking for a topic.
func replay(ctx context.Context, rdb *redis.Client, address string, failures int) (err error) {
	const of = "replayed"
	bus, err := eventbus.New(rdb, eventbus.Config{Concurrency: 256})
	if err != nil {
		return err
	}
	if err := bus.Topics().Create(ctx, of, eventbus.TopicConfig{}); err != nil {
		return err
	}
	bus.Handle(of, "bench", eventbus.HandleFunc(func(context.Context, *eventbus.Event) error { return eventbus.Reject(errors.New("on purpose")) }))
	running, stop := context.WithCancel(ctx)
	ran := make(chan error, 1)
	go func() { ran <- bus.Run(running) }()
	for sent := 0; sent < failures; sent += 500 {
		batch := slices.Repeat([]eventbus.Message{{Value: eventbus.Raw{Payload: payload(200)}}}, min(500, failures-sent))
		if _, err := bus.SendBatch(ctx, of, batch); err != nil {
			stop()
			return errors.Join(err, <-ran, bus.Close())
		}
	}
	for dead := int64(0); err == nil && dead < int64(failures); time.Sleep(100 * time.Millisecond) {
		var n eventbus.FailureCount
		n, err = bus.Failures().Count(ctx, of)
		dead = n.Dead
	}
	stop()
	if err := errors.Join(err, <-ran, bus.Close(), rdb.SlowLogReset(ctx).Err()); err != nil {
		return err
	}
	client, err := admin.NewClient(admin.ClientConfig{Address: address})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	began := time.Now()
	job, err := client.ReplayFailures(ctx, of, "", eventbus.FailureFilter{All: true})
	var asked []time.Duration
	for err == nil && job.State == admin.JobRunning {
		time.Sleep(5 * time.Millisecond)
		from := time.Now()
		if job, err = client.GetJob(ctx, job.ID); err == nil {
			asked = append(asked, time.Since(from))
		}
	}
	if err != nil {
		return err
	}
	took := time.Since(began)
	calls, err := rdb.SlowLogGet(ctx, -1).Result()
	longest := time.Duration(0)
	for _, c := range calls {
		if c.Args[0] != "slowlog" { // its own reset is none of the replay's
			longest = max(longest, c.Duration)
		}
	}
	slices.Sort(asked)
	fmt.Printf("replay: job %s, %d of %d failures moved in %v, %.0f a second; longest call of Redis %v; %s\n",
		job.State, job.Moved, failures, took.Round(time.Millisecond), float64(job.Moved)/took.Seconds(), longest, meanwhile(asked))
	return err
}

// meanwhile says how long the answers took, sorted, that came while the job ran.
func meanwhile(asked []time.Duration) string {
	if len(asked) == 0 {
		return "it ended before another call was answered"
	}
	return fmt.Sprintf("answers meanwhile p50 %v, p99 %v (%d)",
		asked[len(asked)/2].Round(time.Microsecond), asked[len(asked)*99/100].Round(time.Microsecond), len(asked))
}
