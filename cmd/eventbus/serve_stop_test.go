package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/internal/redistest"
)

// A stop ends the process also while Redis is away, and while it does not answer
// at the start.
func TestServeStopsWithoutRedis(t *testing.T) {
	b := setup(t)
	s := redistest.Start(t, redistest.Options{})
	b.url = s.URL()
	p := b.serving("topics: [{name: orders, handlers: [{id: print, type: log}]}]")
	s.Kill()
	p.err.until("redis does not serve the bus")
	p.stopped(syscall.SIGTERM)

	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, never answers
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, silent.Close()) })
	b.url = "redis://" + silent.Addr().String()
	p = b.start(nil, "serve", "--http", "")
	conn, err := silent.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	began := time.Now()
	p.stopped(syscall.SIGTERM)
	require.Less(t, time.Since(began), 10*time.Second)
	said := p.err.rest()
	require.Len(t, said, 2)
	require.Contains(t, said[0], "msg=stopping")
	require.Contains(t, said[1], "msg=stopped")
}

// The first signal waits for the handler that runs; the second ends its context,
// and the event is there for the next process, with no attempt used up.
func TestServeStopsHard(t *testing.T) {
	b := setup(t)
	called := make(chan struct{}, 10)
	ended := make(chan struct{}, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the end of the connection is seen
		called <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	}))
	t.Cleanup(hook.Close)
	config := `topics: [{name: orders, handlers: [{id: post, type: webhook, url: "` + hook.URL + `", timeout: 1h, retry: {max_attempts: 1}}]}]`
	p := b.serving(config, "--log-level", "debug")
	id := strings.TrimSpace(b.ok("send", "orders", "--data", "1"))
	within(b, called, "the webhook's call")
	p.signal(syscall.SIGTERM)
	p.err.until("stopping: no more events are taken")
	p.err.until("still stopping: another signal stops hard")
	require.Empty(t, ended, "the handler goes on")
	p.stopped(syscall.SIGTERM)
	within(b, ended, "the end of the call")
	said := p.err.rest()
	require.Contains(t, strings.Join(said, "\n"), "stopping hard")
	require.Contains(t, said[len(said)-1], "msg=stopped")

	b.eventually("it is kept for the next process", func() bool {
		s := b.ok("stats", "orders", "-o", "json", "--interval", "0")
		return strings.Contains(s, `"waiting":1,"in_flight":0`) || strings.Contains(s, `"retry":1`)
	})
	next := b.serving(`topics: [{name: orders, handlers: [{id: post, type: file, path: out}]}]`)
	b.eventually("the next process handles it", func() bool {
		text, err := os.ReadFile(filepath.Join(b.dir, "out"))
		return err == nil && strings.Contains(string(text), id)
	})
	next.stopped(syscall.SIGTERM)
}

// Two signals at once are one wish: what runs may end.
func TestServeTakesDoubledSignalForOne(t *testing.T) {
	b := setup(t)
	called, release := make(chan struct{}, 1), make(chan struct{})
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		called <- struct{}{}
		<-release
	}))
	t.Cleanup(hook.Close)
	p := b.serving(`topics: [{name: orders, handlers: [{id: post, type: webhook, url: "` + hook.URL + `", timeout: 1h}]}]`)
	b.ok("send", "orders", "--data", "1")
	within(b, called, "the webhook's call")
	p.signal(os.Interrupt)
	p.signal(syscall.SIGTERM)
	for line := ""; !strings.Contains(line, "still stopping"); line = p.err.next() {
		require.NotContains(t, line, "stopping hard")
	}
	close(release)
	require.Equal(t, 0, p.wait())
	require.NotContains(t, strings.Join(p.err.rest(), "\n"), "stopping hard")
	require.Contains(t, b.ok("stats", "orders", "-o", "json", "--interval", "0"), `"done":1`)
}
