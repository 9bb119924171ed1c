package faults_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

const (
	redWithin     = 10 * time.Second
	recoverWithin = 60 * time.Second
)

// A peer that goes silent while connections stay up: health is red within ten
// seconds, and within a minute after healing events are handled again and health
// is green. Nothing is lost or runs twice, for no process has died.
func TestSilentPeerTurnsHealthRed(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]struct {
		on, off func(*redistest.Server, *redistest.Proxy)
	}{
		"silent network": {
			on:  func(s *redistest.Server, p *redistest.Proxy) { p.Blackhole(true) },
			off: func(s *redistest.Server, p *redistest.Proxy) { p.Blackhole(false) },
		},
		"halted server": {
			on:  func(s *redistest.Server, p *redistest.Proxy) { s.Pause() },
			off: func(s *redistest.Server, p *redistest.Proxy) { s.Resume() },
		},
		"cut after silence": {
			on:  func(s *redistest.Server, p *redistest.Proxy) { p.Blackhole(true) },
			off: func(s *redistest.Server, p *redistest.Proxy) { p.CutAll(); p.Blackhole(false) },
		},
	} {
		for load, work := range map[string]time.Duration{"idle": 0, "busy": 20 * time.Millisecond} {
			t.Run(name+" while "+load, func(t *testing.T) {
				t.Parallel()
				w := setup(t, redistest.Options{})
				proxy := redistest.NewProxy(t, w.server.Addr())
				log := newJournal()
				c := w.consume(proxy.Addr(), eventbus.Config{Concurrency: 8, Logger: log.logger()}, w.ledger.handle(work))
				ids := w.send(400)
				if load == "idle" {
					w.ledger.awaitAll(t, ids, patience)
					w.awaitEmpty(patience)
				} else {
					require.Eventually(t, func() bool { return w.ledger.done() > 50 }, patience, tick)
				}
				require.NoError(t, c.Health(t.Context()))

				fault.on(w.server, proxy)
				silent := time.Now()
				require.Eventually(t, func() bool { return c.Health(context.Background()) != nil }, redWithin, tick, "health stays green")
				require.ErrorIs(t, c.Health(t.Context()), eventbus.ErrUnavailable)
				red := time.Since(silent)

				fault.off(w.server, proxy)
				healed := time.Now()
				ids = append(ids, w.send(20)...)
				w.ledger.awaitAll(t, ids, recoverWithin)
				handled := time.Since(healed)
				require.Eventually(t, func() bool { return c.Health(context.Background()) == nil }, recoverWithin-handled, tick, "health stays red")
				t.Logf("red after %v, handled again after %v, green after %v", red, handled, time.Since(healed))
				w.awaitEmpty(recoverWithin)
				w.requireNothingHeld()
				w.ledger.requireOnce(t, ids)
				lines := log.lines(slog.LevelWarn)
				require.LessOrEqual(t, len(lines), mostLines, strings.Join(lines, "\n"))
				c.stop(patience)
			})
		}
	}
}

// Sends without a deadline, to a server that accepts connections and does not
// answer: each ends with an error in the time of two calls, however many wait. The
// first sends of a bus wait for one check together, later ones for one another.
func TestSendsToASilentServerEnd(t *testing.T) {
	t.Parallel()
	const (
		many  = 1200 // more than share two calls
		calls = 10 * time.Second
		slack = 5 * time.Second
	)
	for name, first := range map[string]bool{"the first": true, "later": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, redistest.Options{})
			proxy := redistest.NewProxy(t, w.server.Addr())
			bus := w.bus(proxy.Addr(), eventbus.Config{})
			if !first {
				_, err := bus.Send(t.Context(), topic, 0)
				require.NoError(t, err)
			}
			proxy.DropReplies(true)
			began := time.Now()
			failed := make(chan error, many)
			for i := range many {
				go func() {
					_, err := bus.Send(context.Background(), topic, i)
					failed <- err
				}()
			}
			for range many {
				select {
				case err := <-failed:
					require.ErrorIs(t, err, eventbus.ErrUnavailable)
				case <-time.After(patience):
					require.Fail(t, "a send hangs")
				}
			}
			require.Less(t, time.Since(began), calls+slack)
			proxy.DropReplies(false)
			proxy.CutAll()
			require.Eventually(t, func() bool {
				_, err := bus.Send(t.Context(), topic, 0)
				return err == nil
			}, recoverWithin, tick)
		})
	}
}

// Close ends a Run that waits for a server's first answer, as the end of its context
// does.
func TestCloseEndsARunThatCannotBegin(t *testing.T) {
	t.Parallel()
	w := setup(t, redistest.Options{})
	proxy := redistest.NewProxy(t, w.server.Addr())
	proxy.DropReplies(true)
	bus := w.bus(proxy.Addr(), eventbus.Config{StopTimeout: time.Second})
	bus.Handle(topic, handler, w.ledger.handle(0))
	result := make(chan error, 1)
	go func() { result <- bus.Run(context.Background()) }()
	require.Eventually(t, func() bool { // Run has begun
		return errors.Is(bus.TryHandle(topic, "late", w.ledger.handle(0)), eventbus.ErrRunning)
	}, patience, tick)
	began := time.Now()
	require.NoError(t, bus.Close())
	require.Less(t, time.Since(began), 3*time.Second)
	select {
	case err := <-result:
		require.NoError(t, err)
	case <-time.After(patience):
		require.Fail(t, "Run does not end")
	}
}
