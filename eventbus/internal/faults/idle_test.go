package faults_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// A bus with nothing to do sends few commands, and no more with two hundred topics
// than with one, also where each has an event that is due far off. It has handled
// events before, and holds their traces.
func TestIdleBusIsQuiet(t *testing.T) {
	t.Parallel()
	const (
		watchFor   = 10 * time.Second
		perSecond  = 5  // commands that the bus sends
		withInside = 10 // and those that its scripts call besides
		edge       = 8  // what a window of ten seconds may hold once more, each second or five
	)
	type idle struct {
		topics  int
		delayed bool
	}
	worlds := map[idle]*world{{1, false}: nil, {200, false}: nil, {1, true}: nil, {200, true}: nil}
	for kind := range worlds {
		w := setup(t, redistest.Options{})
		worlds[kind] = w
		bus := w.bus(w.server.Addr(), eventbus.Config{AutoCreateTopics: true})
		bus.Handle(topic, handler, w.ledger.handle(0))
		names := []string{topic}
		for i := range kind.topics - 1 {
			names = append(names, fmt.Sprintf("topic%d", i))
			bus.Handle(names[i+1], handler, w.ledger.handle(0))
		}
		w.run(bus)
		ids := w.send(50)
		if kind.delayed {
			id, err := w.sender.Send(t.Context(), topic, 1, eventbus.WithDelay(time.Second))
			require.NoError(t, err)
			ids = append(ids, id)
			for i, name := range names {
				_, err := w.sender.Send(t.Context(), name, 1, eventbus.WithDelay(time.Hour+time.Duration(i)*time.Second))
				require.NoError(t, err)
			}
		}
		w.ledger.awaitAll(t, ids, patience)
		w.awaitEmpty(patience)
	}
	for kind, w := range worlds { // what begins with the bus is not its idling
		last := int64(0)
		require.Eventually(t, func() bool {
			total := w.server.TotalCommands(t)
			calm := total-last <= 2*withInside
			last = total
			return calm
		}, patience, time.Second, "%+v", kind)
	}
	var all sync.WaitGroup
	seen := map[idle][]command{}
	var mu sync.Mutex
	for kind, w := range worlds {
		m := watch(t, w.server)
		all.Go(func() {
			_ = busy(context.Background(), watchFor)
			m.mu.Lock()
			defer m.mu.Unlock()
			mu.Lock()
			defer mu.Unlock()
			seen[kind] = slices.Clone(m.commands)
		})
	}
	all.Wait()
	for kind, commands := range seen {
		sent, inside, names := 0, 0, map[string]int{}
		for _, c := range commands {
			switch {
			case !c.inside:
				sent++
				names[c.name]++
			case c.name == "zrange" && kind.delayed: // one for each topic in a sweep, inside one call
			default:
				inside++
			}
		}
		seconds := int(watchFor.Seconds())
		t.Logf("%+v: %d commands sent and %d called by scripts in %v: %v", kind, sent, len(commands)-sent, watchFor, names)
		require.LessOrEqual(t, sent, perSecond*seconds+edge, "%+v: %v", kind, names)
		require.LessOrEqual(t, sent+inside, withInside*seconds+edge, "%+v", kind)
		require.LessOrEqual(t, len(commands)-sent-inside, kind.topics*(seconds/5+1), "%+v", kind)
	}
}

// Under load, with failures, retries, replays, discards, pages and what a dead
// consumer held, no command's work grows with the backlog.
func TestNoCommandGrowsWithTheBacklog(t *testing.T) {
	t.Parallel()
	const events = 1500
	w := setup(t, redistest.Options{})
	m := watch(t, w.server)
	ctx := t.Context()
	fails := func(e *eventbus.Event) error {
		switch {
		case e.Attempt == 1 && strings.HasSuffix(e.ID, "5"):
			return eventbus.RetryAfter(50*time.Millisecond, errPlain)
		case strings.HasSuffix(e.ID, "7"):
			return eventbus.Reject(errPlain)
		}
		return nil
	}
	c := w.consume(w.server.Addr(), eventbus.Config{Lease: time.Second}, eventbus.HandleFunc(func(_ context.Context, e *eventbus.Event) error {
		w.ledger.begin(e.ID)
		if err := fails(e); err != nil {
			return err
		}
		w.ledger.end(e.ID)
		return nil
	}))
	rejected := func(n int64) {
		t.Helper()
		require.Eventually(t, func() bool {
			s, ok := w.stats()
			return ok && s.Dead == n && s.Waiting+s.InFlight+s.Retrying == 0
		}, patience, 4*tick)
	}
	w.send(events)
	w.bury("dead1")
	rejected(events / 10)
	failures := w.sender.Failures()
	page, err := failures.List(ctx, topic, eventbus.FailureQuery{Limit: 50})
	require.NoError(t, err)
	_, err = failures.Get(ctx, topic, page.Failures[0].ID)
	require.NoError(t, err)
	n, err := failures.Replay(ctx, topic, eventbus.FailureFilter{All: true})
	require.NoError(t, err)
	require.EqualValues(t, events/10, n)
	rejected(events / 10)
	n, err = failures.Discard(ctx, topic, eventbus.FailureFilter{Handler: handler})
	require.NoError(t, err)
	require.EqualValues(t, events/10, n)
	w.ledger.awaitBegun(t, "dead1")
	c.stop(patience)
	require.NoError(t, w.sender.Topics().Delete(ctx, topic))

	commands := m.seen(t, func(command) bool { return true })
	require.NotEmpty(t, commands)
	for _, c := range commands {
		require.True(t, bounded(c), "this command's work is not bounded: %s", c)
	}
	stats := w.server.CommandStats(t)
	for _, name := range []string{"keys", "lrem", "lrange", "sort", "hvals", "zrevrange", "linsert", "flushdb", "flushall"} {
		require.NotContains(t, stats, name)
	}
}
