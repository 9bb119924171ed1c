// Package consume is the consuming side of a bus, put together from the steps
// that an event takes:
//
//	poll ──▶ accept ──▶ dispatch ──▶ results ──▶ finish
//	  ▲                                            │ failed
//	  ├──────────────── retry ◀────────────────────┘
//	  └──────────────── delay ◀── Send
//
// with a lease beside them that tells the others that this process lives.
package consume

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/delay"
	"github.com/seed4933/eventbus/eventbus/internal/dispatch"
	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/finish"
	"github.com/seed4933/eventbus/eventbus/internal/lease"
	"github.com/seed4933/eventbus/eventbus/internal/link"
	"github.com/seed4933/eventbus/eventbus/internal/poll"
	"github.com/seed4933/eventbus/eventbus/internal/retry"
	"github.com/seed4933/eventbus/eventbus/internal/settings"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/eventbus/internal/wire"
)

// Handler is one registered handler.
type Handler struct {
	Topic string
	ID    string
	Base  settings.Handler // as the code says
	Run   func(ctx context.Context, e *wire.Entry) error
}

// Config is what a Consumer works with.
type Config struct {
	Store       *store.Store
	Link        *link.Link
	Log         *slog.Logger
	Group       string
	Size        int // slots of the pool
	Lease       time.Duration
	StopTimeout time.Duration
	Handlers    []Handler // in the order of registration
	// NewID makes ids of events that have none, and of failures.
	NewID func() string
	// Create makes a topic that is missing at start; nil where that is an error.
	Create func(ctx context.Context, topic string) error
	// Random returns a number in [0, n), for jitter.
	Random func(n int64) int64
	// Ready is called once events are taken, in a goroutine of its own.
	Ready func()
}

// Consumer consumes for one process, once.
type Consumer struct {
	cfg     Config
	started time.Time

	topics   map[string]*served // fixed
	pool     *dispatch.Pool
	poller   *poll.Poller
	mover    *retry.Mover
	delayed  *delay.Scheduler
	finisher *finish.Finisher
	keeper   *lease.Keeper

	applying sync.Mutex // one change of settings at a time; it guards what follows
	revision int64      // of the namespace, as last seen
	lost     bool       // Redis has lost that revision, and not all topics are joined anew
	unserved bool       // settings were read that poller and mover do not know yet

	beat     atomic.Int64
	breakers atomic.Bool // one has opened or closed, and the others are not told yet
	deaths   deaths
	putOffs  putOffs
	fleet    fleet

	complaints complaints
}

// New puts a consumer together. It does no I/O.
func New(cfg Config) *Consumer {
	c := &Consumer{cfg: cfg, started: time.Now(), topics: map[string]*served{}}
	c.deaths.log = cfg.Log.With("group", cfg.Group)
	c.complaints.log = c.deaths.log
	for _, h := range cfg.Handlers {
		t := c.topics[h.Topic]
		if t == nil {
			t = &served{name: h.Topic}
			c.topics[h.Topic] = t
		}
		r := c.newHandler(h)
		t.handlers, t.states = append(t.handlers, r), append(t.states, r.state)
	}
	c.pool = dispatch.New(dispatch.Config{Size: cfg.Size, OnRelease: func(free int) { c.poller.Released(free) }})
	c.mover = retry.NewMover(cfg.Store, cfg.Link, cfg.Log)
	c.delayed = delay.New(cfg.Store, func(channels ...string) delay.Subscription { return cfg.Store.NewSubscription(channels...) }, cfg.Link, cfg.Log)
	c.finisher = finish.New(finish.Config{Store: cfg.Store, Link: cfg.Link, Log: cfg.Log, Written: c.written})
	c.keeper = lease.NewKeeper(lease.Config{
		Store: cfg.Store, Link: cfg.Link, Log: cfg.Log, Lease: cfg.Lease,
		Runs: c.runs, Rescue: c.rescue, Reclaimed: func() { c.mover.LookAll() },
	})
	c.poller = poll.New(poll.Config{
		Store: cfg.Store, Link: cfg.Link, Log: cfg.Log,
		Consumer: c.keeper.ID, Valid: c.keeper.Valid,
		Size: cfg.Size, Free: c.pool.Free, Idle: func() bool { return c.pool.Running() == 0 && c.finisher.Idle() },
		Failed: cfg.Link.Down, Revision: c.sawRevision, Restore: c.restore,
	})
	return c
}

// Beat is when Redis last answered this consumer.
func (c *Consumer) Beat() time.Time { return time.UnixMilli(c.beat.Load()) }

// Started tells that Redis has answered this consumer at all.
func (c *Consumer) Started() bool { return c.beat.Load() != 0 }

func (c *Consumer) alive() { c.beat.Store(time.Now().UnixMilli()) }

// Run consumes until ctx ends, then stops: it takes no more, lets running
// handlers end, cancels them at StopTimeout, gives back what was not finished,
// and leaves the registry. It returns nil after such a stop, which takes no longer
// than bound says.
func (c *Consumer) Run(ctx context.Context) error {
	// Contexts of their own: the loops end one after another, not with ctx.
	loops, endLoops := context.WithCancel(context.Background())
	defer endLoops()
	polling, endPolling := context.WithCancel(context.Background())
	defer endPolling()
	keeping, endKeeping := context.WithCancel(context.Background())
	defer endKeeping()
	finishing, endFinishing := context.WithCancel(context.Background())
	defer endFinishing()
	defer c.bound(ctx, endPolling, endLoops, endFinishing)()

	if err := c.start(ctx); err != nil {
		return err
	}
	var side, kept sync.WaitGroup
	polled, written := make(chan struct{}), make(chan int, 1)
	kept.Go(func() { c.keeper.Run(keeping) })
	side.Go(func() { c.mover.Run(loops) })
	side.Go(func() { c.delayed.Run(loops) })
	side.Go(func() { c.sweep(loops) })
	side.Go(func() { c.sweepHot(loops) })
	side.Go(func() { c.listen(loops) })
	go func() { written <- c.finisher.Run(finishing) }()
	go func() { defer close(polled); c.poller.Run(polling) }()
	if c.cfg.Ready != nil {
		go c.cfg.Ready() // it may close the bus, which waits for this Run
	}

	<-ctx.Done()
	c.cfg.Log.Info("stopping: no more events are taken", "running", c.pool.Running(), "timeout", c.cfg.StopTimeout)
	stop, cancel := context.WithTimeout(context.Background(), c.cfg.StopTimeout)
	defer cancel()
	// Where Redis does not answer, a call under way lasts until its own deadline:
	// all that the stop waits for at its end is therefore called off at once.
	defer context.AfterFunc(stop, endLoops)()
	// That includes what handlers have ended: while it cannot be written, they wait.
	defer context.AfterFunc(stop, func() { time.AfterFunc(c.finishGrace(), endFinishing) })()
	c.poller.Stop()
	go func() {
		// A poller that hangs in a call must not keep the handlers from stopping.
		select {
		case <-polled:
		case <-stop.Done():
			endPolling()
		}
	}()
	select {
	case <-polled:
	case <-stop.Done():
	case <-time.After(pollerGrace):
	}
	c.pool.Stop(stop)
	endLoops()
	defer time.AfterFunc(c.finishGrace(), endFinishing).Stop()
	<-polled
	c.pool.Stop(stop) // what the poller brought last
	c.finisher.Close()
	unwritten := <-written
	if unwritten > 0 {
		endKeeping() // others will run what is left, the sooner the better
	}
	side.Wait()
	c.deaths.flush(0)
	endKeeping()
	kept.Wait() // or a renewal would find the lease gone, and take a new one
	c.leave(unwritten)
	return nil
}

const (
	pollerGrace = 3 * time.Second
	// writeGrace is how long the last events' ends may take to be written.
	writeGrace     = 5 * time.Second
	writeGraceDown = time.Second // when Redis does not serve anyway
)

func (c *Consumer) finishGrace() time.Duration {
	if _, err := c.cfg.Link.Err(); err != nil {
		return writeGraceDown
	}
	return writeGrace
}

// start looks at every topic, registers the group with it, and takes the lease.
func (c *Consumer) start(ctx context.Context) error {
	for _, t := range c.topics {
		if err := c.join(ctx, t.name); err != nil {
			return fmt.Errorf("topic %q: %w", t.name, errs.Cause(err))
		}
	}
	var err error
	if c.revision, err = c.cfg.Store.Revision(ctx); err != nil {
		return err
	}
	for _, t := range c.topics {
		if err := c.load(ctx, t); err != nil {
			return fmt.Errorf("topic %q: %w", t.name, errs.Cause(err))
		}
	}
	if err := c.keeper.Enroll(ctx); err != nil {
		c.leave(0) // it may be half done
		return err
	}
	c.alive()
	c.serve()
	return nil
}

// leave takes the consumer out of the registry when it holds nothing; otherwise
// it gives up its lease, so that the others move back what it held.
func (c *Consumer) leave(unwritten int) {
	ctx, cancel := store.Within(context.Background(), writeGraceDown)
	defer cancel()
	id := c.keeper.ID()
	if unwritten > 0 || c.poller.Lost() {
		c.cfg.Log.Warn("stopped with events in flight; others will run them", "consumer", id, "unwritten", unwritten)
		_ = c.cfg.Store.GiveUp(ctx, id) // else the lease runs out
		return
	}
	for _, t := range c.topics {
		if cur := t.current.Load(); cur != nil {
			if c.cfg.Store.Unhold(ctx, &cur.keys, id) != nil {
				return // Redis does not serve: the lease runs out
			}
		}
	}
	if err := c.cfg.Store.Leave(ctx, id); err != nil {
		c.cfg.Log.Warn("stopped without leaving the registry; the lease runs out", "consumer", id, "err", err)
	}
}
