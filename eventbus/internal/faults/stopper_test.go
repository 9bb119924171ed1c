package faults_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

const (
	stopperChild = "stopper"
	stopperGrace = time.Second
)

// stopWithoutRedis is the main function of a process that is asked to stop while
// it cannot reach Redis. It writes "begin" when its handler runs, and after the
// stop "stopped" with the milliseconds that it took; then it looks for
// goroutines that are left.
func stopWithoutRedis() {
	ctx, restore := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("ADDR")})
	bus, err := eventbus.New(rdb, eventbus.Config{
		StopTimeout: stopperGrace, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		OnReady: func() { fmt.Println("ready") },
	})
	fatal(err)
	bus.Handle(topic, handler, eventbus.HandleFunc(func(ctx context.Context, e *eventbus.Event) error {
		fmt.Println("begin", e.ID)
		<-ctx.Done()
		return ctx.Err()
	}), eventbus.HandleConfig{Timeout: time.Hour})
	asked := make(chan time.Time, 1)
	context.AfterFunc(ctx, func() { asked <- time.Now() })
	fatal(bus.Run(ctx))
	fmt.Println("stopped", time.Since(<-asked).Milliseconds())
	restore()
	fatal(bus.Close())
	fatal(rdb.Close())
	fatal(goleak.Find())
}

// A process that is asked to stop while Redis cannot be reached ends within its
// grace and two seconds, and leaves no goroutine behind. What it held runs
// elsewhere once Redis is back.
func TestStopWithoutRedis(t *testing.T) {
	t.Parallel()
	const few = 2 * time.Second
	for name, fault := range map[string]struct {
		on, off func(*redistest.Server, *redistest.Proxy)
	}{
		"refused": {
			on:  func(s *redistest.Server, p *redistest.Proxy) { p.Refuse(true); p.CutAll() },
			off: func(s *redistest.Server, p *redistest.Proxy) { p.Refuse(false) },
		},
		"silent network": {
			on:  func(s *redistest.Server, p *redistest.Proxy) { p.Blackhole(true) },
			off: func(s *redistest.Server, p *redistest.Proxy) { p.Blackhole(false) },
		},
		"replies lost": {
			on:  func(s *redistest.Server, p *redistest.Proxy) { p.DropReplies(true) },
			off: func(s *redistest.Server, p *redistest.Proxy) { p.DropReplies(false) },
		},
		"halted server": {
			on:  func(s *redistest.Server, p *redistest.Proxy) { s.Pause() },
			off: func(s *redistest.Server, p *redistest.Proxy) { s.Resume() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, redistest.Options{})
			proxy := redistest.NewProxy(t, w.server.Addr())
			p := redistest.RunSelf(t, stopperChild, "ADDR="+proxy.Addr())
			awaitLine(t, p, "ready")
			ids := w.send(3)
			for range ids {
				awaitLine(t, p, "begin")
			}
			fault.on(w.server, proxy)
			p.Signal(syscall.SIGTERM)
			took, err := strconv.Atoi(strings.TrimPrefix(awaitLine(t, p, "stopped"), "stopped "))
			require.NoError(t, err)
			t.Logf("stopped after %d ms", took)
			require.Less(t, time.Duration(took)*time.Millisecond, stopperGrace+few, p.Stderr())
			require.NoError(t, p.Wait(), p.Stderr())
			fault.off(w.server, proxy)

			other := w.consume(w.server.Addr(), eventbus.Config{Lease: time.Second}, w.ledger.handle(0))
			w.ledger.awaitAll(t, ids, patience)
			w.awaitEmpty(patience)
			other.stop(patience)
			w.requireNothingHeld()
		})
	}
}

func awaitLine(t *testing.T, p *redistest.Process, word string) string {
	t.Helper()
	select {
	case line, ok := <-p.Lines():
		require.True(t, ok, "the child has ended: %s", p.Stderr())
		require.True(t, strings.HasPrefix(line, word), line)
		return line
	case <-time.After(patience):
		p.Dump()
		require.Fail(t, "the child says nothing", "%q was expected", word)
		return ""
	}
}
