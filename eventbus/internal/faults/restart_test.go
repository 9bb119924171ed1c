package faults_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// Redis is restarted, killed, demoted, cuts its clients off and unblocks them
// with an error, each several times and under load. Consuming goes on by itself;
// whatever a Send has acknowledged is handled, and nothing twice.
func TestConsumingOutlastsWhatBefallsRedis(t *testing.T) {
	t.Parallel()
	const rounds = 3
	for name, befall := range map[string]func(w *world){
		"restarted": func(w *world) { w.server.Restart() },
		"killed":    func(w *world) { w.server.Kill(); w.server.Start() },
		"clients cut": func(w *world) {
			for range 5 {
				w.killClients()
			}
		},
		"unblocked": func(w *world) { w.unblock() },
		"demoted": func(w *world) {
			r := readOnly()
			r.on(w.t, w)
			require.Eventually(w.t, func() bool {
				_, err := w.sender.Send(context.Background(), topic, 1)
				return errors.Is(err, eventbus.ErrUnavailable)
			}, patience, tick)
			r.off(w.t, w)
		},
		"replica and back": replicaAndBack,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, redistest.Options{AppendOnly: true})
			c := w.consume(w.server.Addr(), eventbus.Config{Concurrency: 16}, w.ledger.handle(time.Millisecond))
			p := w.producer()
			for range rounds {
				p.await(t, 40)
				befall(w)
			}
			p.await(t, 40)
			p.stop()
			w.ledger.awaitAll(t, p.acknowledged(), patience)
			w.awaitEmpty(patience)
			require.Eventually(t, func() bool { return c.Health(context.Background()) == nil }, patience, tick)
			w.requireNothingHeld()
			w.ledger.requireOnce(t, p.acknowledged())
			c.stop(patience)
		})
	}
}

// producer sends one event after another until it is stopped, and notes which
// were acknowledged.
type producer struct {
	cancel context.CancelFunc
	over   sync.WaitGroup

	mu  sync.Mutex
	ids []string
}

func (w *world) producer() *producer {
	ctx, cancel := context.WithCancel(context.Background())
	p := &producer{cancel: cancel}
	w.t.Cleanup(p.stop)
	p.over.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			id, err := w.sender.Send(ctx, topic, i, eventbus.WithID(fmt.Sprintf("p%d", i)))
			if err == nil {
				p.mu.Lock()
				p.ids = append(p.ids, id)
				p.mu.Unlock()
			}
			_ = busy(ctx, 2*time.Millisecond)
		}
	})
	return p
}

func (p *producer) stop() {
	p.cancel()
	p.over.Wait()
}

func (p *producer) acknowledged() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.ids...)
}

// await waits until n more sends were acknowledged.
func (p *producer) await(t *testing.T, n int) {
	t.Helper()
	before := len(p.acknowledged())
	require.Eventually(t, func() bool { return len(p.acknowledged()) >= before+n }, patience, tick, "sending does not go on")
}

// unblock ends a block with an error, as a demotion does.
func (w *world) unblock() {
	admin := w.server.Admin()
	require.Eventually(w.t, func() bool {
		clients, err := admin.ClientList(context.Background()).Result()
		if err != nil {
			return false
		}
		for line := range strings.Lines(clients) {
			if !blocked(line) {
				continue
			}
			id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
			if n, err := admin.Do(context.Background(), "client", "unblock", id, "error").Int(); err == nil && n == 1 {
				return true
			}
		}
		return false
	}, patience, time.Millisecond, "nobody blocks")
}

// replicaAndBack makes the server the replica of another one, which has all its
// data by then, and its own master again.
func replicaAndBack(w *world) {
	ctx := context.Background()
	other := redistest.Start(w.t, redistest.Options{Extra: []string{"repl-diskless-sync-delay 0"}})
	w.config("repl-diskless-sync-delay", "0")
	follow := func(s, master *redistest.Server) {
		host, port, _ := strings.Cut(master.Addr(), ":")
		require.NoError(w.t, s.Admin().Do(ctx, "replicaof", host, port).Err())
	}
	synced := func(s *redistest.Server) func() bool {
		return func() bool {
			info, err := s.Admin().Info(ctx, "replication").Result()
			return err == nil && strings.Contains(info, "master_link_status:up")
		}
	}
	follow(other, w.server)
	require.Eventually(w.t, synced(other), patience, tick)
	// Until the replica has all that was acknowledged nothing more may be.
	require.NoError(w.t, w.server.Admin().Do(ctx, "client", "pause", 10_000, "write").Err())
	require.Eventually(w.t, func() bool { return offset(w.t, other) >= offset(w.t, w.server) }, patience, tick)
	require.NoError(w.t, other.Admin().Do(ctx, "replicaof", "no", "one").Err())
	follow(w.server, other)
	require.NoError(w.t, w.server.Admin().Do(ctx, "client", "unpause").Err())
	require.Eventually(w.t, synced(w.server), patience, tick)
	require.NoError(w.t, w.server.Admin().Do(ctx, "replicaof", "no", "one").Err())
}

// offset is how far a server has come in the stream of replication.
func offset(t *testing.T, s *redistest.Server) (n int64) {
	info, err := s.Admin().Info(context.Background(), "replication").Result()
	require.NoError(t, err)
	for line := range strings.Lines(info) {
		for _, field := range []string{"slave_repl_offset:", "master_repl_offset:"} {
			if text, ok := strings.CutPrefix(line, field); ok {
				_, err := fmt.Sscan(text, &n)
				require.NoError(t, err)
			}
		}
	}
	return n
}
