package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/eventbus/internal/lease"
	"github.com/seed4933/eventbus/eventbus/internal/wire"
	"github.com/seed4933/eventbus/internal/redistest"
)

// A handler that takes far longer than the lease, also while its bus is stopping,
// holds its event all the time: nobody else runs it.
func TestLongHandlerKeepsItsEvent(t *testing.T) {
	t.Parallel()
	const leaseTime = time.Second
	for _, draining := range []bool{false, true} {
		t.Run(fmt.Sprintf("draining %v", draining), func(t *testing.T) {
			t.Parallel()
			w := setup(t, redistest.Options{})
			long := w.consume(w.server.Addr(), eventbus.Config{Lease: leaseTime}, w.ledger.handle(4*leaseTime))
			ids := w.send(4)
			require.Eventually(t, func() bool { return w.ledger.runs() == len(ids) }, patience, tick)
			other := w.consume(w.server.Addr(), eventbus.Config{Lease: leaseTime}, w.ledger.handle(0))
			if draining {
				require.Greater(t, long.stop(patience), 2*leaseTime, "the handlers were to outlast the lease while draining")
			}
			w.ledger.awaitAll(t, ids, patience)
			w.awaitEmpty(patience)
			w.ledger.requireOnce(t, ids)
			if !draining {
				long.stop(patience)
			}
			other.stop(patience)
			w.requireNothingHeld()
		})
	}
}

// Redis is away for longer than the leases, by standing still and by being gone.
// Afterwards every lease has run out and nobody has died: no event runs twice
// that was running in a live consumer, whoever of them is the first to be back.
func TestOutageOfRedisIsNobodysDeath(t *testing.T) {
	t.Parallel()
	const consumers, leaseTime = 6, time.Second
	for name, outage := range map[string]func(s *redistest.Server){
		"halted for three leases": func(s *redistest.Server) {
			s.Pause()
			_ = busy(context.Background(), 3*leaseTime)
			s.Resume()
		},
		"gone for twelve leases": func(s *redistest.Server) {
			s.Kill()
			_ = busy(context.Background(), 12*leaseTime)
			s.Start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, redistest.Options{AppendOnly: true})
			log := newJournal()
			gate := make(chan struct{})
			var crew []*consumer
			for range consumers {
				cfg := eventbus.Config{Lease: leaseTime, Concurrency: 3, Logger: log.logger()}
				crew = append(crew, w.consume(w.server.Addr(), cfg, gated(w.ledger, gate, nil), eventbus.HandleConfig{Timeout: time.Hour}))
			}
			ids := w.send(2 * consumers)
			require.Eventually(t, func() bool { return w.ledger.runs() == len(ids) }, patience, tick, "the consumers run them all")
			w.bury("before")
			w.ledger.awaitBegun(t, "before")

			outage(w.server)
			// Once somebody has reclaimed from one that is dead indeed, it would have
			// reclaimed from the others too.
			w.bury("after")
			w.ledger.awaitBegun(t, "after")
			// What has long passed does not make a short halt cost the leases.
			w.server.Pause()
			_ = busy(context.Background(), leaseTime/2)
			w.server.Resume()
			require.Eventually(t, func() bool {
				all, err := w.sender.Consumers(context.Background())
				return err == nil && !slices.ContainsFunc(all, func(c eventbus.Consumer) bool { return c.Expired })
			}, 2*leaseTime, tick, "a consumer does not renew soon")
			close(gate)
			ids = append(ids, "before", "after")
			w.ledger.awaitAll(t, ids, patience)
			w.awaitEmpty(patience)
			require.Empty(t, w.ledger.twice(), "log:\n%s", strings.Join(log.lines(slog.LevelInfo), "\n"))
			for _, c := range crew {
				c.stop(patience)
			}
			w.requireNothingHeld()
		})
	}
}

// One failed call must not leave a bus with a long lease waiting for its next
// renewal.
func TestLongLeaseDoesNotDelayRecovery(t *testing.T) {
	t.Parallel()
	w := setup(t, redistest.Options{})
	c := w.consume(w.server.Addr(), eventbus.Config{Lease: time.Hour}, w.ledger.handle(time.Millisecond))
	var ids []string
	for range 5 {
		ids = append(ids, w.send(200)...)
		require.Eventually(t, func() bool { return w.ledger.done() > len(ids)-150 }, 15*time.Second, time.Millisecond)
		w.killClients()
	}
	w.ledger.awaitAll(t, ids, 15*time.Second)
	w.awaitEmpty(patience)
	w.ledger.requireOnce(t, ids)
	c.stop(patience)
}

// bury leaves one event in flight under a consumer whose lease has run out.
func (w *world) bury(id string) {
	w.t.Helper()
	ctx, admin := context.Background(), w.server.Admin()
	entry := wire.Append(nil, &wire.Entry{ID: id, Type: topic, Source: "test", Data: []byte("1")})
	runs, err := json.Marshal(lease.Runs{Group: eventbus.DefaultGroup, Topics: map[string][]lease.Handle{topic: nil}})
	require.NoError(w.t, err)
	registered := func(until float64) {
		w.t.Helper()
		require.NoError(w.t, admin.ZAdd(ctx, "eventbus:consumers", redis.Z{Score: until, Member: "dead-" + id}).Err())
	}
	registered(math.MaxInt32 * 1000.0) // lives until all is there
	require.NoError(w.t, admin.HSet(ctx, "eventbus:consumers:runs", "dead-"+id, runs).Err())
	require.NoError(w.t, admin.HSet(ctx, "eventbus:{"+topic+"}:inflight:default:dead-"+id, "1-1", entry).Err())
	require.NoError(w.t, admin.SAdd(ctx, "eventbus:{"+topic+"}:holders:default", "dead-"+id).Err())
	registered(1)
}
