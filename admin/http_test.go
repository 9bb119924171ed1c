package admin_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

func TestMain(m *testing.M) {
	redistest.Main(m, map[string]func(){"measured": serveMeasured})
}

var _ admin.Bus = (*eventbus.Bus)(nil)

type bus func(ctx context.Context) error

func (b bus) Health(ctx context.Context) error { return b(ctx) }

func ask(b bus, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	admin.NewHTTP(b).ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

func TestHealthz(t *testing.T) {
	t.Parallel()
	well := bus(func(ctx context.Context) error {
		deadline, ok := ctx.Deadline()
		if !ok || time.Until(deadline) > 5*time.Second {
			return errors.New("asked without a deadline")
		}
		return nil
	})
	ill := bus(func(context.Context) error { return errors.New("for 3s: redis is <b>unavailable</b>") })

	for _, c := range []struct {
		bus          bus
		method, path string
		code         int
		body         string
	}{
		{well, "GET", "/healthz", 200, `{"status":"ok"}`},
		{well, "GET", "/healthz?x=1", 200, `{"status":"ok"}`},
		{well, "HEAD", "/healthz", 200, `{"status":"ok"}`},
		{ill, "GET", "/healthz", 503, `{"status":"unavailable","error":"for 3s: redis is \u003cb\u003eunavailable\u003c/b\u003e"}`},
		{well, "POST", "/healthz", 405, `{"status":"error","error":"use GET"}`},
		{well, "DELETE", "/healthz", 405, `{"status":"error","error":"use GET"}`},
		{well, "GET", "/", 404, `{"status":"error","error":"no such path; there is /healthz"}`},
		{well, "POST", "/healthz/x", 404, `{"status":"error","error":"no such path; there is /healthz"}`},
	} {
		w := ask(c.bus, c.method, c.path)
		require.Equal(t, c.code, w.Code, "%s %s", c.method, c.path)
		require.Equal(t, c.body+"\n", w.Body.String())
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	}
	require.Equal(t, "GET, HEAD", ask(well, "PUT", "/healthz").Header().Get("Allow"))
}

func TestServerHasDeadlines(t *testing.T) {
	t.Parallel()
	s := admin.NewHTTPServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	for _, d := range []time.Duration{s.ReadTimeout, s.ReadHeaderTimeout, s.WriteTimeout, s.IdleTimeout} {
		require.Positive(t, d)
	}
	require.LessOrEqual(t, s.MaxHeaderBytes, 64<<10)
}

// Bytes that are no HTTP get an error, and the next client its answer.
func TestStrayBytes(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := admin.NewHTTPServer(admin.NewHTTP(bus(func(context.Context) error { return nil })), slog.New(slog.DiscardHandler))
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()

	stray, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	_, err = stray.Write([]byte("\x00\x00\x00\x10\x80\x01\r\n\r\n"))
	require.NoError(t, err)
	line, err := bufio.NewReader(stray).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "400")
	require.NoError(t, stray.Close())

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://" + l.Addr().String() + "/healthz")
	require.NoError(t, err)
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	require.JSONEq(t, `{"status":"ok"}`, string(body))
	require.NoError(t, s.Shutdown(t.Context()))
	require.ErrorIs(t, <-served, http.ErrServerClosed)
}
