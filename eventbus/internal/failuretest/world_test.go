package failuretest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

const (
	topic   = "orders"
	handler = "ship"
	// patience bounds every wait that is not itself what a test measures.
	patience = 90 * time.Second
	tick     = 5 * time.Millisecond
)

var errOnPurpose = errors.New("failed on purpose")

// world is a server and a bus that administers and sends, and does not run.
type world struct {
	*testing.T
	server *redistest.Server
	rdb    *redis.Client
	bus    *eventbus.Bus
}

// setup starts a server and makes the topics, the one named topic if none is.
func setup(t *testing.T, topics ...string) *world {
	t.Helper()
	server := redistest.Start(t, redistest.Options{})
	w := &world{T: t, server: server, rdb: server.Client(t)}
	w.bus = w.newBus(eventbus.Config{})
	if len(topics) == 0 {
		topics = []string{topic}
	}
	for _, name := range topics {
		w.create(name, eventbus.TopicConfig{})
	}
	return w
}

func (w *world) create(name string, cfg eventbus.TopicConfig) {
	w.Helper()
	require.NoError(w, w.bus.Topics().Create(w.Context(), name, cfg))
}

// newBus makes a bus that is closed when the test ends.
func (w *world) newBus(cfg eventbus.Config) *eventbus.Bus {
	w.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	bus, err := eventbus.New(w.rdb, cfg)
	require.NoError(w, err)
	w.Cleanup(func() { assert.NoError(w, bus.Close()) })
	return bus
}

// consumer is a bus of its own for the handlers of one process.
type consumer struct {
	*eventbus.Bus
	w     *world
	ready chan struct{}
}

func (w *world) consumer(cfg eventbus.Config) *consumer {
	w.Helper()
	c := &consumer{w: w, ready: make(chan struct{})}
	cfg.OnReady = func() { close(c.ready) }
	c.Bus = w.newBus(cfg)
	return c
}

// start runs the consumer and returns once it takes events. The function that it
// returns stops it, and demands that it stops in good order; so does the test's
// end.
func (c *consumer) start() (stop func()) {
	c.w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-ended:
				assert.NoError(c.w, err)
			case <-time.After(patience):
				assert.Fail(c.w, "the bus does not stop")
			}
		})
	}
	c.w.Cleanup(stop)
	select {
	case <-c.ready:
	case err := <-ended:
		require.Fail(c.w, "the bus does not run", "%v", err)
	case <-time.After(patience):
		require.Fail(c.w, "the bus does not take events")
	}
	return stop
}

// handle is a consumer with one handler of one topic, running.
func (w *world) handle(name string, f eventbus.HandleFunc, cfg eventbus.HandleConfig) *consumer {
	w.Helper()
	c := w.consumer(eventbus.Config{})
	c.Handle(name, handler, f, cfg)
	c.start()
	return c
}

// send sends n events with the ids e0, e1 … whose payload is their number.
func (w *world) send(name string, n int) []string {
	w.Helper()
	ids := make([]string, n)
	messages := make([]eventbus.Message, n)
	for i := range messages {
		ids[i] = fmt.Sprint("e", i)
		messages[i] = eventbus.Message{ID: ids[i], Value: i}
	}
	for at := 0; at < n; at += eventbus.MaxBatch {
		_, err := w.bus.SendBatch(w.Context(), name, messages[at:min(at+eventbus.MaxBatch, n)])
		require.NoError(w, err)
	}
	return ids
}

// eventually waits, in the test's own goroutine, until the condition holds.
func (w *world) eventually(what string, condition func() bool) {
	w.Helper()
	w.within(patience, what, condition)
}

func (w *world) within(limit time.Duration, what string, condition func() bool) {
	w.Helper()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	over := time.NewTimer(limit)
	defer over.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-over.C:
			require.Fail(w, "waited in vain for "+what, "for %v; figures: %s", limit, w.figures())
		}
	}
}

// figures shows all topics, for messages.
func (w *world) figures() string {
	var b strings.Builder
	names, _ := w.bus.Topics().List(context.Background())
	for _, name := range names {
		s, err := w.bus.GroupStats(context.Background(), name)
		fmt.Fprintf(&b, "\n%+v %v", s, err)
	}
	return b.String()
}

func (w *world) stats(name string) eventbus.Stats {
	w.Helper()
	s, err := w.bus.GroupStats(w.Context(), name)
	require.NoError(w, err)
	return s
}

// idle waits until nothing of the topic waits, is in flight or is to be retried.
// Figures are read one after another, so that an event can slip through one
// reading; several in a row must agree.
func (w *world) idle(name string) eventbus.Stats {
	w.Helper()
	var s eventbus.Stats
	agree := 0
	w.eventually("topic "+name+" to be idle", func() bool {
		before := s
		s = w.stats(name)
		agree++
		if s.Waiting+s.InFlight+s.Retrying > 0 || s.Done != before.Done || s.Failed != before.Failed {
			agree = 0
		}
		return agree == 3
	})
	return s
}

// failures lists all failures of a state.
func (w *world) failures(name string, state eventbus.FailureState) (all []eventbus.Failure) {
	w.Helper()
	for q := (eventbus.FailureQuery{State: state, Limit: 1000}); ; {
		page, err := w.bus.Failures().List(w.Context(), name, q)
		require.NoError(w, err)
		all = append(all, page.Failures...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return all
		}
	}
}

// key is the name of a key of a topic.
func key(name, part string) string { return "eventbus:{" + name + "}:" + part }

// requireWholeFailures demands that each failure has its index, its record and
// its entry, and that there is nothing else.
func (w *world) requireWholeFailures(name string) {
	w.Helper()
	fields, err := w.rdb.HKeys(w.Context(), key(name, "failures:default")).Result()
	require.NoError(w, err)
	var want []string
	for _, set := range []string{"retry", "dead"} {
		ids, err := w.rdb.ZRange(w.Context(), key(name, set+":default"), 0, -1).Result()
		require.NoError(w, err)
		for _, id := range ids {
			want = append(want, id, id+"|e")
		}
	}
	requireSame(w, want, fields)
}

// requireSame demands that two lists hold the same, in whatever order; it is
// quick also where they are long.
func requireSame(t require.TestingT, want, got []string) {
	if h, ok := t.(interface{ Helper() }); ok {
		h.Helper()
	}
	left := map[string]int{}
	for _, s := range want {
		left[s]++
	}
	for _, s := range got {
		left[s]--
	}
	var missing, more []string
	for s, n := range left {
		switch {
		case n > 0:
			missing = append(missing, s)
		case n < 0:
			more = append(more, s)
		}
	}
	if len(missing)+len(more) > 0 {
		require.Fail(t, "the lists differ", "%d missing: %.200q; %d too many: %.200q", len(missing), missing, len(more), more)
	}
}

// ledger counts runs by event.
type ledger struct {
	mu   sync.Mutex
	runs map[string]int
	sum  int
}

func newLedger() *ledger { return &ledger{runs: map[string]int{}} }

func (l *ledger) note(id string) (nth int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sum++
	l.runs[id]++
	return l.runs[id]
}

func (l *ledger) total() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sum
}

// times lists every event as often as it ran.
func (l *ledger) times() (ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, n := range l.runs {
		for range n {
			ids = append(ids, id)
		}
	}
	return ids
}

// succeed is a handler that notes its runs and succeeds; fail fails.
func (l *ledger) succeed(_ context.Context, e *eventbus.Event) error {
	l.note(e.ID)
	return nil
}

func (l *ledger) fail(_ context.Context, e *eventbus.Event) error {
	l.note(e.ID)
	return errOnPurpose
}

// once is a handler whose failures go to the dead set.
func once() eventbus.HandleConfig {
	return eventbus.HandleConfig{Retry: eventbus.RetryPolicy{MaxAttempts: 1}}
}

// journal keeps what a bus logs.
type journal struct {
	mu      sync.Mutex
	records []string
}

func (j *journal) logger() *slog.Logger { return slog.New(j) }

// Enabled, Handle, WithAttrs and WithGroup make it a slog.Handler.
func (j *journal) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (j *journal) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", r.Level, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&b, " %s", a)
		return true
	})
	j.mu.Lock()
	defer j.mu.Unlock()
	j.records = append(j.records, b.String())
	return nil
}

func (j *journal) WithAttrs([]slog.Attr) slog.Handler { return j }

func (j *journal) WithGroup(string) slog.Handler { return j }

// with returns the lines that contain the text.
func (j *journal) with(text string) (lines []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range j.records {
		if strings.Contains(r, text) {
			lines = append(lines, r)
		}
	}
	return lines
}
