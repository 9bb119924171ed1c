package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus"
)

const workerArg = "worker"

// worker handles a topic in a process of its own, and counts in Redis how often
// each event came.
func worker(address, topic, counts string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	rdb := redis.NewClient(&redis.Options{Addr: address})
	defer rdb.Close() //nolint:errcheck // the process ends
	bus, err := newBus(rdb, 64)
	if err == nil {
		bus.Handle(topic, "bench", eventbus.HandleFunc(func(ctx context.Context, e *eventbus.Event) error {
			return rdb.HIncrBy(ctx, counts, e.ID, 1).Err()
		}))
		fmt.Println("ready")
		err = errors.Join(bus.Run(ctx), bus.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	return 0
}

// processes lets several share what is due.
func (b *bench) processes(ctx context.Context) error {
	const n, workers, topic, counts = 50_000, 5, "shared", "bench-counts"
	sender, err := newBus(b.rdb, 1)
	if err != nil {
		return err
	}
	defer sender.Close() //nolint:errcheck // it only sends
	at := time.Now().Add(6 * time.Second)
	if err := fill(ctx, sender, topic, n, b.size, at, time.Second); err != nil {
		return err
	}
	var stops []func() error
	for range workers {
		cmd := exec.CommandContext(ctx, os.Args[0], workerArg, b.address, topic, counts)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return err
		}
		stops = append(stops, func() error { return errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait()) })
		if line, err := bufio.NewReader(out).ReadString('\n'); strings.TrimSpace(line) != "ready" {
			return fmt.Errorf("start a worker: %w", err)
		}
	}
	for deadline := at.Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		stats, err := sender.GroupStats(ctx, topic)
		if err != nil {
			return err
		}
		if stats.Done >= n {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not all came: %+v", stats)
		}
	}
	took := time.Since(at)
	for _, stop := range stops {
		err = errors.Join(err, stop())
	}
	came, readErr := b.rdb.HVals(ctx, counts).Result()
	twice := 0
	for _, times := range came {
		if times != "1" {
			twice++
		}
	}
	fmt.Printf("processes: %d of %d events came in %d processes, more than once %d, all in %v\n", len(came), n, workers, twice, took.Round(time.Millisecond))
	return errors.Join(err, readErr, b.rdb.Del(ctx, counts).Err())
}
