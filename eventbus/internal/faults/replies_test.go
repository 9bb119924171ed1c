package faults_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// Replies are lost again and again while events are claimed and finished under
// load: calls were executed whose answers nobody saw. After healing nothing
// remains in flight, every event has been handled, and none twice, since no
// process has died. Every third event fails once, so that failures too are
// recorded and moved while replies are lost.
func TestLostRepliesLeaveNothingInFlight(t *testing.T) {
	t.Parallel()
	const rounds, perRound = 12, 100
	w := setup(t, redistest.Options{})
	proxy := redistest.NewProxy(t, w.server.Addr())
	var fails sync.Map // by id, once
	work := w.ledger.handle(2 * time.Millisecond)
	c := w.consume(proxy.Addr(), eventbus.Config{Concurrency: 8}, eventbus.HandleFunc(func(ctx context.Context, e *eventbus.Event) error {
		if _, failed := fails.LoadOrStore(e.ID, true); !failed && e.ID[len(e.ID)-1]%3 == 0 {
			return eventbus.RetryAfter(10*time.Millisecond, errPlain)
		}
		return work(ctx, e)
	}))
	var ids []string
	for range rounds {
		before := w.ledger.runs()
		ids = append(ids, w.send(perRound)...)
		require.Eventually(t, func() bool { return w.ledger.runs() > before+rand.IntN(perRound/2) }, patience, time.Millisecond,
			"consuming does not go on after lost replies")
		proxy.DropReplies(true)
		_ = busy(t.Context(), time.Duration(rand.Int64N(int64(20*time.Millisecond))))
		proxy.CutAll()
		proxy.DropReplies(false)
	}
	w.ledger.awaitAll(t, ids, patience)
	w.awaitEmpty(patience)
	w.requireNothingHeld()
	w.ledger.requireOnce(t, ids)
	require.NoError(t, c.Health(t.Context()))
	c.stop(patience)
}

// A connection that loses its replies without being cut: the calls end at their
// deadlines. The one that blocks is not missed for longer than its block lasts.
func TestMuteConnectionsAreReplaced(t *testing.T) {
	t.Parallel()
	w := setup(t, redistest.Options{})
	proxy := redistest.NewProxy(t, w.server.Addr())
	c := w.consume(proxy.Addr(), eventbus.Config{}, w.ledger.handle(0))
	ids := w.send(50)
	w.ledger.awaitAll(t, ids, patience)
	proxy.DropReplies(true)
	ids = append(ids, w.send(50)...)
	require.Eventually(t, func() bool { return c.Health(context.Background()) != nil }, 10*time.Second, tick, "health stays green")
	proxy.DropReplies(false)
	ids = append(ids, w.send(50)...)
	w.ledger.awaitAll(t, ids, patience)
	w.awaitEmpty(patience)
	w.requireNothingHeld()
	w.ledger.requireOnce(t, ids)
	require.NoError(t, c.Health(t.Context()))
	c.stop(patience)
}

// Entries in flight under a consumer that no registry knows, as a claim leaves
// them that is executed after its consumer was forgotten, are moved back.
func TestEntriesOfAnUnknownConsumerAreMovedBack(t *testing.T) {
	t.Parallel()
	w := setup(t, redistest.Options{})
	ids := w.send(20)
	// A consumer that is not enrolled takes half of them.
	taken, err := w.server.Admin().LPopCount(t.Context(), "eventbus:{"+topic+"}:queue:default", 10).Result()
	require.NoError(t, err)
	for i, entry := range taken {
		require.NoError(t, w.server.Admin().HSet(t.Context(), "eventbus:{"+topic+"}:inflight:default:gone", "1-"+string(rune('0'+i)), entry).Err())
	}
	require.NoError(t, w.server.Admin().SAdd(t.Context(), "eventbus:{"+topic+"}:holders:default", "gone").Err())
	c := w.consume(w.server.Addr(), eventbus.Config{Lease: time.Second}, w.ledger.handle(0))
	w.ledger.awaitAll(t, ids, 15*time.Second)
	w.awaitEmpty(patience)
	w.requireNothingHeld()
	w.ledger.requireOnce(t, ids)
	c.stop(patience)
}
