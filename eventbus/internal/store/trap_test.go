package store_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// trap does something to the n-th call that a store makes.
type trap struct {
	n      int64
	calls  atomic.Int64
	before func() error // an error keeps the call from Redis
	after  func() error // an error takes the place of the reply
}

// sprung tells that there was an n-th call.
func (t *trap) sprung() bool { return t.calls.Load() >= t.n }

func (t *trap) run(call func() error) error {
	mine := t.calls.Add(1) == t.n
	if mine && t.before != nil {
		if err := t.before(); err != nil {
			return err
		}
	}
	err := call()
	if mine && t.after != nil {
		return t.after()
	}
	return err
}

// DialHook, ProcessHook and ProcessPipelineHook make it a redis.Hook.
func (t *trap) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (t *trap) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := t.run(func() error { return next(ctx, cmd) })
		cmd.SetErr(err)
		return err
	}
}

func (t *trap) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return t.run(func() error { return next(ctx, cmds) })
	}
}

// trapped is another store of the bed's namespace, with a trap in it.
func (b *bed) trapped(t *trap) *store.Store {
	b.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: b.rdb.Options().Addr, MaxRetries: -1})
	b.Cleanup(func() { require.NoError(b, rdb.Close()) })
	require.NoError(b, rdb.Ping(b.Context()).Err()) // so that no greeting is counted
	rdb.AddHook(t)
	// A client of a type of ours is used as it is, with its hook.
	s, err := store.Open(struct{ redis.UniversalClient }{rdb}, b.ns)
	require.NoError(b, err)
	return s
}

// errCut is what a connection says that was cut.
var errCut = fmt.Errorf("cut on purpose: %w", io.ErrUnexpectedEOF)

// cutAt is a store whose n-th call fails: it does not reach Redis, or its reply
// is lost.
func (b *bed) cutAt(n int, replyLost bool) (*store.Store, *trap) {
	b.Helper()
	t := &trap{n: int64(n)}
	cut := func() error { return errCut }
	if replyLost {
		t.after = cut
	} else {
		t.before = cut
	}
	return b.trapped(t), t
}

// stalled runs act on a store whose n-th call comes late: only after meanwhile.
// Without an n-th call meanwhile is not called, and ok is false.
func (b *bed) stalled(n int, act func(s *store.Store) error, meanwhile func()) (err error, ok bool) {
	b.Helper()
	reached, resume, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	s := b.trapped(&trap{n: int64(n), before: func() error {
		close(reached)
		<-resume
		return nil
	}})
	go func() { ended <- act(s) }()
	select {
	case err := <-ended:
		return err, false
	case <-reached:
	}
	func() {
		defer close(resume)
		meanwhile()
	}()
	return <-ended, true
}
