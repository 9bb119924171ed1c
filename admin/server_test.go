package admin_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
)

func TestLogSaysWhoChangedWhat(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	log := &lines{}
	address, _ := serve(t, s, admin.ServerConfig{Logger: slog.New(slog.NewTextHandler(log, nil))})
	c := client(t, admin.ClientConfig{Address: address})
	require.NoError(t, c.CreateTopic(t.Context(), topic, eventbus.TopicConfig{MaxWaiting: 5}))
	require.NoError(t, c.DisableTopic(t.Context(), topic))
	require.Error(t, c.EnableTopic(t.Context(), "none"))
	_, err := c.GetTopic(t.Context(), topic)
	require.NoError(t, err)
	got := strings.Split(strings.TrimSpace(log.String()), "\n")
	require.Len(t, got, 3, log.String()) // reading is not logged
	require.Contains(t, got[0], "call=createTopic by=127.0.0.1:")
	require.Contains(t, got[0], `\"max_waiting\":5`)
	require.Contains(t, got[1], "call=disableTopic")
	require.Contains(t, got[1], "topic=orders")
	require.Contains(t, got[2], "topic not found")
}

func TestStopDoesNotWaitForIdleClients(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	address, stop := serve(t, s, admin.ServerConfig{StopTimeout: time.Minute})
	c := client(t, admin.ClientConfig{Address: address})
	require.NoError(t, c.Ping(t.Context()))
	silent, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer silent.Close()
	began := time.Now()
	stop()
	require.Less(t, time.Since(began), 5*time.Second)
	err = c.Ping(t.Context())
	require.ErrorIs(t, err, eventbus.ErrUnavailable)
	require.ErrorContains(t, err, "admin service at "+address+": cannot be reached: ")

	// The client finds a server that is there again.
	again, _ := serve(t, s, admin.ServerConfig{Listen: address})
	require.Equal(t, address, again)
	require.NoError(t, c.Ping(t.Context()))
}

func TestServerServesOnce(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	server, err := admin.Listen(s, admin.ServerConfig{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	ended, end := context.WithCancel(t.Context())
	end()
	require.NoError(t, server.Serve(ended))
	require.ErrorIs(t, server.Serve(ended), net.ErrClosed)
	require.ErrorContains(t, server.Serve(t.Context()), "served before")

	closed, err := admin.Listen(s, admin.ServerConfig{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	require.ErrorIs(t, closed.Serve(t.Context()), net.ErrClosed)
}

func TestClientDoesNotHang(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, never answers
	require.NoError(t, err)
	defer silent.Close()
	c := client(t, admin.ClientConfig{Address: silent.Addr().String(), CallTimeout: 50 * time.Millisecond})
	err = c.Ping(t.Context())
	require.ErrorIs(t, err, eventbus.ErrUnavailable)
	require.ErrorIs(t, err, admin.ErrUnreachable)
	require.ErrorContains(t, err, "no answer within 50ms")

	c = client(t, admin.ClientConfig{Address: silent.Addr().String()})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, c.DeleteTopic(ctx, topic), context.DeadlineExceeded)
	require.NoError(t, c.Close())
	require.ErrorIs(t, c.Ping(t.Context()), eventbus.ErrClosed)
	_, err = admin.NewClient(admin.ClientConfig{Address: "nonsense"})
	require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
}
