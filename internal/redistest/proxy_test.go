package redistest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

type proxyBundle struct {
	server *Server
	proxy  *Proxy
	client *redis.Client // through the proxy
}

func setupProxy(t *testing.T) *proxyBundle {
	server := Start(t, Options{})
	proxy := NewProxy(t, server.Addr())
	client := impatient(t, proxy.Addr())
	require.NoError(t, client.Ping(t.Context()).Err())
	return &proxyBundle{server: server, proxy: proxy, client: client}
}

// raw returns a connection through the proxy that has exchanged a PING.
func (b *proxyBundle) raw(t *testing.T) net.Conn {
	conn, err := net.Dial("tcp", b.proxy.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	send(t, conn, "PING\r\n")
	receive(t, conn, "+PONG\r\n")
	return conn
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(conn, text)
	require.NoError(t, err)
}

func receive(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	got := make([]byte, len(want))
	_, err := io.ReadFull(conn, got)
	require.NoError(t, err)
	require.Equal(t, want, string(got))
}

func requireSilence(t *testing.T, conn net.Conn) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(200*time.Millisecond)))
	n, err := conn.Read(make([]byte, 1))
	require.Zero(t, n)
	requireTimeout(t, err)
}

func TestProxyPassesLargeDataUnchanged(t *testing.T) {
	t.Parallel()
	b := setupProxy(t)
	value := bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // 4 MiB, more than the queues hold
	client := closing(t, redis.NewClient(&redis.Options{Addr: b.proxy.Addr()}))
	require.NoError(t, client.Set(t.Context(), "k", value, 0).Err())
	got, err := client.Get(t.Context(), "k").Bytes()
	require.NoError(t, err)
	require.True(t, bytes.Equal(value, got))
}

func TestBlackholeHoldsAndThenDelivers(t *testing.T) {
	t.Parallel()
	b := setupProxy(t)
	conn := b.raw(t)
	b.proxy.Blackhole(true)
	b.proxy.Blackhole(true) // twice is as once
	send(t, conn, "SET k v\r\n")
	requireSilence(t, conn)
	require.ErrorIs(t, b.server.Admin().Get(t.Context(), "k").Err(), redis.Nil)
	b.proxy.Blackhole(false)
	b.proxy.Blackhole(false)
	receive(t, conn, "+OK\r\n")
}

func TestBlackholeSilencesNewConnections(t *testing.T) {
	t.Parallel()
	b := setupProxy(t)
	b.proxy.Blackhole(true)
	conn, err := net.Dial("tcp", b.proxy.Addr())
	require.NoError(t, err)
	defer conn.Close()
	send(t, conn, "PING\r\n")
	requireSilence(t, conn)
	b.proxy.Blackhole(false)
	receive(t, conn, "+PONG\r\n")
}

func TestBlackholeHidesThatTheClientIsGone(t *testing.T) {
	t.Parallel()
	b := setupProxy(t)
	conn := b.raw(t)
	b.proxy.Blackhole(true)
	send(t, conn, "SET late v\r\n")
	require.NoError(t, conn.Close())
	before := b.proxy.Connections()
	b.proxy.Blackhole(false)
	require.Eventually(t, func() bool {
		return b.server.Admin().Get(t.Context(), "late").Val() == "v"
	}, patience, time.Millisecond, "a request that was under way arrives after its sender has gone")
	require.Eventually(t, func() bool { return b.proxy.Connections() == before-1 }, patience, time.Millisecond)
}

func TestBlackholeHidesAnIdleClientsClose(t *testing.T) {
	t.Parallel()
	b := setupProxy(t)
	conn := b.raw(t)
	before := b.proxy.Connections()
	b.proxy.Blackhole(true)
	require.NoError(t, conn.Close())
	require.Never(t, func() bool { return b.proxy.Connections() < before }, 200*time.Millisecond, 5*time.Millisecond)
	b.proxy.Blackhole(false)
	require.Eventually(t, func() bool { return b.proxy.Connections() < before }, patience, time.Millisecond)
}

func TestCutAllClosesBothSides(t *testing.T) {
	t.Parallel()
	b := setupProxy(t)
	conn := b.raw(t)
	require.Equal(t, 2, b.proxy.Connections())
	b.proxy.CutAll()
	require.Zero(t, b.proxy.Connections())
	_, err := conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)
	require.Eventually(t, func() bool {
		list, err := b.server.Admin().ClientList(t.Context()).Result()
		return err == nil && bytes.Count([]byte(list), []byte("\n")) == 1
	}, patience, 5*time.Millisecond, "only Admin's connection is left on the server")
	require.NoError(t, b.client.Ping(t.Context()).Err(), "new connections pass")
}

func TestCutAllReachesHeldConnections(t *testing.T) {
	t.Parallel()
	b := setupProxy(t)
	b.proxy.Blackhole(true)
	before := b.proxy.Connections()
	conn, err := net.Dial("tcp", b.proxy.Addr())
	require.NoError(t, err)
	defer conn.Close()
	require.Eventually(t, func() bool { return b.proxy.Connections() == before+1 }, patience, time.Millisecond)
	b.proxy.CutAll()
	_, err = conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestRefuseTurnsNewConnectionsAway(t *testing.T) {
	t.Parallel()
	b := setupProxy(t)
	conn := b.raw(t)
	b.proxy.Refuse(true)
	b.proxy.Refuse(true)
	_, err := net.Dial("tcp", b.proxy.Addr())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	send(t, conn, "PING\r\n")
	receive(t, conn, "+PONG\r\n")
	b.proxy.Refuse(false)
	b.proxy.Refuse(false)
	b.raw(t)
}

func TestDropRepliesLetsRequestsThrough(t *testing.T) {
	t.Parallel()
	b := setupProxy(t)
	conn := b.raw(t)
	b.proxy.DropReplies(true)
	send(t, conn, "SET k v\r\n")
	requireSilence(t, conn)
	require.Equal(t, "v", b.server.Admin().Get(t.Context(), "k").Val())

	b.proxy.DropReplies(false)
	send(t, conn, "PING\r\n")
	requireSilence(t, conn)
	b.raw(t)
}

func TestDelaySlowsEachDirection(t *testing.T) {
	t.Parallel()
	b := setupProxy(t)
	conn := b.raw(t)
	const delay = 50 * time.Millisecond
	b.proxy.Delay(delay)
	start := time.Now()
	send(t, conn, "PING\r\n")
	receive(t, conn, "+PONG\r\n")
	require.GreaterOrEqual(t, time.Since(start), 2*delay)

	b.proxy.Delay(time.Hour)
	send(t, conn, "PING\r\n")
	requireSilence(t, conn)
	b.proxy.CutAll() // a link that waits ends at once
	require.Zero(t, b.proxy.Connections())
}

func TestServerClosingIsPassedOn(t *testing.T) {
	t.Parallel()
	b := setupProxy(t)
	conn := b.raw(t)
	b.server.Kill()
	_, err := conn.Read(make([]byte, 1))
	require.True(t, errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET), "%v", err)

	// Without a server a new connection is closed as soon as it is up.
	unserved, err := net.Dial("tcp", b.proxy.Addr())
	if err == nil {
		defer unserved.Close()
		_, err = unserved.Read(make([]byte, 1))
	}
	require.Error(t, err)
}
