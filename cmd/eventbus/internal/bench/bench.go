// Package bench measures the bus on a given server: how fast it takes events,
// how fast it hands them out, and how long an idle bus takes to pick one up.
//
// What is measured, and what is not:
//
//   - Send: events sent by a number of senders while nobody consumes, so that
//     the whole backlog is in the queue at the end.
//   - Consume: that backlog handled by a handler that does nothing, from the
//     moment when the bus takes events until Redis holds none, in flight or
//     waiting. It is the bus's own rate; a real handler takes its own time.
//   - End to end: as many events again, sent and handled at the same time.
//   - Pickup: one event at a time on an idle bus, from before the call of Send
//     until its handler begins.
//
// Senders, bus and, where it is embedded, the server share one process and its
// processors.
package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/scratch"
	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
	"github.com/seed4933/eventbus/eventbus"
)

// Config says what to measure.
type Config struct {
	Namespace   string // "" for one of its own
	Group       string // "" for the default
	Events      int
	Size        int // of a payload, in bytes
	Senders     int
	Batch       int // events in one call of Send
	Concurrency int // handlers at once
	Samples     int // of the pickup latency
	// Progress is told what is being measured.
	Progress func(text string)
}

// Result is what was measured.
type Result struct {
	Send     Send
	Consume  Rate
	EndToEnd Rate
	Pickup   Latency
	// Repeated counts events that were handed out more than once.
	Repeated int64
}

// Rate is a number of events and the time they took.
type Rate struct {
	Events int
	Took   time.Duration
}

// PerSecond is the rate in events a second.
func (r Rate) PerSecond() float64 { return float64(r.Events) / r.Took.Seconds() }

// Send is the rate of sending, and how long each call took.
type Send struct {
	Rate
	Call Latency
}

// Run measures in a topic of its own, which it removes at the end, and with it the
// namespace where that is its own too.
func Run(ctx context.Context, rdb redis.UniversalClient, cfg Config) (result Result, err error) {
	b := &bench{cfg: cfg, rdb: rdb, namespace: cfg.Namespace, topic: scratch.Name("bench")}
	if cfg.Namespace == "" {
		b.namespace = scratch.Name("eventbus-bench")
	}
	b.payload = payload(cfg.Size)
	b.sender, err = b.bus(nil)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, b.sender.Close()) }()
	if err := b.sender.Topics().Create(ctx, b.topic, eventbus.TopicConfig{}); err != nil {
		return Result{}, err
	}
	defer func() {
		cfg.Progress("removing what was made")
		err = errors.Join(err, b.clean(ctx))
	}()
	cfg.Progress("sending " + show.Count(cfg.Events, "event"))
	if result.Send, err = b.send(ctx); err != nil {
		return Result{}, err
	}
	cfg.Progress("consuming " + show.Count(cfg.Events, "event"))
	if result.Consume, err = b.consume(ctx, nil); err != nil {
		return Result{}, err
	}
	cfg.Progress("sending and consuming " + show.Count(cfg.Events, "event"))
	result.EndToEnd, err = b.consume(ctx, func() error { _, err := b.send(ctx); return err })
	if err != nil {
		return Result{}, err
	}
	cfg.Progress("sending " + show.Count(cfg.Samples, "event") + ", one at a time")
	if result.Pickup, err = b.pickup(ctx); err != nil {
		return Result{}, err
	}
	result.Repeated = b.repeated
	return result, nil
}

type bench struct {
	cfg       Config
	rdb       redis.UniversalClient
	namespace string
	topic     string
	payload   []byte
	sender    *eventbus.Bus
	repeated  int64
}

// removeTimeout bounds the removal of the topic, with all that waits in it.
const removeTimeout = 30 * time.Second

// clean removes what was made. It goes on when ctx has ended.
func (b *bench) clean(ctx context.Context) error {
	if b.cfg.Namespace == "" {
		return scratch.Clean(ctx, b.rdb, b.namespace)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer cancel()
	if err := b.sender.Topics().Delete(ctx, b.topic); err != nil {
		return fmt.Errorf("remove the topic %s (it may be deleted by hand): %w", b.topic, err)
	}
	return nil
}

// payload is JSON of exactly so many bytes.
func payload(size int) []byte {
	if size < 2 {
		return []byte(strings.Repeat("1", size))
	}
	return []byte(`"` + strings.Repeat("x", size-2) + `"`)
}

func (b *bench) bus(ready func()) (*eventbus.Bus, error) {
	return eventbus.New(b.rdb, eventbus.Config{
		Namespace: b.namespace, Group: b.cfg.Group, Concurrency: b.cfg.Concurrency, MaxPayload: max(b.cfg.Size, 1),
		Logger: slog.New(slog.DiscardHandler), OnReady: ready,
	})
}

// send sends all events, by senders that share them out as they can.
func (b *bench) send(ctx context.Context) (Send, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	calls := newLatencies()
	var senders sync.WaitGroup
	start := time.Now()
	for range b.cfg.Senders {
		senders.Go(func() {
			messages := make([]eventbus.Message, b.cfg.Batch)
			for i := range messages {
				messages[i].Value = eventbus.Raw{Payload: b.payload}
			}
			for {
				from := next.Add(int64(b.cfg.Batch)) - int64(b.cfg.Batch)
				n := min(int64(b.cfg.Batch), int64(b.cfg.Events)-from)
				if n <= 0 {
					return
				}
				called := time.Now()
				if _, err := b.sender.SendBatch(ctx, b.topic, messages[:n]); err != nil {
					cancel(err)
					return
				}
				calls.add(time.Since(called))
			}
		})
	}
	senders.Wait()
	took := time.Since(start)
	if ctx.Err() != nil {
		return Send{}, context.Cause(ctx)
	}
	return Send{Rate{b.cfg.Events, took}, calls.summary()}, nil
}

// consumer is a running bus.
type consumer struct {
	bus   *eventbus.Bus
	begun time.Time // when events were taken first; to be read after ready
	ready chan struct{}
	ran   chan error
}

func (b *bench) start(ctx context.Context, handle eventbus.HandleFunc) (*consumer, error) {
	c := &consumer{ready: make(chan struct{}), ran: make(chan error, 1)}
	var err error
	if c.bus, err = b.bus(func() { c.begun = time.Now(); close(c.ready) }); err != nil {
		return nil, err
	}
	if err := c.bus.TryHandle(b.topic, "nothing", handle); err != nil {
		return nil, errors.Join(err, c.bus.Close())
	}
	go func() { c.ran <- c.bus.Run(ctx) }()
	select {
	case <-c.ready:
		return c, nil
	case err := <-c.ran:
		return nil, errors.Join(err, ctx.Err(), c.bus.Close())
	}
}

func (c *consumer) stop() error {
	err := c.bus.Close()
	return errors.Join(<-c.ran, err)
}

// consume has all events handled: those that wait, or those that send sends
// meanwhile.
func (b *bench) consume(ctx context.Context, send func() error) (rate Rate, err error) {
	var handled atomic.Int64
	last := make(chan struct{})
	want := int64(b.cfg.Events)
	ids := newSeen(b.cfg.Events)
	c, err := b.start(ctx, func(_ context.Context, e *eventbus.Event) error {
		if ids.add(e.ID) && handled.Add(1) == want {
			close(last)
		}
		return nil
	})
	if err != nil {
		return Rate{}, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	begun, sent := c.begun, make(chan error, 1)
	if send != nil {
		begun = time.Now()
		go func() { sent <- send() }()
	} else {
		sent <- nil
	}
	if err := b.wait(ctx, c, sent, last, &handled); err != nil {
		return Rate{}, err
	}
	if err := b.drained(ctx, c); err != nil {
		return Rate{}, err
	}
	took := time.Since(begun)
	b.repeated += ids.repeated.Load()
	return Rate{b.cfg.Events, took}, nil
}

// stalled is after what time without a handled event the measurement is given up.
const stalled = 30 * time.Second

// wait waits until all is sent and the last event is handled, as long as events
// are being handled.
func (b *bench) wait(ctx context.Context, c *consumer, sent <-chan error, last <-chan struct{}, handled *atomic.Int64) error {
	ticker := time.NewTicker(stalled)
	defer ticker.Stop()
	for before := int64(-1); sent != nil || last != nil; {
		select {
		case <-last:
			last = nil
		case err := <-sent:
			if err != nil {
				return err
			}
			sent = nil
		case err := <-c.ran:
			c.ran <- err // for stop
			return errors.Join(errors.New("the bus ended early"), err, ctx.Err())
		case <-ticker.C:
			now := handled.Load()
			if now == before {
				return errors.Join(fmt.Errorf("handled %d of %s, and none for %v", now, show.Count(b.cfg.Events, "event"), stalled), c.bus.Health(ctx))
			}
			before = now
		}
	}
	return nil
}

// drained waits until Redis holds no event, waiting or in flight.
func (b *bench) drained(ctx context.Context, c *consumer) error {
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for {
		s, err := c.bus.GroupStats(ctx, b.topic)
		if err != nil {
			return err
		}
		if s.Waiting+s.InFlight+s.Retrying+s.Dead == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
