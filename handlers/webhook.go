package handlers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/seed4933/eventbus/eventbus"
)

// Defaults and limits of Webhook.
const (
	// DefaultMaxIdleConns is the default of WebhookOptions.MaxIdleConns.
	DefaultMaxIdleConns = 64
	// MaxRetryAfter caps what a receiver's Retry-After can ask for.
	MaxRetryAfter = 24 * time.Hour

	maxResponse  = 64 << 10    // bytes read of a response's body
	drainTimeout = time.Second // how long reading it may take
)

// WebhookOptions is the settings of a Webhook. The zero value means the
// defaults.
type WebhookOptions struct {
	// Client sends the requests. It is not changed, and its redirect policy is
	// not used: redirects are never followed. Defaults to a client of the
	// Webhook's own, with a transport that takes proxies from the environment.
	Client *http.Client
	// Headers are added to each request, such as Authorization. Host sets the
	// request's host. Content-Type and the headers that frame a message are the
	// binding's and cannot be set. Defaults to none.
	Headers http.Header
	// MaxIdleConns is how many connections to the receiver are kept open for
	// reuse; best the number of runs that may be under way at once. Not used
	// with Client. Defaults to DefaultMaxIdleConns (64); below 0 is an error.
	MaxIdleConns int
}

// Webhook is an EventHandle that POSTs each event to a URL in the CloudEvents
// HTTP binding, structured mode. The response decides:
//
//	2xx                   success
//	408, 429, 5xx         failure
//	other 4xx             eventbus.Reject: another attempt would fare no better
//	3xx and all the rest  failure; a redirect is not followed, since it could
//	                      turn the POST into a GET that carries no event
//	no response           failure
//
// A failure whose response names a time to come in Retry-After is an
// eventbus.RetryAfter of that time, capped at MaxRetryAfter, plus up to a tenth
// so that events which failed together do not come back together. Errors are a
// *StatusError where there was a response.
//
// A request may reach the receiver more than once: after a failure, and when a
// kept connection turned out to be closed. The receiver tells by the event's id.
type Webhook struct {
	url     *url.URL
	shown   string // the URL without credentials and query, for errors
	headers http.Header
	host    string
	client  *http.Client
	own     *http.Transport // nil with WebhookOptions.Client
	// jitter returns a random duration from 0 to most.
	jitter func(most time.Duration) time.Duration
}

// NewWebhook returns a Webhook that posts to an absolute http or https URL.
// Each thing that is wrong with the arguments is an *eventbus.ArgumentError; they are
// joined. Nothing is sent yet.
func NewWebhook(address string, opts WebhookOptions) (*Webhook, error) {
	target, err := parseTarget(address)
	headers, host, bad := checkHeaders(opts.Headers)
	if opts.MaxIdleConns < 0 {
		bad = append(bad, invalid("WebhookOptions.MaxIdleConns", strconv.Itoa(opts.MaxIdleConns),
			fmt.Sprintf("it is negative; give a number, or 0 for %d", DefaultMaxIdleConns), nil))
	}
	if err := errors.Join(append([]error{err}, bad...)...); err != nil {
		return nil, err
	}
	w := &Webhook{
		url:     target,
		shown:   shownURL(target),
		headers: headers,
		host:    host,
		client:  &http.Client{},
		jitter:  func(most time.Duration) time.Duration { return rand.N(most + 1) },
	}
	if opts.Client != nil {
		*w.client = *opts.Client
	} else {
		w.own = newTransport(opts.MaxIdleConns)
		w.client.Transport = w.own
	}
	w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return w, nil
}

// newTransport leaves the whole of a request to the handler's timeout, and
// limits only what would otherwise go on beyond it.
func newTransport(maxIdle int) *http.Transport {
	if maxIdle == 0 {
		maxIdle = DefaultMaxIdleConns
	}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
	}
}

// Handle posts the event and returns when the response is there, or when ctx
// ends.
func (w *Webhook) Handle(ctx context.Context, event *eventbus.Event) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	response, err := w.client.Do(w.request(ctx, event))
	if err != nil {
		return fmt.Errorf("post event to %s: %w", w.shown, withoutURL(err))
	}
	defer response.Body.Close() // an error is without effect: the answer is known
	// Read to its end, so that the connection can be used again; but a body that
	// does not end must not cost more than the connection.
	stop := time.AfterFunc(drainTimeout, cancel)
	defer stop.Stop()
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if response.StatusCode/100 == 2 {
		return nil
	}
	return w.failure(response, body)
}

func (w *Webhook) request(ctx context.Context, event *eventbus.Event) *http.Request {
	body := event.CloudEvent()
	request := (&http.Request{
		Method:        http.MethodPost,
		URL:           w.url,
		Host:          w.host,
		Header:        w.headers.Clone(),
		Body:          io.NopCloser(bytes.NewReader(body)),
		GetBody:       func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
		ContentLength: int64(len(body)),
	}).WithContext(ctx)
	request.Header.Set("Content-Type", "application/cloudevents+json; charset=utf-8")
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", "eventbus")
	}
	// An empty key is not sent. It tells net/http that the request may be sent
	// again when the receiver had just closed the kept connection; delivery is at
	// least once in any case.
	if request.Header["Idempotency-Key"] == nil {
		request.Header["Idempotency-Key"] = []string{}
	}
	return request
}

// withoutURL drops the URL that net/http puts before its errors, since its
// query may hold a secret and errors are kept and shown.
func withoutURL(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// Close closes the connections that are kept for reuse. It is idempotent. A
// client that came with the options stays the caller's and is not touched.
func (w *Webhook) Close() error {
	if w.own != nil {
		w.own.CloseIdleConnections()
	}
	return nil
}
