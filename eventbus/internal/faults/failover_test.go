package faults_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// A Sentinel replaces the master while events are sent. The old master goes on to
// acknowledge writes for some eight seconds, until the Sentinel makes it a replica,
// and then forgets them: the bus must not be among those who still write there. It
// may lose what it sends until it learns of the new master, as the client that it
// was given does; of a killed master, what had not reached the replica.
func TestFailoverLosesNoMoreThanTheClient(t *testing.T) {
	t.Parallel()
	const every = 10 * time.Millisecond
	for name, c := range map[string]struct {
		replace  func(s *redistest.Sentinel)
		password string        // of the Sentinel, which then tells the bus nothing
		late     time.Duration // how much longer than the client the bus may write to the old one
	}{
		"planned":           {replace: (*redistest.Sentinel).Failover, late: 500 * time.Millisecond},
		"planned, not told": {replace: (*redistest.Sentinel).Failover, late: 2 * time.Second, password: "secret"},
		"killed":            {replace: func(s *redistest.Sentinel) { s.Nodes[0].Kill() }, late: 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.StartSentinel(t, 3*time.Second, c.password)
			w, rdb := sentinelWorld(t, s)
			bus := newTally(func(ctx context.Context, id string) error {
				_, err := w.sender.Send(ctx, topic, 1, eventbus.WithID(id))
				return err
			})
			client := newTally(func(ctx context.Context, id string) error { return rdb.SAdd(ctx, "written", id).Err() })
			ctx, cancel := context.WithCancel(context.Background())
			var writing sync.WaitGroup
			for _, b := range []*tally{bus, client} {
				writing.Go(func() { b.write(ctx, every) })
			}
			t.Cleanup(func() { cancel(); writing.Wait() })
			bus.await(t, 100)
			client.await(t, 100)
			c.replace(s)
			require.Eventually(t, func() bool { return s.Master() == s.Nodes[1] }, patience, tick)
			s.Nodes[0].Start() // where it was killed
			s.AwaitOneMaster()
			bus.await(t, 100)
			client.await(t, 100)
			cancel()
			writing.Wait()

			w.server = s.Nodes[1]
			kept, err := w.server.Admin().SMembers(t.Context(), "written").Result()
			require.NoError(t, err)
			consumer := w.runOn(s, w.ledger.handle(0))
			w.awaitEmpty(patience)
			consumer.stop(patience)
			lostByBus, lostByClient := w.ledger.missing(bus.acknowledged()), client.without(kept)
			t.Logf("lost of %d sends: %d; of the client's %d writes: %d", len(bus.acknowledged()), len(lostByBus), len(client.acknowledged()), len(lostByClient))
			require.LessOrEqual(t, len(lostByBus), len(lostByClient)+int(c.late/every), "the bus loses what its client does not")
			require.Empty(t, w.ledger.twice())
		})
	}
}

// A consumer takes events from the new master within seconds of its being named:
// nothing ends its connections to the old one, which goes on to answer.
func TestConsumerFollowsAPlannedFailover(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t, 10*time.Second, "")
	w, _ := sentinelWorld(t, s)
	c := w.runOn(s, w.ledger.handle(0))
	_, err := w.sender.Send(t.Context(), topic, 1, eventbus.WithID("before"))
	require.NoError(t, err)
	w.ledger.awaitAll(t, []string{"before"}, patience)
	require.Eventually(t, func() bool { // replication lags, and what is not there yet would be lost
		return s.Nodes[1].Admin().Exists(t.Context(), "eventbus:{"+topic+"}:config").Val() == 1
	}, patience, tick)
	s.Failover()
	const within = 4 * time.Second // the old master is demoted after 8
	direct := w.bus(s.Nodes[1].Addr(), eventbus.Config{})
	_, err = direct.Send(t.Context(), topic, 1, eventbus.WithID("after"))
	require.NoError(t, err)
	w.ledger.awaitAll(t, []string{"after"}, within)
	require.Eventually(t, func() bool { return c.Health(context.Background()) == nil }, patience, tick)
	c.stop(patience)
}

// sentinelWorld is a world whose sending bus finds its server through a Sentinel,
// by the client that is returned too.
func sentinelWorld(t *testing.T, s *redistest.Sentinel) (*world, *redis.Client) {
	t.Helper()
	w := &world{t: t, server: s.Nodes[0], ledger: newLedger(), ready: map[*eventbus.Bus]chan struct{}{}}
	rdb := s.Client(t)
	bus, err := eventbus.New(rdb, eventbus.Config{Logger: newJournal().logger()})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, bus.Close()) })
	w.sender = bus
	require.NoError(t, bus.Topics().Create(t.Context(), topic, eventbus.TopicConfig{}))
	return w, rdb
}

// runOn runs a bus that finds its server through the Sentinel.
func (w *world) runOn(s *redistest.Sentinel, h eventbus.EventHandle) *consumer {
	w.t.Helper()
	ready := make(chan struct{})
	bus, err := eventbus.New(s.Client(w.t), eventbus.Config{Logger: newJournal().logger(), OnReady: func() { close(ready) }})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { assert.NoError(w.t, bus.Close()) })
	w.ready[bus] = ready
	bus.Handle(topic, handler, h)
	return w.run(bus)
}

// tally writes ids one after another and notes which were acknowledged.
type tally struct {
	put func(ctx context.Context, id string) error

	mu     sync.Mutex
	ids    []string
	failed error // the last one
}

func newTally(put func(ctx context.Context, id string) error) *tally { return &tally{put: put} }

func (b *tally) write(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		id := fmt.Sprintf("e%d", i)
		err := b.put(ctx, id)
		b.mu.Lock()
		if err == nil {
			b.ids = append(b.ids, id)
		} else {
			b.failed = err
		}
		b.mu.Unlock()
	}
}

func (b *tally) acknowledged() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.ids...)
}

// await waits until n more were acknowledged.
func (b *tally) await(t *testing.T, n int) {
	t.Helper()
	before := len(b.acknowledged())
	if !assert.Eventually(t, func() bool { return len(b.acknowledged()) >= before+n }, patience, tick) {
		b.mu.Lock()
		defer b.mu.Unlock()
		t.Fatalf("writing does not go on; the last error was: %v", b.failed)
	}
}

// without lists what was acknowledged and is not in kept.
func (b *tally) without(kept []string) (lost []string) {
	found := make(map[string]bool, len(kept))
	for _, id := range kept {
		found[id] = true
	}
	for _, id := range b.acknowledged() {
		if !found[id] {
			lost = append(lost, id)
		}
	}
	return lost
}

// A replica of a Cluster takes its master's place as an administrator asks for it:
// the old master redirects at once, and nothing that was acknowledged is lost, nor
// does anything run twice.
func TestClusterFailoverLosesNothing(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartClusterNodes(t, 3)
	var addrs []string
	for _, n := range nodes {
		addrs = append(addrs, n.Addr())
	}
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
	at, err := rdb.MasterForKey(t.Context(), "eventbus:{"+topic+"}:config")
	require.NoError(t, err)
	var master *redistest.Server
	for _, n := range nodes {
		if n.Addr() == at.Options().Addr {
			master = n
		}
	}
	replica := redistest.Replicate(t, master, nodes)

	w := &world{t: t, server: master, ledger: newLedger(), ready: map[*eventbus.Bus]chan struct{}{}}
	ready := make(chan struct{})
	bus, err := eventbus.New(rdb, eventbus.Config{AutoCreateTopics: true, Logger: newJournal().logger(), OnReady: func() { close(ready) }})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, bus.Close()) })
	bus.Handle(topic, handler, w.ledger.handle(0))
	w.ready[bus], w.sender = ready, bus
	c := w.run(bus)
	p := w.producer()
	p.await(t, 100)
	require.NoError(t, replica.Admin().ClusterFailover(t.Context()).Err())
	require.Eventually(t, func() bool {
		role, err := replica.Admin().Do(context.Background(), "role").Slice()
		return err == nil && role[0] == "master"
	}, patience, tick)
	p.await(t, 100)
	p.stop()
	w.ledger.awaitAll(t, p.acknowledged(), patience)
	w.awaitEmpty(patience)
	w.ledger.requireOnce(t, p.acknowledged())
	require.Eventually(t, func() bool { return c.Health(context.Background()) == nil }, patience, tick)
	c.stop(patience)
}
