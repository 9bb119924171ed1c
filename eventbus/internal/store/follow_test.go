package store_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/internal/redistest"
)

// choosing returns a store whose dialer finds the server by itself, as that of a
// client for Sentinel does.
func choosing(t *testing.T, dial func(ctx context.Context, network, address string) (net.Conn, error)) *store.Store {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: "whoever is the master", Dialer: dial})
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	s, err := store.Open(rdb, "ns")
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// switched is a dialer that goes to one of several servers.
type switched struct{ address atomic.Value } // string

func (d *switched) to(address string) { d.address.Store(address) }

func (d *switched) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, d.address.Load().(string))
}

// When the dialer goes to another server, nobody stays at the old one: no call, and
// no block, though both would go on there.
func TestConnectionsFollowTheDialer(t *testing.T) {
	t.Parallel()
	before, after := redistest.Start(t, redistest.Options{}), redistest.Start(t, redistest.Options{})
	var d switched
	d.to(before.Addr())
	s := choosing(t, d.dial)
	require.NoError(t, s.Ping(t.Context()))
	b := s.NewBlocker()
	t.Cleanup(func() { _ = b.Close() })
	blocked := make(chan error, 1)
	go func() {
		_, _, err := b.Pop([]string{"bell"}, time.Minute)
		blocked <- err
	}()
	require.Eventually(t, func() bool { return strings.Contains(clients(before), "cmd=blpop") }, 10*time.Second, time.Millisecond)

	d.to(after.Addr())
	select {
	case err := <-blocked:
		require.ErrorIs(t, err, errs.Unavailable)
	case <-time.After(10 * time.Second):
		require.Fail(t, "the block stays at the old server")
	}
	require.Eventually(t, func() bool { return clients(before) == "" }, 10*time.Second, time.Millisecond, "connections stay at the old server")
	require.NoError(t, s.Ping(t.Context()))
	require.Contains(t, clients(after), "cmd=ping")
}

// clients lists who is connected to a server, but for who asks.
func clients(s *redistest.Server) string {
	list, err := s.Admin().ClientList(context.Background()).Result()
	if err != nil {
		return err.Error()
	}
	var others []string
	for line := range strings.Lines(list) {
		if !strings.Contains(line, "cmd=client|list") {
			others = append(others, line)
		}
	}
	return strings.Join(others, "")
}

// A dial that began at the old server and ends after one to the new server does not
// lead back: it fails, and the connections to the new one stay.
func TestLateDialDoesNotLeadBack(t *testing.T) {
	t.Parallel()
	before, _ := redistest.Miniredis(t)
	after, _ := redistest.Miniredis(t)
	held, release := make(chan struct{}), make(chan struct{})
	var d switched
	var dials atomic.Int32
	var second noted
	d.to(before.Addr())
	s := choosing(t, func(ctx context.Context, network, address string) (net.Conn, error) {
		nth := dials.Add(1)
		conn, err := d.dial(ctx, network, address)
		switch nth {
		case 1:
			close(held)
			<-release
		case 2:
			second.Conn = conn
			return &second, err
		}
		return conn, err
	})
	late := make(chan error, 1)
	go func() { late <- s.Ping(context.Background()) }()
	<-held
	d.to(after.Addr())
	require.NoError(t, s.Ping(t.Context()))
	close(release)
	err := <-late
	if err != nil { // it may also have got the other one's connection
		require.ErrorIs(t, err, errs.Unavailable)
	}
	require.Eventually(t, func() bool { return before.CurrentConnectionCount() == 0 }, 10*time.Second, time.Millisecond)
	require.NoError(t, s.Ping(t.Context()))
	require.False(t, second.closed.Load(), "the connection to the new server was given up")
}

// noted notes that it was closed.
type noted struct {
	net.Conn
	closed atomic.Bool
}

func (n *noted) Close() error {
	n.closed.Store(true)
	return n.Conn.Close()
}

// A dialer that ignores its context costs a call no more than its deadline, and
// does not keep the store from closing.
func TestDialerThatHangsIsLeft(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server, _ := redistest.Miniredis(t)
	address := server.Addr()
	s := choosing(t, func(_ context.Context, network, _ string) (net.Conn, error) {
		<-release
		return net.Dial(network, address)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Ping(ctx), context.DeadlineExceeded)
	call := make(chan error, 1)
	go func() { call <- s.Ping(context.Background()) }()
	began := time.Now()
	require.NoError(t, s.Close())
	require.Less(t, time.Since(began), time.Second)
	require.ErrorIs(t, <-call, errs.Unavailable)
	require.Less(t, time.Since(began), 2*time.Second)
	close(release)
	require.Eventually(t, func() bool { return server.CurrentConnectionCount() == 0 }, 10*time.Second, time.Millisecond)
}
