package delaytest_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// All connections of the consumer break just before the due time, or are refused over
// it, and nothing more is sent. The events come on time, or as soon as there is a
// connection again: a sweep and the longest pause between tries bound it.
func TestCutConnectionsDelayNothing(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]time.Duration{"cut": 0, "refused for a second": time.Second, "silent for a second": time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, redistest.Options{})
			proxy := redistest.NewProxy(t, w.server.Addr())
			w.consume(&redis.Options{Addr: proxy.Addr()}, eventbus.Config{})
			var ids []string
			due := w.now().Add(1500 * time.Millisecond)
			ids = append(ids, w.at(due, 20)...)
			until(t, due.Add(-30*time.Millisecond))
			require.Zero(t, w.count())
			if name == "silent for a second" {
				proxy.Blackhole(true)
			}
			if name == "refused for a second" {
				proxy.Refuse(true)
			}
			proxy.CutAll()
			until(t, due.Add(outage))
			proxy.Blackhole(false)
			proxy.Refuse(false)
			w.awaitAll(t, ids, patience)
			w.awaitIdle()
			w.requireOnce(t, ids)
			t.Logf("the latest came %v late", w.worst())
			require.Less(t, w.worst(), outage+sweep+slack)
		})
	}
}

// Redis is killed and started again, twice, while events are delayed in it.
func TestDelayedEventsOutliveRedis(t *testing.T) {
	t.Parallel()
	w := setup(t, redistest.Options{AppendOnly: true})
	w.consume(w.server.Options(), eventbus.Config{})
	var ids []string
	began := w.now()
	for i := range 400 {
		ids = append(ids, w.at(began.Add(time.Duration(1000+10*i)*time.Millisecond), 1)...)
	}
	for i := range 2 {
		until(t, began.Add(time.Duration(1500+1500*i)*time.Millisecond))
		w.server.Kill()
		w.server.Start()
	}
	w.awaitAll(t, ids, patience)
	w.awaitIdle()
	w.requireOnce(t, ids)
	t.Logf("the latest came %v late", w.worst())
	require.Less(t, w.worst(), 2*sweep+slack)
}

// The server forgets its scripts again and again while delayed events come and go.
func TestFlushedScriptsDelayNothing(t *testing.T) {
	t.Parallel()
	w := setup(t, redistest.Options{})
	log := &journal{}
	bus := w.consume(w.server.Options(), eventbus.Config{Logger: log.logger()})
	var ids []string
	for i := range 100 {
		if i%5 == 0 {
			require.NoError(t, w.server.Admin().ScriptFlush(t.Context()).Err())
		}
		ids = append(ids, w.after(time.Duration(rand.IntN(500))*time.Millisecond)) // demands that no error comes
		cancelled := w.after(time.Hour)
		_, err := w.sender.Delayed().Cancel(t.Context(), topic, cancelled)
		require.NoError(t, err)
		until(t, time.Now().Add(20*time.Millisecond))
	}
	w.awaitAll(t, ids, patience)
	w.awaitIdle()
	w.requireOnce(t, ids)
	require.Empty(t, log.with("ERROR"))
	require.Empty(t, log.with("WARN"))
	require.NoError(t, bus.Health(t.Context()))
	require.Less(t, w.worst(), slack)
}

// twoGroups adds a second group, which has a ledger of its own.
func (w *world) twoGroups() *ledger {
	w.t.Helper()
	require.NoError(w.t, w.sender.Topics().AddGroup(w.t.Context(), topic, eventbus.GroupConfig{Name: "other"}))
	return newLedger(w.skew)
}

// Replies to delayed sends are lost again and again. What was acknowledged comes; of
// the rest each comes once or not at all, and to both groups or to none.
func TestLostRepliesSendNoHalves(t *testing.T) {
	t.Parallel()
	const rounds = 10
	w := setup(t, redistest.Options{})
	other := w.twoGroups()
	w.consume(w.server.Options(), eventbus.Config{})
	w.run(w.server.Options(), eventbus.Config{Group: "other"}, other)
	proxy := redistest.NewProxy(t, w.server.Addr())
	bus := w.bus(&redis.Options{Addr: proxy.Addr()}, eventbus.Config{})
	var mu sync.Mutex
	var acknowledged []string
	failed := 0
	for round := range rounds {
		var sends sync.WaitGroup
		stop := make(chan struct{})
		for range 8 {
			sends.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					mu.Lock()
					m := w.message(w.now().Add(300 * time.Millisecond))
					mu.Unlock()
					m.Delay = 300 * time.Millisecond
					_, err := bus.SendBatch(context.Background(), topic, []eventbus.Message{m})
					mu.Lock()
					if err == nil {
						acknowledged = append(acknowledged, m.ID)
					} else {
						failed++
					}
					mu.Unlock()
				}
			})
		}
		require.Eventually(t, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(acknowledged) > 10*(round+1)
		}, patience, time.Millisecond)
		proxy.DropReplies(true)
		until(t, time.Now().Add(time.Duration(rand.IntN(20))*time.Millisecond))
		close(stop)
		proxy.CutAll()
		proxy.DropReplies(false)
		sends.Wait()
	}
	w.awaitAll(t, acknowledged, patience)
	w.awaitIdle()
	require.Eventually(t, func() bool { return other.count() >= w.count() }, patience, tick)
	t.Logf("%d acknowledged, %d not, of which %d were sent", len(acknowledged), failed, w.count()-len(acknowledged))
	require.NotEmpty(t, acknowledged)
	require.Positive(t, failed, "no reply was lost; the test shows nothing")
	require.Equal(t, w.runs, other.runs, "to both groups or to none")
	require.Zero(t, w.repeated())
	w.requireNoneEarly(t)
	other.requireNoneEarly(t)
}

// A sender is killed between, or in the midst of, its sends.
func TestKilledSenderSendsNoHalves(t *testing.T) {
	t.Parallel()
	w := setup(t, redistest.Options{})
	other := w.twoGroups()
	w.consume(w.server.Options(), eventbus.Config{})
	w.run(w.server.Options(), eventbus.Config{Group: "other"}, other)
	var acknowledged []string
	const senders = 4
	for range senders {
		p := w.start(senderChild)
		p.awaitReady(t)
		require.Eventually(t, func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.sent) > 50+rand.IntN(100)
		}, patience, time.Millisecond, p.Stderr())
		p.kill()
		acknowledged = append(acknowledged, p.sent...)
	}
	w.awaitAll(t, acknowledged, patience)
	w.awaitIdle()
	require.Eventually(t, func() bool { return other.count() >= w.count() }, patience, tick)
	require.Equal(t, w.runs, other.runs)
	require.Zero(t, w.repeated())
	require.LessOrEqual(t, w.count(), len(acknowledged)+senders)
	w.requireNoneEarly(t)
	other.requireNoneEarly(t)
}
