package faults_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// What somebody pushes into a queue without ringing is found by the next sweep: in a
// second, and what the machine takes. Each topic is new to it, so that it does not
// look there more often yet; and each entry comes right after a sweep.
func TestEntryThatNobodyRangForIsFoundInASecond(t *testing.T) {
	t.Parallel()
	const topics, within = 4, 3 * time.Second
	w := setup(t, redistest.Options{})
	bus := w.bus(w.server.Addr(), eventbus.Config{AutoCreateTopics: true})
	got := make(chan string, topics)
	for i := range topics {
		bus.Handle(fmt.Sprint("t", i), handler, eventbus.HandleFunc(func(_ context.Context, e *eventbus.Event) error {
			got <- e.Topic
			return nil
		}))
	}
	c := w.run(bus)
	for i := range topics {
		require.NoError(t, w.server.Admin().LPush(t.Context(), fmt.Sprintf("eventbus:{t%d}:queue:default", i), "{}").Err())
		select {
		case name := <-got:
			require.Equal(t, fmt.Sprint("t", i), name)
		case <-time.After(within):
			require.Fail(t, "the entry is not found", "within %v", within)
		}
	}
	c.stop(patience)
}

// An idle poller blocks for thirty seconds at a time: shorter blocks would cost
// commands, longer ones trust a silent connection for longer.
func TestBlockLastsThirtySeconds(t *testing.T) {
	t.Parallel()
	w := setup(t, redistest.Options{})
	m := watch(t, w.server)
	c := w.consume(w.server.Addr(), eventbus.Config{}, w.ledger.handle(0))
	var blocks []command
	require.Eventually(t, func() bool {
		blocks = m.seen(t, named("blpop"))
		return len(blocks) > 0
	}, patience, tick)
	for _, b := range blocks {
		seconds, err := strconv.ParseFloat(b.arg(-1), 64)
		require.NoError(t, err)
		require.InDelta(t, 30, seconds, 0, "%s", b)
	}
	c.stop(patience)
}

// With at_most_once BLPOP takes the entries itself, and cannot look whether the
// topic is enabled: a second after Disable nobody blocks on it any more.
func TestDisabledListIsLeftAloneWithinASecond(t *testing.T) {
	t.Parallel()
	const loaded = time.Second // what the machine may take
	w := setup(t, redistest.Options{})
	delivery := eventbus.AtMostOnce
	_, err := w.sender.Topics().Update(t.Context(), topic, eventbus.TopicUpdate{Delivery: &delivery})
	require.NoError(t, err)
	m := watch(t, w.server)
	c := w.consume(w.server.Addr(), eventbus.Config{}, w.ledger.handle(0))
	const queue = "eventbus:{" + topic + "}:queue:default"
	w.ledger.awaitAll(t, w.send(3), patience)
	require.Eventually(t, func() bool {
		blocks := m.seen(t, named("blpop"))
		return len(blocks) > 0 && slices.Contains(blocks[len(blocks)-1].args, queue)
	}, patience, tick)
	require.NoError(t, w.sender.Topics().Disable(t.Context(), topic))
	_ = busy(t.Context(), time.Second+loaded)
	require.NoError(t, w.server.Admin().LPush(t.Context(), queue, "late").Err())
	require.Never(t, func() bool {
		n, err := w.server.Admin().LLen(context.Background(), queue).Result()
		return err == nil && n == 0
	}, 500*time.Millisecond, tick, "it was taken")
	require.Equal(t, 3, w.ledger.runs())
	require.NoError(t, w.sender.Topics().Enable(t.Context(), topic))
	require.Eventually(t, func() bool { return w.ledger.done() == 4 }, patience, tick)
	c.stop(patience)
}

// Ten topics, each with more than enough waiting, share the pool: when half of it all
// is handled, none has had less than half of its share, or more than twice of it.
func TestTopicsUnderFullLoadShareFairly(t *testing.T) {
	t.Parallel()
	const topics, each = 10, 1000
	w := setup(t, redistest.Options{})
	bus := w.bus(w.server.Addr(), eventbus.Config{AutoCreateTopics: true, Concurrency: 32})
	var mu sync.Mutex
	handled, total := map[string]int{}, 0
	half := make(chan map[string]int, 1)
	for i := range topics {
		name := fmt.Sprint("t", i)
		require.NoError(t, w.sender.Topics().Create(t.Context(), name, eventbus.TopicConfig{}))
		_, err := w.sender.SendBatch(t.Context(), name, make([]eventbus.Message, each))
		require.NoError(t, err)
		bus.Handle(name, handler, eventbus.HandleFunc(func(ctx context.Context, e *eventbus.Event) error {
			mu.Lock()
			handled[e.Topic]++
			if total++; total == topics*each/2 {
				shares := map[string]int{}
				for name, n := range handled {
					shares[name] = n
				}
				half <- shares
			}
			mu.Unlock()
			return busy(ctx, time.Millisecond)
		}))
	}
	c := w.run(bus)
	select {
	case shares := <-half:
		require.Len(t, shares, topics)
		for name, n := range shares {
			require.Greater(t, n, each/2/2, "topic %s of %v", name, shares)
			require.Less(t, n, each/2*2, "topic %s of %v", name, shares)
		}
	case <-time.After(patience):
		require.Fail(t, "half of the events are not handled")
	}
	c.stop(patience)
}

// A script that does not end makes the server refuse everything (BUSY). Health is red
// meanwhile, the log says so once, and all goes on by itself, nothing twice.
func TestBusyServer(t *testing.T) {
	t.Parallel()
	w := setup(t, redistest.Options{Extra: []string{"lua-time-limit 100"}})
	log := newJournal()
	c := w.consume(w.server.Addr(), eventbus.Config{Concurrency: 8, Logger: log.logger()}, w.ledger.handle(time.Millisecond))
	p := w.producer()
	p.await(t, 50)

	looping := w.server.Client(t)
	ended := make(chan error, 1)
	go func() { ended <- looping.Eval(context.Background(), "while true do end", nil).Err() }()
	admin := redis.NewClient(w.server.Options())
	t.Cleanup(func() { assert.NoError(t, admin.Close()) })
	require.Eventually(t, func() bool { return redis.HasErrorPrefix(admin.Ping(context.Background()).Err(), "BUSY") }, patience, tick)
	require.Eventually(t, func() bool { return c.Health(context.Background()) != nil }, redWithin, tick, "health stays green")
	require.ErrorIs(t, c.Health(t.Context()), eventbus.ErrUnavailable)
	_, err := w.sender.Send(t.Context(), topic, 1)
	require.ErrorIs(t, err, eventbus.ErrUnavailable)
	require.ErrorContains(t, err, "a script has blocked the server for long")
	_ = busy(t.Context(), 5*time.Second) // it lasts
	require.NoError(t, admin.ScriptKill(t.Context()).Err())
	require.Error(t, <-ended)

	p.await(t, 50)
	require.Eventually(t, func() bool { return c.Health(context.Background()) == nil }, recoverWithin, tick, "health stays red")
	p.stop()
	w.ledger.awaitAll(t, p.acknowledged(), patience)
	w.awaitEmpty(patience)
	w.ledger.requireOnce(t, p.acknowledged())
	require.LessOrEqual(t, len(log.lines(0)), mostLines, "%q", log.lines(0))
	c.stop(patience)
	w.requireNothingHeld()
}

// A client whose password comes from a provider goes on when the server's password
// changes and the provider says the new one: connections that are cut come back with
// it.
func TestChangedCredentialsAreAskedForAnew(t *testing.T) {
	t.Parallel()
	w := setup(t, redistest.Options{Password: "first"})
	var mu sync.Mutex
	password := "first"
	bus := w.busOn(&redis.Options{Addr: w.server.Addr(), CredentialsProvider: func() (string, string) {
		mu.Lock()
		defer mu.Unlock()
		return "", password
	}}, eventbus.Config{})
	bus.Handle(topic, handler, w.ledger.handle(0))
	c := w.run(bus)
	ids := w.send(5)
	w.ledger.awaitAll(t, ids, patience)

	w.server.SetPassword("second")
	w.killClients()
	require.Eventually(t, func() bool { return errors.Is(c.Health(context.Background()), eventbus.ErrUnavailable) }, redWithin, tick, "health stays green")
	mu.Lock()
	password = "second"
	mu.Unlock()
	require.Eventually(t, func() bool {
		_, err := bus.Send(context.Background(), topic, 1, eventbus.WithID("after"))
		return err == nil
	}, recoverWithin, 10*tick)
	w.ledger.awaitAll(t, append(ids, "after"), recoverWithin)
	require.Eventually(t, func() bool { return c.Health(context.Background()) == nil }, recoverWithin, tick, "health stays red")
	c.stop(patience)
}
