package handlers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// post sends an event to a receiver that answers with answer.
func post(t *testing.T, answer http.HandlerFunc) error {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return openWebhook(t, server.URL+"/hook?secret=s3cret", WebhookOptions{}).Handle(t.Context(), newEvent("1", "1"))
}

func openWebhook(t *testing.T, address string, opts WebhookOptions) *Webhook {
	t.Helper()
	w, err := NewWebhook(address, opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, w.Close())
		require.NoError(t, w.Close())
	})
	return w
}

// roundTripper is a receiver without a network.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestWebhook_Request(t *testing.T) {
	t.Parallel()
	type request struct {
		method, uri, host, body string
		header                  http.Header
	}
	got := make(chan request, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- request{r.Method, r.RequestURI, r.Host, string(body), r.Header}
	}))
	t.Cleanup(server.Close)
	headers := http.Header{"authorization": {"Bearer x"}, "X-Many": {"a", "b"}, "Host": {"example.com"}}
	w := openWebhook(t, server.URL+"/hook?key=1", WebhookOptions{Headers: headers})
	headers.Set("X-Many", "changed later")

	event := newEvent("1", "{\n\"n\": 130775545883395173}")
	require.NoError(t, w.Handle(t.Context(), event))
	r := <-got
	require.Equal(t, "POST /hook?key=1 example.com", r.method+" "+r.uri+" "+r.host)
	require.Equal(t, string(event.CloudEvent()), r.body)
	require.Contains(t, r.body, string(event.Payload), "the payload as it is")
	require.Equal(t, []string{"application/cloudevents+json; charset=utf-8"}, r.header["Content-Type"])
	require.Equal(t, []string{"Bearer x"}, r.header["Authorization"])
	require.Equal(t, []string{"a", "b"}, r.header["X-Many"])
	require.Equal(t, []string{"eventbus"}, r.header["User-Agent"])
	require.NotContains(t, r.header, "Idempotency-Key")
	require.Equal(t, fmt.Sprint(len(r.body)), r.header.Get("Content-Length"))
}

func TestWebhook_RedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	for _, code := range []int{301, 302, 303, 307, 308} {
		for _, client := range []*http.Client{nil, {Transport: &http.Transport{DisableKeepAlives: true}}} {
			var requests atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(code)
			}))
			t.Cleanup(server.Close)
			w := openWebhook(t, server.URL, WebhookOptions{Client: client})
			var failed *StatusError
			require.ErrorAs(t, w.Handle(t.Context(), newEvent("1", "1")), &failed)
			require.Equal(t, code, failed.StatusCode)
			require.EqualValues(t, 1, requests.Load())
			if client != nil {
				require.Nil(t, client.CheckRedirect, "the caller's client is not changed")
			}
		}
	}
}

func TestWebhook_ReusesConnections(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	codes := []int{200, 204, 302, 404, 503}
	var requests atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		code := codes[int(requests.Add(1))%len(codes)]
		w.WriteHeader(code)
		if code != 204 {
			_, _ = io.WriteString(w, strings.Repeat("x", 60<<10))
		}
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	w := openWebhook(t, server.URL, WebhookOptions{})
	for range 20 {
		_ = w.Handle(t.Context(), newEvent("1", "1"))
	}
	require.EqualValues(t, 20, requests.Load())
	require.EqualValues(t, 1, opened.Load())
}

// A receiver that closes each connection after one answer, without saying so,
// must not make events fail.
func TestWebhook_ReceiverClosesIdleConnections(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var receiver sync.WaitGroup
	receiver.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			request, err := http.ReadRequest(bufio.NewReader(conn))
			if err == nil {
				_, _ = io.Copy(io.Discard, request.Body)
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			}
			_ = conn.Close()
		}
	})
	w := openWebhook(t, "http://"+listener.Addr().String(), WebhookOptions{})
	for range 200 {
		require.NoError(t, w.Handle(t.Context(), newEvent("1", "1")))
	}
	require.NoError(t, listener.Close())
	receiver.Wait()
}

// endless is a body that gives nothing until the request's context ends.
type endless struct {
	ctx    context.Context
	closed atomic.Bool
}

func (e *endless) Read([]byte) (int, error) { <-e.ctx.Done(); return 0, e.ctx.Err() }
func (e *endless) Close() error             { e.closed.Store(true); return nil }

func TestWebhook_BodyThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	for _, code := range []int{200, 503} {
		synctest.Test(t, func(t *testing.T) {
			var body *endless
			answer := roundTripper(func(r *http.Request) (*http.Response, error) {
				body = &endless{ctx: r.Context()}
				return &http.Response{StatusCode: code, Header: http.Header{}, Body: body}, nil
			})
			w := openWebhook(t, "http://receiver", WebhookOptions{Client: &http.Client{Transport: answer}})
			start := time.Now()
			err := w.Handle(t.Context(), newEvent("1", "1"))
			require.Equal(t, code == 200, err == nil)
			require.Equal(t, drainTimeout, time.Since(start))
			require.True(t, body.closed.Load())
		})
	}
}

func TestWebhook_ReadsNoMoreThanItsShare(t *testing.T) {
	t.Parallel()
	var read atomic.Int64
	answer := roundTripper(func(*http.Request) (*http.Response, error) {
		body := io.NopCloser(readerFunc(func(p []byte) (int, error) { read.Add(int64(len(p))); return len(p), nil }))
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body}, nil
	})
	w := openWebhook(t, "http://receiver", WebhookOptions{Client: &http.Client{Transport: answer}})
	require.NoError(t, w.Handle(t.Context(), newEvent("1", "1")))
	require.EqualValues(t, maxResponse, read.Load())
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestWebhook_NoResponse(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	w := openWebhook(t, "http://user:s3cret@"+address+"/hook?key=s3cret", WebhookOptions{})
	err = w.Handle(t.Context(), newEvent("1", "1"))
	var network *net.OpError
	require.ErrorAs(t, err, &network)
	require.ErrorContains(t, err, "post event to http://"+address+"/hook: ")
	require.NotContains(t, err.Error(), "s3cret")
	require.False(t, inChain(err, eventbus.Reject(errors.Unwrap(err))))
}

func TestWebhook_ContextEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	err := openWebhook(t, server.URL, WebhookOptions{}).Handle(ctx, newEvent("1", "1"))
	require.ErrorIs(t, err, context.Canceled)
}
