package faults_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

const workerChild = "worker"

// work is the main function of a worker process: it runs a bus until SIGTERM and
// writes to stdout "ready", and "begin ID" and "end ID" around each run.
func work() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var out sync.Mutex
	say := func(format string, args ...any) {
		out.Lock()
		defer out.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("ADDR"), ClientName: clientName(os.Getpid())})
	bus, err := eventbus.New(rdb, eventbus.Config{
		Lease: duration("LEASE"), Concurrency: 16, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		OnReady: func() { say("ready") },
	})
	fatal(err)
	bus.Handle(topic, handler, eventbus.HandleFunc(func(ctx context.Context, e *eventbus.Event) error {
		say("begin %s", e.ID)
		if err := busy(ctx, duration("WORK")); err != nil {
			return err
		}
		say("end %s", e.ID)
		return nil
	}))
	fatal(bus.Run(ctx))
	fatal(bus.Close())
	fatal(rdb.Close())
}

func clientName(pid int) string { return "worker-" + strconv.Itoa(pid) }

func duration(name string) time.Duration {
	d, err := time.ParseDuration(os.Getenv(name))
	fatal(err)
	return d
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// worker is a worker process. What it begins and ends goes into the world's
// ledger.
type worker struct {
	*redistest.Process
	ready chan struct{}
}

// begin is one begin of a run.
type begin struct {
	worker *worker
	id     string
}

// worker starts a worker process. What it begins goes to begins, which must have
// room, unless it is nil.
func (w *world) worker(lease, work time.Duration, begins chan<- begin) *worker {
	w.t.Helper()
	p := &worker{
		Process: redistest.RunSelf(w.t, workerChild, "ADDR="+w.server.Addr(), "LEASE="+lease.String(), "WORK="+work.String()),
		ready:   make(chan struct{}),
	}
	go func() {
		for line := range p.Lines() {
			word, id, _ := strings.Cut(line, " ")
			switch word {
			case "ready":
				close(p.ready)
			case "begin":
				w.ledger.begin(id)
				if begins != nil {
					begins <- begin{worker: p, id: id}
				}
			case "end":
				w.ledger.end(id)
			}
		}
	}()
	return p
}

func (p *worker) awaitReady(t *testing.T) {
	t.Helper()
	select {
	case <-p.ready:
	case <-p.Done():
		require.Fail(t, "the worker ended before it was ready", p.Stderr())
	case <-time.After(patience):
		require.Fail(t, "the worker does not become ready", p.Stderr())
	}
}

// terminate asks the worker to stop and demands that it does so in good order.
func (p *worker) terminate(t *testing.T) {
	t.Helper()
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.Done():
		require.NoError(t, p.Wait(), p.Stderr())
	case <-time.After(patience):
		require.Fail(t, "the worker does not stop", p.Stderr())
	}
}

// killed kills the worker and returns how many entries it held then.
func (w *world) killed(p *worker) (held int64) {
	w.t.Helper()
	consumers, err := w.sender.Consumers(context.Background())
	require.NoError(w.t, err)
	p.Kill()
	// What the process had written to its sockets may still be executed; the
	// server closes a connection after that.
	require.Eventually(w.t, func() bool {
		clients, err := w.server.Admin().ClientList(context.Background()).Result()
		return err == nil && !strings.Contains(clients, "name="+clientName(p.Pid())+" ")
	}, patience, time.Millisecond)
	for _, c := range consumers {
		if c.PID != p.Pid() {
			continue
		}
		n, err := w.server.Admin().HLen(context.Background(), "eventbus:{"+topic+"}:inflight:default:"+c.ID).Result()
		require.NoError(w.t, err)
		held += n
	}
	return held
}
