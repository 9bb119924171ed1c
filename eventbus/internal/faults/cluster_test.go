package faults_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// One node of a Cluster stands still for a while. That is an outage for its
// topics at least; the other nodes are not flooded meanwhile, and afterwards
// every topic's events are handled, and none twice. Then the node is gone for
// good, which must make no flood either, and not keep the bus from stopping.
func TestClusterNodeThatIsLost(t *testing.T) {
	t.Parallel()
	const masters, each, outage = 3, 30, 10 * time.Second
	nodes := redistest.StartClusterNodes(t, masters)
	var addrs []string
	for _, n := range nodes {
		addrs = append(addrs, n.Addr())
	}
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	t.Cleanup(func() { _ = rdb.Close() })
	topics, victim := spreadTopics(t, rdb, nodes)

	w := &world{t: t, server: nodes[0], ledger: newLedger()}
	log := newJournal()
	ready := make(chan struct{})
	bus, err := eventbus.New(rdb, eventbus.Config{AutoCreateTopics: true, Logger: log.logger(), OnReady: func() { close(ready) }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bus.Close()) })
	for _, name := range topics {
		bus.Handle(name, handler, w.ledger.handle(2*time.Millisecond))
	}
	w.ready = map[*eventbus.Bus]chan struct{}{bus: ready}
	c := w.run(bus)
	var ids []string
	send := func(names ...string) {
		t.Helper()
		for i := range each {
			for _, name := range names {
				id, err := bus.Send(t.Context(), name, i, eventbus.WithID(fmt.Sprintf("%s-%d-%d", name, len(ids), i)))
				require.NoError(t, err)
				ids = append(ids, id)
			}
		}
	}
	send(topics...)
	w.ledger.awaitAll(t, ids, patience)

	others := func() (n int64) {
		for _, node := range nodes {
			if node != victim {
				n += node.TotalCommands(t)
			}
		}
		return n
	}
	quiet := func(what string) {
		t.Helper()
		commands, lines := others(), len(log.lines(slog.LevelInfo))
		_ = busy(t.Context(), outage)
		commands, lines = others()-commands, len(log.lines(slog.LevelInfo))-lines
		t.Logf("%s: %d commands at the other nodes, %d lines", what, commands, lines)
		// Of an idle bus on a Cluster there is a look at each topic each second, and
		// what scripts call is in the count.
		require.Less(t, commands, int64(outage.Seconds())*4*mostPerSec)
		require.LessOrEqual(t, lines, mostLines, strings.Join(log.lines(slog.LevelInfo), "\n"))
	}
	victim.Pause()
	quiet("halted")
	victim.Resume()

	require.Eventually(t, func() bool { return bus.Health(context.Background()) == nil }, patience, tick)
	send(topics...)
	w.ledger.awaitAll(t, ids, patience)
	require.Empty(t, w.ledger.twice())
	for _, name := range topics {
		require.Eventually(t, func() bool {
			s, err := bus.GroupStats(context.Background(), name)
			return err == nil && s.Waiting+s.InFlight+s.Retrying == 0
		}, patience, tick, name)
	}

	victim.Kill() // its data is gone with it
	quiet("killed")
	c.stop(20 * time.Second)
}

// spreadTopics finds a topic's name for every node, and the node that does not
// have the consumers' leases: without it, renewing goes on.
func spreadTopics(t *testing.T, rdb *redis.ClusterClient, nodes []*redistest.Server) (names []string, victim *redistest.Server) {
	t.Helper()
	owner := func(key string) string {
		node, err := rdb.MasterForKey(t.Context(), key)
		require.NoError(t, err)
		return node.Options().Addr
	}
	leases := owner("eventbus:consumers")
	found := map[string]bool{}
	for i := 0; len(found) < len(nodes); i++ {
		name := fmt.Sprintf("topic%d", i)
		if at := owner("eventbus:{" + name + "}:config"); !found[at] {
			found[at] = true
			names = append(names, name)
		}
	}
	for _, n := range nodes {
		if n.Addr() != leases {
			victim = n
		}
	}
	return names, victim
}
