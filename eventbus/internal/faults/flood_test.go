package faults_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

const (
	refusalLasts = 15 * time.Second
	mostPerSec   = 10
	mostLines    = 6
)

// A server that refuses for long, with events waiting, in flight, failing and
// due for a retry, so that every loop of the bus wants something of it: few
// commands a second reach it, few lines reach the log, health is red, and all goes
// on by itself once it serves again.
func TestRefusalMakesNoFlood(t *testing.T) {
	t.Parallel()
	for _, r := range []refusal{misconf(), readOnly(), wrongPassword(), noPassword(), noBlocking(), full(), outOfMemory(), loading()} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, r.options)
			log := newJournal()
			b := &burden{ledger: w.ledger, gate: make(chan struct{})}
			c := w.consume(w.server.Addr(), eventbus.Config{Concurrency: 8, Logger: log.logger()}, b)
			ids := w.send(16)
			require.Eventually(t, func() bool { return w.ledger.runs() == 8 }, patience, tick)
			m := watch(t, w.server)

			count := w.counter(r, m)
			r.on(t, w)
			before := count(t)
			close(b.gate)
			over := time.After(refusalLasts)
			if !r.works {
				require.Eventually(t, func() bool { return c.Health(context.Background()) != nil }, redWithin, tick, "health stays green")
			}
			<-over
			if !r.works {
				require.ErrorIs(t, c.Health(t.Context()), eventbus.ErrUnavailable)
			}
			sent := count(t) - before
			lines := log.lines(slog.LevelInfo)
			t.Logf("%d commands and %d lines in %v", sent, len(lines), refusalLasts)
			require.Less(t, sent, int64(refusalLasts.Seconds())*mostPerSec, "commands in %v", refusalLasts)
			require.LessOrEqual(t, len(lines), mostLines, "log lines:\n%s", strings.Join(lines, "\n"))

			r.off(t, w)
			require.Eventually(t, func() bool { return c.Health(context.Background()) == nil }, patience, tick, "health stays red")
			w.ledger.awaitAll(t, append(ids, w.send(5)...), patience)
			w.awaitEmpty(patience)
			require.LessOrEqual(t, len(log.lines(slog.LevelInfo)), mostLines+1, "log lines:\n%s", strings.Join(log.lines(slog.LevelInfo), "\n"))
			c.stop(patience)
			w.requireNothingHeld()
		})
	}
}

// burden is a handler that waits for its gate; then every other event fails at
// first, with a retry soon.
type burden struct {
	ledger *ledger
	gate   chan struct{}
	n      atomic.Int64
}

func (b *burden) Handle(ctx context.Context, e *eventbus.Event) error {
	b.ledger.begin(e.ID)
	select {
	case <-b.gate:
	case <-ctx.Done():
		return ctx.Err()
	}
	if e.Attempt == 1 && b.n.Add(1)%2 == 0 {
		return eventbus.RetryAfter(500*time.Millisecond, errPlain)
	}
	b.ledger.end(e.ID)
	return nil
}

// counter returns what counts the commands that clients have sent to the
// server, the refused ones included and those that scripts call left out.
func (w *world) counter(r refusal, m *monitor) func(*testing.T) int64 {
	if r.standIn != nil {
		return func(*testing.T) int64 { return r.standIn.asked.Load() }
	}
	return func(t *testing.T) int64 {
		inside := m.seen(t, func(c command) bool { return c.inside })
		return w.server.TotalCommands(t) - int64(len(inside))
	}
}

// standIn answers every command with the same error, in place of a server.
type standIn struct {
	refusal  string
	asked    atomic.Int64
	listener net.Listener
	over     sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

// loading puts a stand-in that loads its data for ever into the server's place.
func loading() refusal {
	s := &standIn{refusal: "-LOADING Redis is loading the dataset in memory\r\n"}
	return refusal{
		name:    "LOADING",
		options: redistest.Options{AppendOnly: true},
		standIn: s,
		on: func(t *testing.T, w *world) {
			w.server.Stop()
			s.start(t, w.server.Addr())
		},
		off: func(t *testing.T, w *world) {
			s.stop()
			w.server.Start()
		},
	}
}

func (s *standIn) start(t *testing.T, addr string) {
	var err error
	s.listener, err = net.Listen("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(s.stop)
	s.over.Go(func() {
		for {
			conn, err := s.listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()
			s.over.Go(func() { s.answer(conn) })
		}
	})
}

func (s *standIn) stop() {
	_ = s.listener.Close()
	s.mu.Lock()
	for _, conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.over.Wait()
}

func (s *standIn) answer(conn net.Conn) {
	in := bufio.NewReader(conn)
	for {
		if err := skipCommand(in); err != nil {
			return
		}
		s.asked.Add(1)
		if _, err := io.WriteString(conn, s.refusal); err != nil {
			return
		}
	}
}

var errNoCommand = errors.New("no command in the protocol of Redis")

// skipCommand reads one command: an array of bulk strings.
func skipCommand(in *bufio.Reader) error {
	n, err := readLength(in, '*')
	for i := 0; i < n && err == nil; i++ {
		var size int
		if size, err = readLength(in, '$'); err == nil {
			_, err = in.Discard(size + 2)
		}
	}
	return err
}

func readLength(in *bufio.Reader, kind byte) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("%w: %q", errNoCommand, line)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}
