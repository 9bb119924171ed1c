package admin_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
)

// lines is what was logged.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// serve serves an API on a free port until the test ends, or the function that it
// returns is called.
func serve(t *testing.T, api admin.API, cfg admin.ServerConfig) (address string, stop func()) {
	t.Helper()
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s, err := admin.Listen(api, cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-served)
	})
	t.Cleanup(stop)
	return s.Addr().String(), stop
}

func client(t *testing.T, cfg admin.ClientConfig) *admin.Client {
	t.Helper()
	c, err := admin.NewClient(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// pair returns a service, and a client of a server that serves it.
func pair(t *testing.T) (*admin.Service, *admin.Client, *redis.Client) {
	t.Helper()
	s, rdb := service(t)
	address, _ := serve(t, s, admin.ServerConfig{})
	return s, client(t, admin.ClientConfig{Address: address}), rdb
}

// same asks both for the same.
func same[T any](t *testing.T, s, c admin.API, ask func(api admin.API) (T, error)) T {
	t.Helper()
	want, err := ask(s)
	require.NoError(t, err)
	got, err := ask(c)
	require.NoError(t, err)
	require.Equal(t, want, got)
	return got
}
