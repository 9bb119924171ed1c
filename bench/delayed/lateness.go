package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed4933/eventbus/eventbus"
)

// consumer runs a bus with one handler of each topic until stop is called.
func (b *bench) consumer(ctx context.Context, handlers map[string]eventbus.HandleFunc) (stop func() error, err error) {
	bus, err := newBus(b.rdb, 64)
	if err != nil {
		return nil, err
	}
	for topic, handle := range handlers {
		bus.Handle(topic, "bench", handle)
	}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- bus.Run(running) }()
	return func() error {
		cancel()
		return errors.Join(<-ended, bus.Close())
	}, nil
}

// lateness measures from the due time to the start of the handler. Redis's clock
// and this process's are one.
func (b *bench) lateness(ctx context.Context) error {
	if err := b.fillBackground(ctx); err != nil {
		return err
	}
	const n, over = 10_000, 10 * time.Second
	sender, err := newBus(b.rdb, 1)
	if err != nil {
		return err
	}
	defer sender.Close() //nolint:errcheck // it only sends
	from := time.Now().Add(3 * time.Second).Truncate(time.Millisecond)
	due := make(map[string]time.Time, n)
	batch := make([]eventbus.Message, 500)
	for i := 0; i < n; i += len(batch) {
		for j := range batch {
			at := from.Add(time.Duration(i+j) * over / n)
			batch[j] = eventbus.Message{Value: payload(b.size), DueAt: at, ID: fmt.Sprint("late-", i+j)}
			due[batch[j].ID] = at
		}
		if _, err := sender.SendBatch(ctx, "lateness", batch); err != nil {
			return err
		}
	}
	if time.Now().After(from) {
		return errors.New("sending took longer than the time that was left for it")
	}
	var mu sync.Mutex
	late := make([]time.Duration, 0, n)
	twice := 0
	all := make(chan struct{})
	stop, err := b.consumer(ctx, map[string]eventbus.HandleFunc{
		"lateness": func(_ context.Context, e *eventbus.Event) error {
			now := time.Now()
			mu.Lock()
			defer mu.Unlock()
			if len(late) == n {
				twice++
				return nil
			}
			if late = append(late, now.Sub(due[e.ID])); len(late) == n {
				close(all)
			}
			return nil
		},
		background: func(context.Context, *eventbus.Event) error { return nil },
	})
	if err != nil {
		return err
	}
	select {
	case <-all:
	case <-time.After(over + time.Minute):
		err = errors.New("not all came")
	}
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	longest, err := b.longestCall(ctx)
	fmt.Printf("lateness: p50 %v, p99 %v, greatest %v, least %v (below 0: early), twice %d, longest call %v; %d due over %v, %d others pending\n",
		quantile(late, 0.5), quantile(late, 0.99), quantile(late, 1), quantile(late, 0), twice, longest, n, over, b.pending)
	return err
}

// burst makes many events due in one millisecond, while single events go through
// another topic.
func (b *bench) burst(ctx context.Context) error {
	if err := b.fillBackground(ctx); err != nil {
		return err
	}
	const n = 100_000
	sender, err := newBus(b.rdb, 1)
	if err != nil {
		return err
	}
	defer sender.Close() //nolint:errcheck // it only sends
	at := time.Now().Add(8 * time.Second).Truncate(time.Millisecond)
	batch := make([]eventbus.Message, 500)
	for range n / len(batch) {
		for j := range batch {
			batch[j] = eventbus.Message{Value: payload(b.size), DueAt: at}
		}
		if _, err := sender.SendBatch(ctx, "burst", batch); err != nil {
			return err
		}
	}
	if time.Now().After(at) {
		return errors.New("sending took longer than the time that was left for it")
	}
	var came, last atomic.Int64
	seen := sync.Map{}
	var twice atomic.Int64
	single := make(chan time.Time, 1)
	stop, err := b.consumer(ctx, map[string]eventbus.HandleFunc{
		"burst": func(_ context.Context, e *eventbus.Event) error {
			if _, ok := seen.LoadOrStore(e.ID, true); ok {
				twice.Add(1)
			} else {
				came.Add(1)
				last.Store(time.Now().UnixNano())
			}
			return nil
		},
		"other": func(context.Context, *eventbus.Event) error { single <- time.Now(); return nil },
	})
	if err != nil {
		return err
	}
	var pickups []time.Duration
	for deadline := at.Add(time.Minute); time.Now().Before(deadline) && came.Load() < n; {
		began := time.Now()
		if _, err := sender.Send(ctx, "other", payload(b.size)); err != nil {
			return errors.Join(err, stop())
		}
		handled := <-single
		if began.After(at) {
			pickups = append(pickups, handled.Sub(began))
		}
		time.Sleep(time.Until(began.Add(2 * time.Millisecond)))
	}
	if err := stop(); err != nil {
		return err
	}
	longest, err := b.longestCall(ctx)
	fmt.Printf("burst: %d of %d due in one millisecond came, twice %d, the last after %v; another topic's events meanwhile: p50 %v, p99 %v (%d of them); longest call %v\n",
		came.Load(), n, twice.Load(), time.Unix(0, last.Load()).Sub(at).Round(time.Millisecond), quantile(pickups, 0.5), quantile(pickups, 0.99), len(pickups), longest)
	return err
}
