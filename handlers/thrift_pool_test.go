package handlers

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

func (h *Thrift) kept() []*thriftConn {
	h.pool.mu.Lock()
	defer h.pool.mu.Unlock()
	return append([]*thriftConn(nil), h.pool.idle...)
}

// A server that was restarted between two events costs no attempt.
func TestThrift_ServerRestarts(t *testing.T) {
	t.Parallel()
	for name, cfg := range spoken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			called := make(chan struct{}, 3)
			release := make(chan struct{})
			server := serveThrift(t, cfg, func(ctx context.Context, event *thriftbus.Event) (*thriftbus.HandleResult_, error) {
				if event.ID == "wait" {
					called <- struct{}{}
					<-release
				}
				return done(ctx, event)
			})
			h := openThrift(t, server.address, cfg)
			var calls sync.WaitGroup
			for range 3 {
				calls.Go(func() {
					if err := h.Handle(t.Context(), newEvent("wait", "1")); err != nil {
						t.Error(err)
					}
				})
			}
			for range 3 {
				<-called
			}
			close(release)
			calls.Wait()
			kept := h.kept()
			require.Len(t, kept, 3)
			server.stop()
			require.Eventually(t, func() bool { return !kept[0].quiet() && !kept[1].quiet() && !kept[2].quiet() }, patience, time.Millisecond)
			server.start()
			require.NoError(t, h.Handle(t.Context(), newEvent("2", "2")))
			require.Len(t, h.kept(), 1, "those that the server closed are gone")
		})
	}
}

// The connection that was used last is used first, so that the others' time runs
// out when there is less to do.
func TestThrift_NewestFirst(t *testing.T) {
	t.Parallel()
	called, release := make(chan struct{}, 1), make(chan struct{})
	server := serveThrift(t, ThriftConfig{}, func(ctx context.Context, event *thriftbus.Event) (*thriftbus.HandleResult_, error) {
		if event.ID == "wait" {
			called <- struct{}{}
			<-release
		}
		return done(ctx, event)
	})
	h := openThrift(t, server.address, ThriftConfig{})
	waited := make(chan error, 1)
	go func() { waited <- h.Handle(t.Context(), newEvent("wait", "1")) }()
	<-called
	require.NoError(t, h.Handle(t.Context(), newEvent("1", "1")))
	close(release)
	require.NoError(t, <-waited)
	kept := h.kept()
	require.Len(t, kept, 2)
	for range 5 {
		require.NoError(t, h.Handle(t.Context(), newEvent("1", "1")))
		require.Equal(t, kept, h.kept())
	}
	require.EqualValues(t, 6, kept[1].seq, "all five")
	require.EqualValues(t, 1, kept[0].seq)
}

func TestThrift_IdleTimeout(t *testing.T) {
	t.Parallel()
	server := serveThrift(t, ThriftConfig{}, done)
	h := openThrift(t, server.address, ThriftConfig{IdleTimeout: 50 * time.Millisecond})
	for range 2 {
		require.NoError(t, h.Handle(t.Context(), newEvent("1", "1")))
		require.Eventually(t, func() bool { return server.open() == 0 }, patience, time.Millisecond)
		require.Empty(t, h.kept())
	}
	accepted, _ := server.counts()
	require.Equal(t, 2, accepted)
}

// Many calls at once: never more connections than calls, and no more are kept
// than were asked for.
func TestThrift_Concurrency(t *testing.T) {
	t.Parallel()
	const workers, calls, maxIdle = 64, 50, 8
	var running, most atomic.Int32
	server := serveThrift(t, ThriftConfig{}, func(_ context.Context, event *thriftbus.Event) (*thriftbus.HandleResult_, error) {
		return &thriftbus.HandleResult_{Outcome: thriftbus.Outcome_RETRY, Message: &event.ID}, nil
	})
	h := openThrift(t, server.address, ThriftConfig{MaxIdle: workers})
	few := openThrift(t, server.address, ThriftConfig{MaxIdle: maxIdle})
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			for j := range calls {
				id := strings.Repeat("x", i+1) + strings.Repeat("y", j)
				now := running.Add(1)
				for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
				}
				err := h.Handle(t.Context(), newEvent(id, "1"))
				running.Add(-1)
				if want := `handler "h" at ` + server.address + " answered RETRY: " + id; err.Error() != want {
					t.Errorf("%v, want %v", err, want)
				}
			}
		})
	}
	all.Wait()
	accepted, open := server.counts()
	require.LessOrEqual(t, accepted, int(most.Load()), "a call takes a kept connection where there is one")
	require.LessOrEqual(t, open, int(most.Load()))

	for range workers {
		all.Go(func() {
			for range 3 {
				_ = few.Handle(t.Context(), newEvent("1", "1"))
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, len(few.kept()), maxIdle)
	require.NoError(t, few.Close())
	require.NoError(t, h.Close())
	require.Eventually(t, func() bool { return server.open() == 0 }, patience, time.Millisecond)
}

// A server that says nothing: the call ends with its context, and takes its
// connection with it.
func TestThrift_Silent(t *testing.T) {
	t.Parallel()
	for name, cfg := range spoken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			closed := make(chan struct{}, 2)
			address := answering(t, func(conn net.Conn) {
				_, _ = io.Copy(io.Discard, conn)
				closed <- struct{}{}
			})
			h := openThrift(t, address, cfg)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			err := h.Handle(ctx, newEvent("1", "1"))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "call handler at "+address+": read the answer: context deadline exceeded; there was none in the handler's time. If there never is one: this side speaks ")
			<-closed
			require.Empty(t, h.kept())

			stopped := context.CancelCauseFunc(nil)
			ctx, stopped = context.WithCancelCause(t.Context())
			time.AfterFunc(20*time.Millisecond, func() { stopped(io.ErrNoProgress) })
			err = h.Handle(ctx, newEvent("1", "1"))
			require.ErrorIs(t, err, io.ErrNoProgress, "the cause of the end")
			<-closed
		})
	}
}

// A server that takes nothing: the call ends while it writes.
func TestThrift_TakesNothing(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	address := answering(t, func(net.Conn) { <-release })
	t.Cleanup(func() { close(release) }) // before the server stops
	h := openThrift(t, address, ThriftConfig{})
	event := newEvent("1", "")
	event.Payload = make([]byte, 15<<20)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := h.Handle(ctx, event)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "send the event: context deadline exceeded; the server did not take it in the handler's time")
}

// An answer that comes after its call has ended is nobody's.
func TestThrift_LateAnswer(t *testing.T) {
	t.Parallel()
	called := make(chan struct{}, 1)
	late := make(chan struct{})
	server := serveThrift(t, ThriftConfig{}, func(_ context.Context, event *thriftbus.Event) (*thriftbus.HandleResult_, error) {
		if event.ID == "slow" {
			called <- struct{}{}
			<-late
		}
		return &thriftbus.HandleResult_{Outcome: thriftbus.Outcome_RETRY, Message: &event.ID}, nil
	})
	h := openThrift(t, server.address, ThriftConfig{})
	require.ErrorContains(t, h.Handle(t.Context(), newEvent("1", "1")), "RETRY: 1")
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() { failed <- h.Handle(ctx, newEvent("slow", "1")) }()
	<-called
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	close(late)
	require.ErrorContains(t, h.Handle(t.Context(), newEvent("next", "1")), "RETRY: next")
	accepted, _ := server.counts()
	require.Equal(t, 2, accepted)
}

// Where the answer and the end of the context come together, the answer counts,
// and the connection does not go back.
func TestThrift_AnswerAndEndTogether(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := serveThrift(t, ThriftConfig{}, done)
	h := openThrift(t, server.address, ThriftConfig{})
	conn, err := h.dial(t.Context())
	require.NoError(t, err)
	conn.in = endedIn{conn.in, cancel}
	answer := conn.call(ctx, &thriftbus.Event{})
	require.NoError(t, answer.err)
	require.False(t, answer.reusable)
	conn.abort()
}

// endedIn ends a context when an answer has been read.
type endedIn struct {
	thrift.TProtocol
	end func()
}

func (p endedIn) ReadMessageEnd(ctx context.Context) error {
	p.end()
	return p.TProtocol.ReadMessageEnd(ctx)
}

// A connection that turns out to be closed while the event is written is replaced:
// nobody can have handled half an event.
func TestThrift_ClosedWhileWriting(t *testing.T) {
	t.Parallel()
	server := serveThrift(t, ThriftConfig{}, done)
	h := openThrift(t, server.address, ThriftConfig{})
	require.NoError(t, h.Handle(t.Context(), newEvent("1", "1")))
	kept := h.kept()[0]
	kept.socket.out.Reset(brokenPipe{})
	require.NoError(t, h.Handle(t.Context(), newEvent("2", "1")))
	require.NotContains(t, h.kept(), kept)

	// One that is new and fails the same way is not.
	conn, err := h.dial(t.Context())
	require.NoError(t, err)
	conn.socket.out.Reset(brokenPipe{})
	answer := conn.call(t.Context(), &thriftbus.Event{})
	require.True(t, answer.unsent)
	require.ErrorIs(t, answer.err, io.ErrClosedPipe)
	conn.abort()
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
