//go:build java

package java_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

const (
	topic = "orders"
	// late is how much after its due time an event may come where the bus runs.
	late = time.Second
	// patience is how long a test waits for what must happen sooner.
	patience = 30 * time.Second
)

// shape is a way in which a topic can be shared with Java.
type shape struct {
	name     string
	delivery eventbus.Delivery
	queueKey string // "" for the bus's own
}

var shapes = []shape{
	{name: "AtLeastOnce", delivery: eventbus.AtLeastOnce},
	// A list with no brace in its name: Redisson makes all of it the hash tag.
	{name: "AtMostOnceOnAnExistingList", delivery: eventbus.AtMostOnce, queueKey: topic},
}

func (s shape) queue() string {
	if s.queueKey != "" {
		return s.queueKey
	}
	return "eventbus:{" + topic + "}:queue:default"
}

// redissonKeys are the set, the list and the channel that Redisson keeps for the
// queue.
func (s shape) redissonKeys() (set, list, channel string) {
	queue := s.queue()
	if !strings.Contains(queue, "{") {
		queue = "{" + queue + "}"
	}
	return "redisson_delay_queue_timeout:" + queue, "redisson_delay_queue:" + queue, "redisson_delay_queue_channel:" + queue
}

// bed is a Redis with a topic that Go and Java share.
type bed struct {
	t     *testing.T
	shape shape
	java  redisson
	rdb   *redis.Client
	bus   *eventbus.Bus
}

func setup(t *testing.T, s shape, java redisson) *bed {
	t.Helper()
	rdb := redistest.Start(t, redistest.Options{}).Client(t)
	bus, err := eventbus.New(rdb, eventbus.Config{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bus.Close()) })
	require.NoError(t, bus.Topics().Create(t.Context(), topic, eventbus.TopicConfig{
		Delivery: s.delivery, Wire: eventbus.WireRaw,
		RedissonOrderList: true, RedissonOldClients: java.old,
		Groups: []eventbus.GroupConfig{{Name: eventbus.DefaultGroup, QueueKey: s.queueKey}},
	}))
	return &bed{t: t, shape: s, java: java, rdb: rdb, bus: bus}
}

// start runs a command of the Java program on the topic's queue.
func (b *bed) start(command string, options ...string) *program {
	b.t.Helper()
	return b.java.start(b.t, command, b.rdb.Options().Addr, b.shape.queue(), options...)
}

// send sends a payload delayed, and returns when it is due at the earliest and at
// the latest.
func (b *bed) send(payload string, delay time.Duration) span {
	b.t.Helper()
	before := time.Now()
	_, err := b.bus.Send(b.t.Context(), topic, eventbus.Raw{Payload: []byte(payload)}, eventbus.WithDelay(delay))
	require.NoError(b.t, err)
	return span{before.Add(delay), time.Now().Add(delay)}
}

// offer lets the program delay a payload, and returns when it is due at the
// earliest and at the latest. Meanwhile others takes what the program has taken.
func (b *bed) offer(p *program, payload string, delay time.Duration, others func(answer)) span {
	b.t.Helper()
	before := time.Now()
	p.write(offer{Payload: payload, DelayMillis: delay.Milliseconds()})
	for {
		a := p.next()
		if a.Offered != nil {
			require.Equal(b.t, payload, *a.Offered)
			return span{before.Add(delay), time.Now().Add(delay)}
		}
		others(a)
	}
}

// delayed are the events that Go sees as delayed.
func (b *bed) delayed() (events []eventbus.DelayedEvent) {
	b.t.Helper()
	var query eventbus.DelayedQuery
	for {
		page, err := b.bus.Delayed().List(b.t.Context(), topic, query)
		require.NoError(b.t, err)
		events = append(events, page.Events...)
		if page.Next == "" {
			return events
		}
		query.Cursor = page.Next
	}
}

// awaitJava returns when the program listens to what is due, which is when it also
// moves events.
func (b *bed) awaitJava() {
	b.t.Helper()
	_, _, channel := b.shape.redissonKeys()
	require.Eventually(b.t, func() bool {
		heard, err := b.rdb.PubSubNumSub(b.t.Context(), channel).Result()
		return err == nil && heard[channel] > 0
	}, patience, 20*time.Millisecond, "%s does not subscribe to %s", b.java.name, channel)
}

// requireEmpty fails unless nothing is left of the events, wherever they were.
func (b *bed) requireEmpty() {
	b.t.Helper()
	set, list, _ := b.shape.redissonKeys()
	for _, key := range []string{b.shape.queue(), set, list} {
		require.Eventually(b.t, func() bool {
			n, err := b.rdb.Exists(b.t.Context(), key).Result()
			return err == nil && n == 0
		}, patience, 50*time.Millisecond, "%s is not empty", key)
	}
}

// run runs the bus with a handler that records, until the returned function is
// called, which may be done more than once.
func (b *bed) run(r *record) (stop func()) {
	b.t.Helper()
	b.bus.Handle(topic, "record", eventbus.HandleFunc(func(_ context.Context, e *eventbus.Event) error {
		r.add("Go", string(e.Payload), time.Now())
		return nil
	}))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.bus.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(b.t, <-ended)
	})
	b.t.Cleanup(stop)
	return stop
}

// span is when something happens, at the earliest and at the latest.
type span struct{ from, to time.Time }

// handled is one time that an event was handled.
type handled struct {
	by string
	at time.Time
}

// record is what was handled, by payload, each of which is used for one event.
type record struct {
	mu    sync.Mutex
	byKey map[string][]handled
}

func newRecord() *record { return &record{byKey: map[string][]handled{}} }

func (r *record) add(by, payload string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byKey[payload] = append(r.byKey[payload], handled{by, at})
}

// addTaken adds what the Java program says that it has taken.
func (r *record) addTaken(a answer) {
	if a.Taken != nil {
		r.add("Java", *a.Taken, time.UnixMilli(a.AtMillis))
	}
}

func (r *record) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byKey)
}

// await returns when so many different events were handled.
func (r *record) await(t *testing.T, want int) {
	t.Helper()
	require.Eventually(t, func() bool { return r.len() >= want }, patience, 5*time.Millisecond, "events are missing")
}

// check fails unless each of the events was handled once, not early and not later
// than late, and nothing else was handled. It returns how many were handled by whom.
func (r *record) check(t *testing.T, due map[string]span, late time.Duration) map[string]int {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	by := map[string]int{}
	for payload, span := range due {
		got := r.byKey[payload]
		require.Len(t, got, 1, "event %.60q was not handled once", payload)
		// What Java tells is cut to milliseconds.
		early := span.from.Truncate(time.Millisecond).Sub(got[0].at)
		require.LessOrEqual(t, early, time.Duration(0), "event %.60q was handled early by %s", payload, got[0].by)
		require.LessOrEqual(t, got[0].at.Sub(span.to), late, "event %.60q was handled late by %s", payload, got[0].by)
		by[got[0].by]++
	}
	for payload := range r.byKey {
		require.Contains(t, due, payload, "nobody has sent this")
	}
	return by
}

// payloads are what has been damaged on such ways before: numbers beyond 2^53,
// empty lists and objects, nothing at all, line ends, NUL, markup, other scripts.
// They are followed by so many plain ones.
func payloads(label string, plain int) []string {
	texts := []string{
		`{"id":130775545883395173,"list":[],"object":{}}`, `[]`, `{}`, ``, `null`, `no JSON`,
		"two\r\nlines\n", "nul \x00 inside", `<a href="x">&amp;</a>`, "Grüße, 世界 🚚", ` {"spaces" : [ 1.0, 1e2 ] } `,
		`{"long":"` + strings.Repeat("0123456789", 5_000) + `"}`,
	}
	for i := range plain {
		texts = append(texts, fmt.Sprintf(`{"from":%q,"number":%d}`, label, i))
	}
	return texts
}
