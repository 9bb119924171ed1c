package port

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Stopping closes who is silent or idle at once, and waits for calls.
func TestServer_Shutdown(t *testing.T) {
	t.Parallel()
	b := setup(t, brief(func(*Limits) {}))
	mute, idler, slow := dial(t, b.addr), dial(t, b.addr), dial(t, b.addr)
	require.NoError(t, adminOver(kinds()[0].over(idler)).Ping(t.Context()))
	_, err := slow.Write([]byte{0x80})
	require.NoError(t, err)
	answered := make(chan error, 1)
	go func() {
		_, err := adminOver(kinds()[1].over(dial(t, b.addr))).GetTopic(context.Background(), "block")
		answered <- err
	}()
	<-b.admin.entered
	b.waitFor(t, map[state]int{silent: 1, idle: 1, reading: 1, calling: 1})

	stopped := make(chan error, 1)
	go func() { stopped <- b.server.Shutdown(context.Background()) }()
	closes(t, mute)
	closes(t, idler)
	closes(t, slow) // which had a second
	_, err = net.Dial("tcp", b.addr)
	require.Error(t, err)
	require.Equal(t, 1, b.count(calling))
	close(b.admin.release)
	require.NoError(t, <-answered)
	require.NoError(t, <-stopped)
	require.NoError(t, b.server.Shutdown(context.Background()))
	require.NoError(t, b.server.Serve(listen(t)))
}

// When the time is up the calls' contexts end, and their connections.
func TestServer_ShutdownForced(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	answered := make(chan error, 1)
	go func() {
		_, err := adminOver(kinds()[1].over(dial(t, b.addr))).GetTopic(context.Background(), "block")
		answered <- err
	}()
	<-b.admin.entered
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, b.server.Shutdown(ctx), context.DeadlineExceeded)
	require.True(t, b.admin.cut.Load())
	require.Error(t, <-answered)
}

// A call goes on when its client goes away.
func TestServer_ClientGoesAway(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c := dial(t, b.addr)
	gone := make(chan error, 1)
	go func() {
		_, err := adminOver(kinds()[0].over(c)).GetTopic(context.Background(), "block")
		gone <- err
	}()
	<-b.admin.entered
	require.NoError(t, c.Close())
	require.Error(t, <-gone)
	// The generated code looks every 5 ms whether it should go on.
	require.Never(t, b.admin.cut.Load, 100*time.Millisecond, 5*time.Millisecond, "the call was ended with its connection")
	require.Equal(t, 1, b.count(calling))
	close(b.admin.release)
	b.waitFor(t, map[state]int{calling: 0})
	require.False(t, b.admin.cut.Load())
}
