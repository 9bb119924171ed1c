package eventbus

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus/internal/consume"
	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/link"
	"github.com/seed4933/eventbus/eventbus/internal/name"
	"github.com/seed4933/eventbus/eventbus/internal/send"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/eventbus/internal/told"
	"github.com/seed4933/eventbus/eventbus/internal/wire"
)

// Bus sends events and runs handlers for them. It is safe for use by many
// goroutines.
//
// Its life: New, then Handle for each handler, then Run once, then Close. A bus
// that only sends, or only administers, needs no Run.
type Bus struct {
	cfg    Config
	store  *store.Store
	sender *send.Sender
	link   *link.Link

	checked atomic.Bool // the server can be used
	checks  sync.WaitGroup

	mu       sync.Mutex
	check    *check // of the server, under way
	handlers []consume.Handler
	stop     context.CancelFunc // of Run; nil while it does not run
	ended    chan struct{}      // closed when Run has returned
	consumer *consume.Consumer  // of the last Run
	closed   bool
}

// New returns a bus on the Redis that rdb is a client of: a *redis.Client (also
// one for Sentinel), a *redis.ClusterClient, or another UniversalClient. The bus
// opens connections of its own with rdb's addresses and credentials (hooks are
// not taken over); rdb stays the caller's and is never closed by the bus.
//
// New does no I/O: a server that cannot be used is found by the first call that
// needs it. The error joins all that is wrong with cfg, each an *ArgumentError.
func New(rdb redis.UniversalClient, cfg Config) (*Bus, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("make a bus: %w", err)
	}
	s, err := store.Open(rdb, cfg.Namespace)
	if err != nil {
		return nil, fmt.Errorf("make a bus: %w", err)
	}
	b := &Bus{cfg: cfg, store: s, link: link.New(cfg.Logger)}
	b.sender = send.New(s, b.creator())
	var unheard told.Errors[string]
	b.sender.Unheard = func(topic, channel string) {
		if unheard.First(topic, errUnheard) {
			cfg.Logger.Error("delayed events were sent, and may come some seconds late", "topic", topic, "channel", channel, "allow", store.DelayChannels, "err", errUnheard)
		}
	}
	return b, nil
}

var errUnheard = errors.New("the server's ACL refuses this user the channel on which their time is announced")

// Handle registers a handler for a topic, under an id that is unique in the
// topic and the bus's group. The handlers of a topic run for each event one
// after another in the order in which they were registered. It panics where
// TryHandle returns an error: for wiring at the start of a program.
func (b *Bus) Handle(topic, id string, handle EventHandle, cfg ...HandleConfig) {
	if err := b.TryHandle(topic, id, handle, cfg...); err != nil {
		panic(err)
	}
}

// TryHandle is Handle with an error: ErrInvalidArgument for a name outside the
// rule, a nil handle or wrong settings, ErrHandlerExists for an id that is taken,
// ErrRunning once Run was called, ErrClosed. At most one HandleConfig is taken;
// without it the defaults hold.
func (b *Bus) TryHandle(topic, id string, handle EventHandle, cfg ...HandleConfig) error {
	doing := func(err error) error {
		return errs.Doing(err, fmt.Sprintf("register handler %s for topic %s", errs.Quote(id), errs.Quote(topic)))
	}
	var c HandleConfig
	if len(cfg) > 1 {
		return doing(errs.Invalid("HandleConfig", len(cfg), "give at most one"))
	}
	if len(cfg) == 1 {
		c = cfg[0]
	}
	base, err := c.base()
	if handle == nil {
		err = errors.Join(err, errs.Invalid("handle", nil, "it is nil; pass an EventHandle, a HandleFunc or Typed(f)"))
	}
	if f, ok := handle.(HandleFunc); ok && f == nil {
		err = errors.Join(err, errs.Invalid("handle", nil, "it is a nil HandleFunc"))
	}
	if err := errors.Join(name.Check("topic", topic), name.Check("handler id", id), err); err != nil {
		return doing(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return doing(errs.Closed)
	case b.ended != nil:
		return doing(fmt.Errorf("%w: register handlers before Run", errs.Running))
	}
	for _, h := range b.handlers {
		if h.Topic == topic && h.ID == id {
			return doing(errs.HandlerExists)
		}
	}
	wrapped := chain(handle, b.cfg.Middleware, c.Middleware)
	b.handlers = append(b.handlers, consume.Handler{
		Topic: topic, ID: id, Base: base,
		Run: func(ctx context.Context, e *wire.Entry) error {
			return wrapped.Handle(ctx, b.event(topic, id, e))
		},
	})
	return nil
}

func (b *Bus) event(topic, handler string, e *wire.Entry) *Event {
	return &Event{
		ID: e.ID, Topic: topic, Type: e.Type, Source: e.Source, Time: e.Time, ContentType: e.ContentType,
		Payload: e.Data, Headers: e.Headers, Group: b.cfg.Group, Handler: handler,
		Attempt: e.Attempt + 1, Deliveries: e.Deliveries,
	}
}

// Run takes events and runs their handlers until ctx ends, or Close is called.
// It first connects and looks for every topic with a handler, and returns an
// error at once when that fails: ErrUnavailable, ErrRedisTooOld,
// ErrLayoutMismatch, ErrTopicNotFound (unless Config.AutoCreateTopics),
// ErrNoHandler, ErrRunning, ErrClosed. Once it runs, it recovers by itself from
// everything that befalls Redis.
//
// When ctx ends it takes no more events, lets running handlers end for at most
// Config.StopTimeout, then ends their contexts, gives back what is unfinished so
// that another process runs it, and returns nil. A bus runs once; after an error
// at the start make a new one.
func (b *Bus) Run(ctx context.Context) error {
	running, err := b.begin(ctx)
	if err != nil {
		return fmt.Errorf("run the bus: %w", err)
	}
	defer close(b.ended)
	defer b.stop()
	err = b.ready(running)
	if err == nil {
		err = b.consumer.Run(running)
	}
	if err != nil && running.Err() != nil {
		return nil // it was stopped, or closed, before it had begun
	}
	if err != nil {
		return fmt.Errorf("run the bus: %w", err)
	}
	return nil
}

func (b *Bus) begin(ctx context.Context) (context.Context, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return nil, errs.Closed
	case b.ended != nil:
		return nil, errs.Running
	case len(b.handlers) == 0:
		return nil, fmt.Errorf("%w: call Handle before Run", errs.NoHandler)
	}
	running, stop := context.WithCancel(ctx)
	b.stop, b.ended = stop, make(chan struct{})
	b.consumer = consume.New(consume.Config{
		Store: b.store, Link: b.link, Log: b.cfg.Logger, Group: b.cfg.Group, Size: b.cfg.Concurrency,
		Lease: b.cfg.Lease, StopTimeout: b.cfg.StopTimeout, Handlers: b.handlers,
		NewID: newID, Create: b.creator(), Random: rand.Int64N, Ready: b.cfg.OnReady,
	})
	return running, nil
}

// Close stops a running bus as the end of Run's context does, waits for it, and
// closes the bus's own connections. Every later call returns ErrClosed. It may
// be called again, and before Run.
func (b *Bus) Close() error {
	b.mu.Lock()
	first := !b.closed
	b.closed = true
	stop, ended := b.stop, b.ended
	b.mu.Unlock()
	if ended != nil {
		stop()
		<-ended
	}
	if !first {
		return nil
	}
	err := b.store.Close()
	b.checks.Wait()
	if err != nil {
		return fmt.Errorf("close the bus: %w", err)
	}
	return nil
}

// Ready connects, and checks that the server can be used: nil, or ErrUnavailable,
// ErrRedisTooOld, ErrLayoutMismatch, ErrClosed, or ctx's error when that ends first.
// Every other call does the same when it is the first.
func (b *Bus) Ready(ctx context.Context) error { return b.ready(ctx) }

// check is a check of the server whose answer all callers share that wait for it:
// while the server hangs, each waits as long as one call.
type check struct {
	done chan struct{}
	err  error // to be read after done
}

func (b *Bus) ready(ctx context.Context) error {
	c, err := b.checkServer()
	if err != nil || c == nil {
		return err
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return fmt.Errorf("%w before Redis has answered", ctx.Err())
	}
}

// checkServer joins the check that is under way, or begins one; nil after one that
// found the server good. Its context is nobody's, since several share it; the store
// bounds it, and Close ends it.
func (b *Bus) checkServer() (*check, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errs.Closed
	}
	if b.check != nil || b.checked.Load() {
		return b.check, nil
	}
	c := &check{done: make(chan struct{})}
	b.check = c
	b.checks.Go(func() {
		c.err = b.store.Check(context.Background())
		b.checked.Store(c.err == nil)
		b.mu.Lock()
		b.check = nil
		b.mu.Unlock()
		close(c.done)
	})
	return c, nil
}

// silentAfter is after what time without an answer a running bus is unhealthy.
const silentAfter = 5 * time.Second

// Health returns nil while the bus can do its work, else why not: ErrClosed, or
// ErrUnavailable with what Redis last said and since when, or ErrTopicNotFound
// with the name of a topic that has handlers here. A bus that runs is
// judged by its own calls, of which there is one a second at least; one that
// does not run asks Redis, and returns ctx's error when that ends first.
func (b *Bus) Health(ctx context.Context) error {
	b.mu.Lock()
	consumer, ended, closed := b.consumer, b.ended, b.closed
	b.mu.Unlock()
	if closed {
		return errs.Closed
	}
	if consumer == nil || isClosed(ended) || !consumer.Started() {
		return b.store.Ping(ctx)
	}
	if since, err := b.link.Err(); err != nil {
		return fmt.Errorf("for %v: %w", time.Since(since).Round(time.Second), err)
	}
	if silent := time.Since(consumer.Beat()); silent > silentAfter {
		return fmt.Errorf("%w: no answer for %v", errs.Unavailable, silent.Round(time.Second))
	}
	if topic := consumer.Missing(); topic != "" {
		return fmt.Errorf("topic %q has handlers here: %w, or it has no group %q; create it", topic, errs.TopicNotFound, b.cfg.Group)
	}
	return nil
}

// creator makes topics that are missing, or is nil where that is an error.
func (b *Bus) creator() func(ctx context.Context, topic string) error {
	if !b.cfg.AutoCreateTopics {
		return nil
	}
	return func(ctx context.Context, topic string) error {
		return b.Topics().Create(ctx, topic, TopicConfig{})
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }
