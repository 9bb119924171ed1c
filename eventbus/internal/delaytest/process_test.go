package delaytest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

const (
	workerChild = "worker"
	senderChild = "sender"
)

func childBus(cfg eventbus.Config) (*eventbus.Bus, *redis.Client) {
	cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("ADDR")})
	bus, err := eventbus.New(rdb, cfg)
	fatal(err)
	return bus, rdb
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// work is a process that handles events until SIGTERM, and says "ready", and of each
// event "ran ID LATENESS" before it ends; now and then "heap BYTES".
func work() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var n atomic.Int64
	bus, rdb := childBus(eventbus.Config{Lease: time.Second, Concurrency: 16, OnReady: func() { fmt.Println("ready") }})
	bus.Handle(topic, handler, eventbus.HandleFunc(func(_ context.Context, e *eventbus.Event) error {
		payload, _, _ := strings.Cut(string(e.Payload), ".") // of those that are padded
		fmt.Printf("ran %s %d\n", e.ID, lateness([]byte(payload), time.Now()))
		if n.Add(1)%1000 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			fmt.Println("heap", m.HeapAlloc)
		}
		return nil
	}))
	fatal(bus.Run(ctx))
	fatal(bus.Close())
	fatal(rdb.Close())
}

// sendUntilKilled is a process that sends one delayed event after another, and says
// "sent ID" of each once it is acknowledged.
func sendUntilKilled() {
	bus, _ := childBus(eventbus.Config{})
	fmt.Println("ready")
	for i := 0; ; i++ {
		delay := time.Duration(500+i%500) * time.Millisecond
		due := json.RawMessage(strconv.FormatInt(time.Now().Add(delay).UnixMicro(), 10))
		id, err := bus.Send(context.Background(), topic, due, eventbus.WithDelay(delay), eventbus.WithID(fmt.Sprintf("%d-%d", os.Getpid(), i)))
		fatal(err)
		fmt.Println("sent", id)
	}
}

// process is a child whose runs go into the world's ledger.
type process struct {
	*redistest.Process
	ready chan struct{}
	read  sync.WaitGroup

	mu   sync.Mutex
	sent []string
	heap int // the most
}

func (w *world) start(child string) *process {
	w.t.Helper()
	p := &process{Process: redistest.RunSelf(w.t, child, "ADDR="+w.server.Addr()), ready: make(chan struct{})}
	p.read.Go(func() {
		for line := range p.Lines() {
			w.take(p, strings.Fields(line))
		}
	})
	return p
}

func (w *world) take(p *process, words []string) {
	switch {
	case words[0] == "ready":
		close(p.ready)
	case words[0] == "ran" && len(words) == 3:
		late, err := strconv.ParseInt(words[2], 10, 64)
		if err == nil {
			w.note(words[1], time.Duration(late))
		}
	case words[0] == "sent" && len(words) == 2:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.sent = append(p.sent, words[1])
	case words[0] == "heap" && len(words) == 2:
		p.mu.Lock()
		defer p.mu.Unlock()
		n, _ := strconv.Atoi(words[1])
		p.heap = max(p.heap, n)
	}
}

func (p *process) awaitReady(t *testing.T) {
	t.Helper()
	select {
	case <-p.ready:
	case <-p.Done():
		require.Fail(t, "the process ended before it was ready", p.Stderr())
	case <-time.After(patience):
		require.Fail(t, "the process does not become ready", p.Stderr())
	}
}

// kill kills the process and returns when all that it said was read.
func (p *process) kill() {
	p.Kill()
	p.read.Wait()
}

// terminate asks the process to stop and demands that it does so in good order.
func (p *process) terminate(t *testing.T) {
	t.Helper()
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.Done():
		require.NoError(t, p.Wait(), p.Stderr())
	case <-time.After(patience):
		require.Fail(t, "the process does not stop", p.Stderr())
	}
	p.read.Wait()
}
