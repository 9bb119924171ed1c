package failuretest_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

const (
	killerChild  = "killer"
	hoarderChild = "hoarder"
)

// childBus is the bus of a child process on the server at ADDR.
func childBus(cfg eventbus.Config) *eventbus.Bus {
	cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	bus, err := eventbus.New(redis.NewClient(&redis.Options{Addr: os.Getenv("ADDR")}), cfg)
	fatal(err)
	return bus
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runKiller is a process whose handler ends it for some events, and says
// "handled ID" for the others.
func runKiller() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	bus := childBus(eventbus.Config{Lease: eventbus.MinLease, Concurrency: 16})
	bus.Handle(topic, handler, eventbus.HandleFunc(func(_ context.Context, e *eventbus.Event) error {
		if string(e.Payload) == `"kill"` {
			fmt.Println("killed by", e.ID)
			os.Exit(9)
		}
		fmt.Println("handled", e.ID)
		return nil
	}))
	fatal(bus.Run(ctx))
	fatal(bus.Close())
}

// A handler that ends its process each time brings its event into the dead set
// after five deliveries at most, and none of those that were in flight beside
// it, or queued behind it.
func TestEventThatKillsItsProcessDies(t *testing.T) {
	t.Parallel()
	for name, killers := range map[string][]int{"one": {50}, "first": {0}, "two beside each other": {40, 41}, "two apart": {10, 90}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			const neighbours = 100
			var messages []eventbus.Message
			var want, deadly []string
			for i := range neighbours {
				for k, at := range killers {
					if at == i {
						id := fmt.Sprint("killer", k)
						deadly = append(deadly, id)
						messages = append(messages, eventbus.Message{ID: id, Value: "kill"})
					}
				}
				id := fmt.Sprint("e", i)
				want = append(want, id)
				messages = append(messages, eventbus.Message{ID: id, Value: i})
			}
			_, err := w.bus.SendBatch(t.Context(), topic, messages)
			require.NoError(t, err)

			handled := map[string]bool{}
			deaths := map[string]int{}
			for settled := false; !settled; {
				p := redistest.RunSelf(t, killerChild, "ADDR="+w.server.Addr())
				w.eventually("the child to die, or all to be done", func() bool {
					select {
					case <-p.Done():
						return true
					default:
						s := w.stats(topic)
						settled = s.Done+s.Died == int64(len(messages))
						return settled
					}
				})
				if settled {
					p.Signal(syscall.SIGTERM)
					require.NoError(t, p.Wait(), p.Stderr())
				}
				for line := range p.Lines() {
					if id, ok := strings.CutPrefix(line, "handled "); ok {
						handled[id] = true
					}
					if id, ok := strings.CutPrefix(line, "killed by "); ok {
						deaths[id]++
					}
				}
				require.Less(t, len(deaths), len(killers)+1)
				for id, n := range deaths {
					require.LessOrEqual(t, n, 5, "%s has killed %d times", id, n)
				}
			}
			for _, id := range want {
				require.True(t, handled[id], "neighbour %s was not handled", id)
			}
			var dead []string
			for _, f := range w.failures(topic, eventbus.Dead) {
				require.Equal(t, eventbus.ReasonKilled, f.Reason, "%+v", f)
				require.NotEmpty(t, f.Error)
				dead = append(dead, f.EventID)
			}
			requireSame(t, deadly, dead)
			w.requireWholeFailures(topic)
			t.Logf("deaths: %v", deaths)
		})
	}
}

// runHoarder is a process that takes events and keeps them until it is killed.
func runHoarder() {
	bus := childBus(eventbus.Config{Lease: eventbus.MinLease})
	bus.Handle(topic, handler, eventbus.HandleFunc(func(ctx context.Context, e *eventbus.Event) error {
		fmt.Println("holds", e.ID)
		<-ctx.Done()
		return ctx.Err()
	}), eventbus.HandleConfig{Timeout: time.Hour})
	fatal(bus.Run(context.Background()))
}

// What a payload is it stays: through the queue, the hands of a process that is
// killed, a retry, the dead set and a replay.
func TestPayloadSurvivesADeathByteByByte(t *testing.T) {
	t.Parallel()
	w := setup(t)
	payloads := hostilePayloads()
	var messages []eventbus.Message
	byID := map[string][]byte{}
	for i, p := range payloads {
		id := fmt.Sprint("e", i)
		byID[id] = p
		messages = append(messages, eventbus.Message{ID: id, Value: eventbus.Raw{Payload: p}})
	}
	_, err := w.bus.SendBatch(t.Context(), topic, messages)
	require.NoError(t, err)
	hoarder := redistest.RunSelf(t, hoarderChild, "ADDR="+w.server.Addr())
	for range payloads {
		select {
		case <-hoarder.Lines():
		case <-time.After(patience):
			require.Fail(t, "the events are not taken", hoarder.Stderr())
		}
	}
	hoarder.Kill()

	ran := newLedger()
	c := w.consumer(eventbus.Config{Lease: eventbus.MinLease})
	broken := make(chan string, 10*len(payloads))
	c.Handle(topic, handler, eventbus.HandleFunc(func(_ context.Context, e *eventbus.Event) error {
		if !bytes.Equal(byID[e.ID], e.Payload) {
			broken <- fmt.Sprintf("%s, attempt %d, delivery %d: sent %.100q, got %.100q", e.ID, e.Attempt, e.Deliveries, byID[e.ID], e.Payload)
		}
		switch ran.note(e.ID) {
		case 1:
			if e.Deliveries != 1 {
				broken <- fmt.Sprintf("%s was delivered %d times before", e.ID, e.Deliveries)
			}
			return eventbus.RetryAfter(0, errOnPurpose)
		case 2:
			return eventbus.Reject(errOnPurpose)
		}
		return nil
	}))
	c.start()
	w.eventually("all to be dead", func() bool { return w.stats(topic).Dead == int64(len(payloads)) })
	for _, f := range w.failures(topic, eventbus.Dead) {
		got, err := w.bus.Failures().Get(t.Context(), topic, f.ID)
		require.NoError(t, err)
		require.True(t, bytes.Equal(byID[f.EventID], got.Event.Payload), "%s: sent %.100q, kept %.100q", f.EventID, byID[f.EventID], got.Event.Payload)
	}
	n, err := w.bus.Failures().Replay(t.Context(), topic, eventbus.FailureFilter{All: true})
	require.NoError(t, err)
	require.EqualValues(t, len(payloads), n)
	w.idle(topic)
	require.Empty(t, broken, "%s", func() string {
		if len(broken) > 0 {
			return <-broken
		}
		return ""
	}())
	require.Equal(t, 3*len(payloads), ran.total())
}
