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

func TestWebhook_Statuses(t *testing.T) {
	t.Parallel()
	var status atomic.Int32
	answer := roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: int(status.Load()), Header: http.Header{}, Body: http.NoBody}, nil
	})
	w := openWebhook(t, "http://receiver", WebhookOptions{Client: &http.Client{Transport: answer}})
	for code := 100; code <= 599; code++ {
		status.Store(int32(code))
		err := w.Handle(t.Context(), newEvent("1", "1"))
		if code >= 200 && code <= 299 {
			require.NoError(t, err, code)
			continue
		}
		var failed *StatusError
		require.ErrorAs(t, err, &failed, code)
		require.Equal(t, code, failed.StatusCode)
		switch {
		case code >= 400 && code <= 499 && code != 408 && code != 429:
			require.Equal(t, eventbus.Reject(failed), err, code)
		default:
			require.Same(t, failed, err, "%d is a plain failure", code)
		}
	}
}

func TestWebhook_RetryAfter(t *testing.T) {
	t.Parallel()
	date := func(in time.Duration) string { return time.Now().Add(in).UTC().Format(http.TimeFormat) }
	for name, c := range map[string]struct {
		code           int
		header         http.Header
		atLeast, below time.Duration // 0: not a RetryAfter
	}{
		"seconds":               {503, http.Header{"Retry-After": {"120"}}, 120 * time.Second, 133 * time.Second},
		"too many requests":     {429, http.Header{"Retry-After": {"1"}}, time.Second, 1200 * time.Millisecond},
		"timeout":               {408, http.Header{"Retry-After": {"1"}}, time.Second, 1200 * time.Millisecond},
		"redirect":              {301, http.Header{"Retry-After": {"1"}, "Location": {"/x"}}, time.Second, 1200 * time.Millisecond},
		"capped":                {503, http.Header{"Retry-After": {"999999999999999999999"}}, MaxRetryAfter, MaxRetryAfter + 1},
		"date by our clock":     {503, http.Header{"Retry-After": {date(time.Hour)}, "Date": {"?"}}, 59 * time.Minute, 67 * time.Minute},
		"date by its own clock": {503, http.Header{"Retry-After": {date(time.Minute)}, "Date": {date(-time.Minute)}}, 2 * time.Minute, 133 * time.Second},
		"zero":                  {503, http.Header{"Retry-After": {"0"}}, 0, 0},
		"past":                  {503, http.Header{"Retry-After": {date(-time.Hour)}}, 0, 0},
		"nonsense":              {503, http.Header{"Retry-After": {"soon"}}, 0, 0},
		"rejected all the same": {410, http.Header{"Retry-After": {"120"}}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := roundTripper(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: c.code, Header: c.header, Body: http.NoBody}, nil
			})
			w := openWebhook(t, "http://receiver", WebhookOptions{Client: &http.Client{Transport: answer}})
			for range 20 { // there is chance in it
				err := w.Handle(t.Context(), newEvent("1", "1"))
				var failed *StatusError
				require.ErrorAs(t, err, &failed)
				if c.atLeast == 0 {
					require.Zero(t, failed.RetryAfter)
					if c.code == 410 {
						require.Equal(t, eventbus.Reject(failed), err)
					} else {
						require.Same(t, failed, err)
					}
					continue
				}
				wait := delayOf(t, err, failed)
				require.GreaterOrEqual(t, wait, c.atLeast)
				require.Less(t, wait, c.below)
				require.LessOrEqual(t, failed.RetryAfter, wait)
			}
		})
	}
}

// delayOf returns the delay of an eventbus.RetryAfter around reason.
func delayOf(t *testing.T, err, reason error) time.Duration {
	t.Helper()
	require.IsType(t, eventbus.RetryAfter(0, reason), err)
	text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "retry after "), ": ")
	wait, parseErr := time.ParseDuration(text)
	require.NoError(t, parseErr)
	require.Equal(t, eventbus.RetryAfter(wait, reason), err)
	return wait
}

func FuzzRetryAfter(f *testing.F) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, seed := range []string{
		"", "0", "1", "86400", "86401", "-1", "+1", "1.5", " 1", "007", "18446744073709551617",
		"Fri, 02 Jan 2026 03:04:06 GMT", "Friday, 02-Jan-26 03:05:05 GMT", "Fri Jan  2 04:04:05 2026",
		"Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", "soon", "１",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		wait, ok := parseRetryAfter(value, now)
		require.Equal(t, ok, wait > 0)
		require.LessOrEqual(t, wait, MaxRetryAfter)
		if at, err := http.ParseTime(value); err == nil {
			require.Equal(t, ok, at.After(now))
		} else {
			digits := value != "" && strings.Trim(value, "0123456789") == ""
			require.Equal(t, ok, digits && strings.Trim(value, "0") != "")
		}
	})
}

func TestParseRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"1": time.Second, "007": 7 * time.Second, "86400": MaxRetryAfter, "86401": MaxRetryAfter,
		"9223372037": MaxRetryAfter, "9223372036854775807": MaxRetryAfter, "18446744073709551617": MaxRetryAfter,
		"Fri, 02 Jan 2026 03:04:06 GMT": time.Second, "Fri Jan  2 04:04:05 2026": time.Hour,
		"Fri, 31 Dec 9999 23:59:59 GMT": MaxRetryAfter,
		"":                              0, "0": 0, "-1": 0, "+1": 0, "1.5": 0, " 1": 0, "1s": 0, "Fri, 02 Jan 2026 03:04:05 GMT": 0,
	} {
		wait, ok := parseRetryAfter(value, now)
		require.Equal(t, want, wait, value)
		require.Equal(t, want > 0, ok, value)
	}
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

func TestWebhook_ErrorTellsWhatWasAnswered(t *testing.T) {
	t.Parallel()
	err := post(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "try\nlater\x1b[31m"+strings.Repeat("é", 100_000))
	})
	require.ErrorContains(t, err, `/hook: status 503 Service Unavailable: try\nlater\x1b[31mé`)
	require.NotContains(t, err.Error(), "s3cret")
	require.Less(t, len(err.Error()), 700)

	err = post(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(599) })
	require.Regexp(t, `/hook: status 599$`, err.Error())
}

func FuzzExcerpt(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("plain 'text' \"é\" \u202e \x00 \xff \\ \n"))
	f.Add([]byte(strings.Repeat("€", 300)))
	f.Add([]byte(strings.Repeat("a", maxExcerpt)))
	f.Fuzz(func(t *testing.T, body []byte) {
		text := excerpt(body)
		cut := strings.HasSuffix(text, "…") && len(text) > maxExcerpt-len(`\U00000000`)
		if !cut {
			require.GreaterOrEqual(t, len(text), len(body)-2) // an invalid byte grows, U+FFFD stays
		}
		require.LessOrEqual(t, len(strings.TrimSuffix(text, "…")), maxExcerpt)
		require.Equal(t, strings.ToValidUTF8(text, "?"), text)
		require.NotRegexp(t, `[\p{C}]`, text)
	})
}

func TestExcerpt(t *testing.T) {
	t.Parallel()
	require.Equal(t, `a'"é\n\x00\xff\u202e`, excerpt([]byte("a'\"é\n\x00\xff\u202e")))
	require.Equal(t, strings.Repeat("a", maxExcerpt), excerpt([]byte(strings.Repeat("a", maxExcerpt))))
	require.Equal(t, strings.Repeat("a", maxExcerpt)+"…", excerpt([]byte(strings.Repeat("a", maxExcerpt+1))))
	require.Equal(t, "a"+strings.Repeat("é", 255)+"…", excerpt([]byte("a"+strings.Repeat("é", 300))))
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

func TestNewWebhook_Invalid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		url      string
		opts     WebhookOptions
		argument string
		says     string
	}{
		"empty":            {"", WebhookOptions{}, "url", "it is empty"},
		"relative":         {"/hook", WebhookOptions{}, "url", "absolute"},
		"without scheme":   {"example.com/hook", WebhookOptions{}, "url", "absolute"},
		"other scheme":     {"ftp://example.com", WebhookOptions{}, "url", "not http or https"},
		"without host":     {"http:///hook", WebhookOptions{}, "url", "no host"},
		"only a port":      {"http://:80/", WebhookOptions{}, "url", "no host"},
		"opaque":           {"http:example.com", WebhookOptions{}, "url", "no host"},
		"port too high":    {"http://example.com:65536/", WebhookOptions{}, "url", "port"},
		"port zero":        {"http://example.com:0/", WebhookOptions{}, "url", "port"},
		"unparsable":       {"http://exa mple.com/%zz", WebhookOptions{}, "url", "parse"},
		"secret":           {"ftp://user:s3cret@example.com/", WebhookOptions{}, "url", "user:xxxxx@"},
		"secret, unparsed": {"http://user:s3cret@[::1/", WebhookOptions{}, "url", "parse"},
		"header name":      {"http://h", WebhookOptions{Headers: http.Header{"a b": {"x"}}}, "WebhookOptions.Headers", "token"},
		"header empty":     {"http://h", WebhookOptions{Headers: http.Header{"": {"x"}}}, "WebhookOptions.Headers", "token"},
		"header value":     {"http://h", WebhookOptions{Headers: http.Header{"A": {"s3cret\r\nB: y"}}}, "WebhookOptions.Headers", "control"},
		"content type":     {"http://h", WebhookOptions{Headers: http.Header{"content-type": {"x"}}}, "WebhookOptions.Headers", "leave it out"},
		"idle connections": {"http://h", WebhookOptions{MaxIdleConns: -1}, "WebhookOptions.MaxIdleConns", "negative"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := NewWebhook(c.url, c.opts)
			require.Nil(t, w)
			require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
			var argument *eventbus.ArgumentError
			require.ErrorAs(t, err, &argument)
			require.Equal(t, c.argument, argument.Field)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "s3cret")
		})
	}
}
