package admin_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/certtest"
)

// stopped is a server that takes connections and never answers. asked gets one for
// each connection on which something was said; ended waits until all are closed.
func stopped(t *testing.T) (address string, asked <-chan struct{}, ended func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	said := make(chan struct{}, 1000)
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer conn.Close()
				if _, err := conn.Read(make([]byte, 1)); err == nil {
					said <- struct{}{}
				}
				_, _ = io.Copy(io.Discard, conn) // until the client closes
			})
		}
	})
	ended = func() {
		_ = listener.Close()
		conns.Wait()
	}
	return listener.Addr().String(), said, ended
}

// A call that waits for a server that has stopped holds up neither others for
// longer than they would wait, nor Close, which ends it.
func TestClientWaitsItsTurn(t *testing.T) {
	t.Parallel()
	address, asked, ended := stopped(t)
	c, err := admin.NewClient(admin.ClientConfig{Address: address, CallTimeout: 50 * time.Millisecond})
	require.NoError(t, err)
	deleted := make(chan error, 1)
	go func() { deleted <- c.DeleteTopic(context.Background(), topic) }()
	<-asked

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, c.Ping(ctx), context.DeadlineExceeded)
	err = c.Ping(t.Context())
	require.ErrorIs(t, err, admin.ErrUnreachable)
	require.ErrorContains(t, err, "it was not made")

	require.NoError(t, c.Close())
	require.ErrorIs(t, <-deleted, eventbus.ErrClosed)
	require.ErrorIs(t, c.Ping(t.Context()), eventbus.ErrClosed)
	require.NoError(t, c.Close())
	ended()
}

// Whatever calls are under way, no connection is left open.
func TestClientClosesAmongCalls(t *testing.T) {
	t.Parallel()
	address, asked, ended := stopped(t)
	for range 20 {
		c, err := admin.NewClient(admin.ClientConfig{Address: address, CallTimeout: time.Millisecond})
		require.NoError(t, err)
		var calls sync.WaitGroup
		for range 4 {
			calls.Go(func() {
				for !errors.Is(c.Ping(context.Background()), eventbus.ErrClosed) {
					select {
					case <-asked:
						_ = c.Close() // what it returns is told by ended
					default:
					}
				}
			})
		}
		calls.Wait()
		require.ErrorIs(t, c.Ping(t.Context()), eventbus.ErrClosed)
	}
	ended()
}

// What listens and never answers, such as Redis or an HTTP server, is no admin
// service; also a call that may take as long as it likes does not wait for it.
func TestClientAtAPortThatNeverAnswers(t *testing.T) {
	t.Parallel()
	address, _, ended := stopped(t)
	var calls sync.WaitGroup
	for name, call := range map[string]func(c *admin.Client) error{
		"ping":          func(c *admin.Client) error { return c.Ping(t.Context()) },
		"delete topic":  func(c *admin.Client) error { return c.DeleteTopic(t.Context(), topic) },
		"ping over TLS": func(c *admin.Client) error { return c.Ping(t.Context()) },
	} {
		calls.Go(func() {
			cfg := admin.ClientConfig{Address: address, CallTimeout: -1}
			if strings.HasSuffix(name, "TLS") {
				cfg.TLS = &tls.Config{}
			}
			c, err := admin.NewClient(cfg)
			assert.NoError(t, err)
			defer c.Close()
			c.SetPatience(20 * time.Millisecond)
			err = call(c)
			assert.ErrorIs(t, err, admin.ErrUnreachable, name)
			assert.ErrorContains(t, err, "is that the port of an admin service?", name)
		})
	}
	calls.Wait()
	ended()
}

// What answers in another protocol is no admin service; of one that closes the connection
// that is not known.
func TestClientAtAPortThatIsNone(t *testing.T) {
	t.Parallel()
	const strange = "does not speak Thrift"
	for name, c := range map[string]struct {
		answer func(conn net.Conn) error
		says   string
	}{
		"HTTP": {func(conn net.Conn) error {
			_, err := conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			return err
		}, strange},
		"closes": {func(conn net.Conn) error {
			err := conn.(*net.TCPConn).CloseWrite()
			_, end := io.Copy(io.Discard, conn) // or it would be reset
			return errors.Join(err, end)
		}, "closed before anything was answered"},
		"resets": {func(conn net.Conn) error { return conn.(*net.TCPConn).SetLinger(0) }, "reset by peer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer other.Close()
			answered := make(chan error, 1)
			go func() {
				conn, err := other.Accept()
				if err == nil {
					_, err = conn.Read(make([]byte, 1))
				}
				if err == nil {
					err = errors.Join(c.answer(conn), conn.Close())
				}
				answered <- err
			}()
			client, err := admin.NewClient(admin.ClientConfig{Address: other.Addr().String()})
			require.NoError(t, err)
			defer client.Close()
			err = client.Ping(t.Context())
			require.ErrorIs(t, err, admin.ErrUnreachable)
			require.ErrorContains(t, err, c.says)
			if c.says != strange {
				require.NotContains(t, err.Error(), strange)
			}
			require.NoError(t, <-answered)
		})
	}
}

// A connection that the server has closed, since nobody used it, is replaced before the
// next call; over TLS, too, where a word of farewell comes first.
func TestClientOfAServerThatClosesIdleConnections(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	a := certtest.New(t)
	for name, c := range map[string]struct {
		server admin.ServerConfig
		client admin.ClientConfig
	}{
		"plain": {},
		"TLS": {
			admin.ServerConfig{TLS: &tls.Config{Certificates: []tls.Certificate{a.Issue("127.0.0.1")}}},
			admin.ClientConfig{TLS: &tls.Config{RootCAs: a.Pool}},
		},
	} {
		c.server.Limits.Idle = 100 * time.Millisecond // between two calls of a client that has no reason to wait
		c.client.Address, _ = serve(t, s, c.server)
		client := client(t, c.client)
		for range 5 {
			require.NoError(t, client.Ping(t.Context()), name)
			require.Eventually(t, func() bool { return !client.Quiet() }, 10*time.Second, time.Millisecond, "%s: the server never closed it", name)
		}
	}
}

// What is too large for a message leaves nothing behind, and is no outage.
func TestClientSaysWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	s, c, _ := pair(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	messages := make([]eventbus.Message, 16)
	for i := range messages {
		messages[i].Value = eventbus.Raw{Payload: make([]byte, 1<<20)}
	}
	_, err := c.SendBatch(t.Context(), topic, messages)
	require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
	require.NotErrorIs(t, err, eventbus.ErrUnavailable)
	require.ErrorContains(t, err, "at most 16384000 bytes go into one message")
	_, err = c.SendBatch(t.Context(), topic, messages[:8])
	require.NoError(t, err)
	stats, err := s.Stats(t.Context(), topic)
	require.NoError(t, err)
	require.EqualValues(t, 8, stats[0].Waiting)
}
