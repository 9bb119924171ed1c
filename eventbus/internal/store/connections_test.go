package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/internal/redistest"
)

// A halt ends calls that wait for a server that does not answer, and makes later ones
// fail at once; afterwards all works again.
func TestHaltEndsCallsAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	s, err := store.Open(server.Client(t), "ns")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.Ping(t.Context()))
	b := s.NewBlocker()
	t.Cleanup(func() { _ = b.Close() })
	ended := make(chan error, 2)
	go func() {
		_, _, err := b.Pop([]string{"bell"}, time.Minute)
		ended <- err
	}()
	require.Eventually(t, func() bool { return strings.Contains(clients(server), "cmd=blpop") }, 10*time.Second, time.Millisecond)
	server.Pause()
	asked := make(chan struct{})
	go func() {
		close(asked)
		ended <- s.Ping(context.Background())
	}()
	<-asked

	resume := s.Halt()
	for range 2 {
		select {
		case err := <-ended:
			require.ErrorIs(t, err, errs.Unavailable)
		case <-time.After(2 * time.Second): // alone a call takes 5 seconds, and the block longer
			require.Fail(t, "a call goes on")
		}
	}
	require.ErrorIs(t, s.Ping(t.Context()), errs.Unavailable)
	server.Resume()
	require.ErrorIs(t, s.Ping(t.Context()), errs.Unavailable, "a halt lasts until it is over")
	resume()
	require.Eventually(t, func() bool { return s.Ping(context.Background()) == nil }, 10*time.Second, time.Millisecond)
}

// Clients of a Cluster append the nodes that they find to the addresses that they
// were given. What was given to several of them, the caller's and the store's, is
// not written to.
func TestClusterClientsDoNotShareTheirAddresses(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartClusterNodes(t, 3)
	spacious := make([]string, 1, 16)
	spacious[0] = nodes[0].Addr()
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: spacious})
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	s, err := store.Open(rdb, "ns")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	for i := range 20 { // on all nodes
		require.NoError(t, s.CreateTopic(t.Context(), &store.Topic{Name: fmt.Sprint("t", i)}))
	}
	require.Equal(t, make([]string, cap(spacious)-1), spacious[1:cap(spacious)])
}
