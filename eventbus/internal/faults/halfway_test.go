package faults_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/eventbus/internal/wire"
	"github.com/seed4933/eventbus/internal/redistest"
)

// Fifty stops while handlers run that succeed, fail, are rejected, heed their
// context or ignore it: afterwards each event stands for each of its handlers in
// exactly one place. It is done, or in the queue, or among the failures. Half of
// the buses are far from Redis, so that a claim is under way when they stop.
func TestStopLeavesEachHandlersShareInOnePlace(t *testing.T) {
	t.Parallel()
	const lanes, stops = 10, 5
	server := redistest.Start(t, redistest.Options{})
	rdb := server.Client(t)
	proxy := redistest.NewProxy(t, server.Addr())
	proxy.Delay(15 * time.Millisecond)
	far := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
	t.Cleanup(func() { _ = far.Close() })
	var all sync.WaitGroup
	problems := make(chan string, 1000)
	for lane := range lanes {
		all.Go(func() {
			for i := range stops {
				h := newHalfway(fmt.Sprintf("lane%d-%d", lane, i))
				if lane%2 == 0 {
					h.run(t, rdb, problems)
				} else {
					h.run(t, far, problems)
				}
				if err := h.check(rdb, problems); err != nil {
					problems <- fmt.Sprintf("%s: %v", h.topic, err)
				}
				close(h.release)
			}
		})
	}
	all.Wait()
	close(problems)
	var found []string
	for p := range problems {
		found = append(found, p)
	}
	require.Empty(t, found)
}

// share is what one handler did with one event.
type share struct{ event, handler string }

// halfway is one bus that is stopped while its handlers run.
type halfway struct {
	topic string
	log   *journal

	mu       sync.Mutex
	results  map[share]error // of runs that have returned
	early    map[share]bool  // those that returned nil before the stop
	begun    int
	stopping bool
	enough   chan struct{} // closed once a few runs have begun
	release  chan struct{} // closed when the bus has stopped
}

const (
	halfwayEvents  = 24
	halfwayTimeout = 20 * time.Millisecond
)

var (
	halfwayHandlers = []string{"one", "two", "three"}

	errPlain    = errors.New("failed on purpose")
	errReleased = errors.New("came back after the stop")
)

func newHalfway(topic string) *halfway {
	return &halfway{
		topic: topic, log: newJournal(),
		results: map[share]error{}, early: map[share]bool{}, enough: make(chan struct{}), release: make(chan struct{}),
	}
}

// run sends some events, runs a bus on them, and stops it soon.
func (h *halfway) run(t *testing.T, rdb *redis.Client, problems chan<- string) {
	bus, err := eventbus.New(rdb, eventbus.Config{
		AutoCreateTopics: true, Concurrency: 8, StopTimeout: halfwayTimeout, Logger: h.log.logger(),
	})
	if err != nil {
		problems <- err.Error()
		return
	}
	defer bus.Close()
	never := eventbus.HandleConfig{Retry: eventbus.RetryPolicy{Initial: 10 * time.Hour, Max: 10 * time.Hour}}
	for _, id := range halfwayHandlers {
		bus.Handle(h.topic, id, eventbus.HandleFunc(h.handle), never)
	}
	messages := make([]eventbus.Message, halfwayEvents)
	for i := range messages {
		messages[i] = eventbus.Message{ID: fmt.Sprintf("e%d", i), Value: i}
	}
	if _, err := bus.SendBatch(t.Context(), h.topic, messages); err != nil {
		problems <- err.Error()
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ran := make(chan error, 1)
	go func() { ran <- bus.Run(ctx) }()
	select {
	case <-h.enough:
	case <-time.After(patience):
		problems <- h.topic + ": the handlers do not begin"
		return
	}
	_ = busy(context.Background(), time.Duration(rand.Int64N(int64(30*time.Millisecond))))
	h.stop(cancel)
	select {
	case err := <-ran:
		if err != nil {
			problems <- fmt.Sprintf("%s: run: %v", h.topic, err)
		}
	case <-time.After(patience):
		problems <- h.topic + ": Run does not return"
	}
}

// handle does one of several things at random.
func (h *halfway) handle(ctx context.Context, e *eventbus.Event) error {
	h.mu.Lock()
	if h.begun++; h.begun == 8 {
		close(h.enough)
	}
	h.mu.Unlock()
	err := h.act(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	s := share{e.ID, e.Handler}
	h.results[s] = err
	if err == nil && !h.stopping {
		h.early[s] = true
	}
	return err
}

func (h *halfway) act(ctx context.Context) error {
	took := time.Duration(rand.Int64N(int64(20 * time.Millisecond)))
	switch rand.IntN(8) {
	case 0: // fails whatever its context says
		_ = busy(context.Background(), took)
		return errPlain
	case 1:
		_ = busy(context.Background(), took)
		return eventbus.Reject(errPlain)
	case 2: // long, but heeds its context
		return busy(ctx, time.Minute)
	case 3: // ignores its context until after the stop
		<-h.release
		return errReleased
	case 4: // ends just as the stop becomes hard
		_ = busy(context.Background(), halfwayTimeout+took/4)
		return errPlain
	default:
		return busy(ctx, took)
	}
}

func (h *halfway) stop(cancel context.CancelFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopping = true
	cancel()
}

// check compares what stands in Redis with what the handlers did.
func (h *halfway) check(rdb *redis.Client, problems chan<- string) error {
	places, err := placesOf(rdb, h.topic, halfwayHandlers)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	good := true
	for i := range halfwayEvents {
		for _, id := range halfwayHandlers {
			s := share{fmt.Sprintf("e%d", i), id}
			at := places[s]
			result, returned := h.results[s]
			if wrong := h.judge(s, at, result, returned); wrong != "" {
				good = false
				problems <- fmt.Sprintf("%s: %v %s: it stands in %v; its handler returned: %v, %v", h.topic, s, wrong, at, returned, result)
			}
		}
	}
	if !good {
		problems <- fmt.Sprintf("%s logged: %v", h.topic, h.log.lines(slog.LevelInfo))
	}
	return nil
}

// judge says what is wrong with the places of a handler's share.
func (h *halfway) judge(s share, at []string, result error, returned bool) string {
	switch {
	case len(at) > 1:
		return "is in more than one place"
	case len(at) == 0 && (!returned || result != nil):
		return "is lost"
	case len(at) == 0:
		return ""
	case at[0] == "in flight":
		return "is still in flight"
	case h.early[s]:
		return "had succeeded before the stop"
	case at[0] == "failures" && !errors.Is(result, errPlain):
		return "is recorded as failed though it did not"
	}
	return ""
}

// placesOf tells where in Redis each handler's share of each event of a topic
// stands.
func placesOf(rdb *redis.Client, topic string, handlers []string) (map[share][]string, error) {
	ctx := context.Background()
	s, err := store.Open(rdb, store.DefaultNamespace)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	settings, err := s.Topic(ctx, topic)
	if err != nil {
		return nil, err
	}
	k := s.Keys(settings, settings.Groups[0])
	places := map[share][]string{}
	add := func(place string, entries []string) {
		for _, raw := range entries {
			e := wire.Decode([]byte(raw), func() string { return "unknown" })
			to := handlers
			if e.Handler != "" {
				to = []string{e.Handler}
			}
			for _, id := range to {
				places[share{e.ID, id}] = append(places[share{e.ID, id}], place)
			}
		}
	}
	queue, err := rdb.LRange(ctx, k.Queue, 0, -1).Result()
	if err != nil {
		return nil, err
	}
	add("queue", queue)
	held, err := rdb.Keys(ctx, "*{"+topic+"}:inflight:*").Result()
	if err != nil {
		return nil, err
	}
	for _, key := range held {
		entries, err := rdb.HVals(ctx, key).Result()
		if err != nil {
			return nil, err
		}
		add("in flight", entries)
	}
	for _, set := range []string{k.Retry, k.Dead} {
		ids, err := rdb.ZRange(ctx, set, 0, -1).Result()
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			entry, err := rdb.HGet(ctx, k.Failures, id+"|e").Result()
			if err != nil {
				return nil, fmt.Errorf("failure %s has no entry: %w", id, err)
			}
			add("failures", []string{entry})
		}
	}
	return places, nil
}
