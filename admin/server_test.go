package admin_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/certtest"
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

func TestClientSeesWhatTheServiceSees(t *testing.T) {
	t.Parallel()
	s, c, rdb := pair(t)
	ctx := t.Context()
	require.NoError(t, c.Ping(ctx))
	require.NoError(t, c.CreateTopic(ctx, topic, eventbus.TopicConfig{MaxWaiting: 5000, DeadAge: -1}))
	require.NoError(t, c.CreateTopic(ctx, "raw", eventbus.TopicConfig{Wire: eventbus.WireRaw, Delivery: eventbus.AtMostOnce, Disabled: true}))
	require.NoError(t, c.AddGroup(ctx, topic, eventbus.GroupConfig{Name: "more", QueueKey: "a list"}))
	concurrency := 7
	revision, err := c.UpdateTopic(ctx, topic, eventbus.TopicUpdate{Concurrency: &concurrency})
	require.NoError(t, err)
	got := same(t, s, c, func(api admin.API) (eventbus.Topic, error) { return api.GetTopic(ctx, topic) })
	require.Equal(t, revision, got.Revision)
	require.Equal(t, 7, got.Concurrency)
	require.EqualValues(t, -1, got.DeadAge)
	_, err = c.UpdateTopic(ctx, topic, eventbus.TopicUpdate{Concurrency: &concurrency, IfRevision: 1})
	require.ErrorIs(t, err, eventbus.ErrConflict)
	p := same(t, s, c, func(api admin.API) (admin.TopicPage, error) { return api.ListTopics(ctx, admin.Page{Limit: 1}) })
	require.NotEmpty(t, p.Next)
	same(t, s, c, func(api admin.API) (admin.TopicPage, error) { return api.ListTopics(ctx, admin.Page{Cursor: p.Next}) })

	_, err = c.SendBatch(ctx, "raw", []eventbus.Message{{Value: eventbus.Raw{Payload: []byte("x")}}})
	require.ErrorIs(t, err, eventbus.ErrTopicDisabled)
	require.NoError(t, c.EnableTopic(ctx, "raw"))
	_, err = c.SendBatch(ctx, "raw", []eventbus.Message{{Value: eventbus.Raw{Payload: []byte("x")}}})
	require.NoError(t, err)
	require.NoError(t, c.DisableTopic(ctx, "raw"))
	require.NoError(t, c.DeleteTopic(ctx, "raw"))
	require.NoError(t, c.RemoveGroup(ctx, topic, "more"))

	bury(t, s, rdb, 30)
	stop := run(t, rdb, eventbus.Config{}, func(context.Context, *eventbus.Event) error { return nil })
	timeout := 4 * time.Second
	_, err = c.UpdateHandler(ctx, topic, "", "h", eventbus.HandlerUpdate{Timeout: &timeout})
	require.NoError(t, err)
	require.NoError(t, c.DisableHandler(ctx, topic, "", "h"))
	require.Eventually(t, func() bool {
		h, err := s.GetHandler(ctx, topic, "", "h")
		require.NoError(t, err)
		return h.Settings.Timeout == timeout && !h.Settings.Enabled
	}, 10*time.Second, time.Millisecond)
	same(t, s, c, func(api admin.API) (eventbus.HandlerInfo, error) { return api.GetHandler(ctx, topic, "", "h") })
	same(t, s, c, func(api admin.API) (admin.HandlerPage, error) { return api.ListHandlers(ctx, topic, "", admin.Page{}) })
	require.NoError(t, c.EnableHandler(ctx, topic, "", "h"))
	require.NoError(t, c.ResetHandler(ctx, topic, "", "h"))
	consumers, err := c.ListConsumers(ctx, admin.Page{})
	require.NoError(t, err)
	require.Len(t, consumers.Consumers, 1)
	require.Equal(t, "h", consumers.Consumers[0].Handlers[topic][0].ID)
	stop()

	page := same(t, s, c, func(api admin.API) (eventbus.FailurePage, error) {
		return api.ListFailures(ctx, topic, "", eventbus.FailureQuery{Limit: 10})
	})
	require.Len(t, page.Failures, 10)
	page = same(t, s, c, func(api admin.API) (eventbus.FailurePage, error) {
		return api.ListFailures(ctx, topic, "", eventbus.FailureQuery{Cursor: page.Next})
	})
	require.Len(t, page.Failures, 20)
	one := same(t, s, c, func(api admin.API) (eventbus.Failure, error) {
		f, err := api.GetFailure(ctx, topic, "", page.Failures[3].ID)
		f.Event.Time = f.Event.Time.Truncate(time.Millisecond) // as it travels
		return f, err
	})
	require.NotNil(t, one.Event)
	same(t, s, c, func(api admin.API) (eventbus.FailureCount, error) { return api.CountFailures(ctx, topic, "") })
	j, err := c.ReplayFailures(ctx, topic, "", eventbus.FailureFilter{IDs: []string{one.ID}})
	require.NoError(t, err)
	j = ended(t, c, j.ID)
	require.Equal(t, admin.JobDone, j.State)
	require.EqualValues(t, 1, j.Moved)
	j, err = c.DiscardFailures(ctx, topic, "", eventbus.FailureFilter{Handler: "h"})
	require.NoError(t, err)
	j = ended(t, c, j.ID)
	require.EqualValues(t, 29, j.Moved)
	same(t, s, c, func(api admin.API) (admin.Job, error) { return api.CancelJob(ctx, j.ID) })

	ids, err := c.SendBatch(ctx, topic, []eventbus.Message{
		{Value: eventbus.Raw{Payload: []byte{0, 0xff, 1}}, ID: "one", Delay: time.Hour, Headers: map[string]string{"k": "v"}},
		{Value: eventbus.Raw{Payload: []byte(`{}`)}, DueAt: time.Now().Add(time.Hour)},
	})
	require.NoError(t, err)
	require.Equal(t, "one", ids[0])
	delayed := same(t, s, c, func(api admin.API) (eventbus.DelayedPage, error) {
		return api.ListDelayed(ctx, topic, "", eventbus.DelayedQuery{})
	})
	require.Len(t, delayed.Events, 2)
	groups, err := c.CancelDelayed(ctx, topic, "one")
	require.NoError(t, err)
	require.Equal(t, []string{"default"}, groups)
	same(t, s, c, func(api admin.API) (eventbus.UnreadableEvents, error) { return api.ListUnreadable(ctx, topic, "", 5) })
	stats, err := c.Stats(ctx, topic)
	require.NoError(t, err)
	require.EqualValues(t, 1, stats[0].Delayed)
	require.EqualValues(t, 1, stats[0].Waiting)
}

func TestErrorsOfTheClientAreThoseOfTheService(t *testing.T) {
	t.Parallel()
	s, c, _ := pair(t)
	ctx := t.Context()
	require.NoError(t, s.CreateTopic(ctx, topic, eventbus.TopicConfig{}))
	minus := -1
	for what, call := range map[string]func(api admin.API) error{
		"no topic":     func(api admin.API) error { _, err := api.GetTopic(ctx, "none"); return err },
		"a bad name":   func(api admin.API) error { return api.DisableTopic(ctx, "a{b}c") },
		"an empty one": func(api admin.API) error { return api.DeleteTopic(ctx, "") },
		"no group":     func(api admin.API) error { _, err := api.CountFailures(ctx, topic, "none"); return err },
		"exists":       func(api admin.API) error { return api.CreateTopic(ctx, topic, eventbus.TopicConfig{}) },
		"group exists": func(api admin.API) error { return api.AddGroup(ctx, topic, eventbus.GroupConfig{Name: "default"}) },
		"no failure":   func(api admin.API) error { _, err := api.GetFailure(ctx, topic, "", "none"); return err },
		"no handler":   func(api admin.API) error { _, err := api.GetHandler(ctx, topic, "", "none"); return err },
		"no job":       func(api admin.API) error { _, err := api.GetJob(ctx, "none"); return err },
		"not delayed":  func(api admin.API) error { _, err := api.CancelDelayed(ctx, topic, "none"); return err },
		"bad setting": func(api admin.API) error {
			_, err := api.UpdateHandler(ctx, topic, "", "h", eventbus.HandlerUpdate{MaxAttempts: &minus})
			return err
		},
		"bad page":   func(api admin.API) error { _, err := api.ListTopics(ctx, admin.Page{Limit: 2000}); return err },
		"bad cursor": func(api admin.API) error { _, err := api.ListConsumers(ctx, admin.Page{Cursor: "?"}); return err },
		"large": func(api admin.API) error {
			_, err := api.SendBatch(ctx, topic, []eventbus.Message{{Value: eventbus.Raw{Payload: make([]byte, 2<<20)}}})
			return err
		},
		"an odd delivery": func(api admin.API) error {
			return api.CreateTopic(ctx, "new", eventbus.TopicConfig{Delivery: "odd", Wire: "odd"})
		},
		"an odd change": func(api admin.API) error {
			_, err := api.UpdateTopic(ctx, topic, eventbus.TopicUpdate{Delivery: new(eventbus.Delivery("odd"))})
			return err
		},
		"an odd state": func(api admin.API) error {
			_, err := api.ListFailures(ctx, topic, "default", eventbus.FailureQuery{State: "odd"})
			return err
		},
		"ids with a state": func(api admin.API) error {
			_, err := api.ReplayFailures(ctx, topic, "default", eventbus.FailureFilter{IDs: []string{"a"}, State: eventbus.Dead})
			return err
		},
		"before 1970": func(api admin.API) error {
			_, err := api.DiscardFailures(ctx, topic, "default", eventbus.FailureFilter{Before: time.Unix(0, -1).UTC()})
			return err
		},
		"too many unreadable": func(api admin.API) error { _, err := api.ListUnreadable(ctx, topic, "", 101); return err },
		"fewer than none":     func(api admin.API) error { _, err := api.ListUnreadable(ctx, topic, "", -1); return err },
		"too many events": func(api admin.API) error {
			_, err := api.SendBatch(ctx, topic, make([]eventbus.Message, 20_000))
			return err
		},
		"no JSON": func(api admin.API) error {
			_, err := api.SendBatch(ctx, topic, []eventbus.Message{{Value: make(chan int)}})
			return err
		},
		"two times": func(api admin.API) error {
			_, err := api.SendBatch(ctx, topic, []eventbus.Message{{Value: eventbus.Raw{}, Delay: 1, DueAt: time.Unix(1, 0).UTC()}})
			return err
		},
		"too late": func(api admin.API) error {
			_, err := api.SendBatch(ctx, topic, []eventbus.Message{{Value: eventbus.Raw{}, DueAt: time.Date(200_000_000, 1, 1, 0, 0, 0, 0, time.UTC)}})
			return err
		},
		"bad header": func(api admin.API) error {
			_, err := api.SendBatch(ctx, topic, []eventbus.Message{{Value: eventbus.Raw{}, Headers: map[string]string{"UPPER": "x"}}})
			return err
		},
	} {
		want := call(s)
		require.Error(t, want, what)
		got := call(c)
		require.Error(t, got, what)
		require.Equal(t, want.Error(), got.Error(), what)
		for _, is := range []error{
			eventbus.ErrTopicNotFound, eventbus.ErrInvalidArgument, eventbus.ErrGroupNotFound, eventbus.ErrTopicExists, eventbus.ErrGroupExists,
			eventbus.ErrMarshal, eventbus.ErrFailureNotFound, eventbus.ErrHandlerNotFound, admin.ErrJobNotFound, eventbus.ErrNotDelayed, eventbus.ErrPayloadTooLarge,
		} {
			require.Equal(t, errors.Is(want, is), errors.Is(got, is), "%s: %v", what, is)
		}
	}
}

func TestTokenIsDemanded(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	log := &lines{}
	address, _ := serve(t, s, admin.ServerConfig{Token: "s3cret-token", Logger: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, client(t, admin.ClientConfig{Address: address, Token: "s3cret-token"}).DisableTopic(t.Context(), topic))
	_, err := client(t, admin.ClientConfig{Address: address, Token: "s3cret-token"}).SendBatch(t.Context(), topic, []eventbus.Message{{Value: eventbus.Raw{}}})
	require.ErrorIs(t, err, eventbus.ErrTopicDisabled)
	for _, token := range []string{"", "wrong", "s3cret-toke", "s3cret-token1"} {
		c := client(t, admin.ClientConfig{Address: address, Token: token})
		require.ErrorIs(t, c.EnableTopic(t.Context(), topic), admin.ErrUnauthenticated, token)
		_, err := c.SendBatch(t.Context(), topic, []eventbus.Message{{Value: eventbus.Raw{}}})
		require.ErrorIs(t, err, admin.ErrUnauthenticated)
		require.ErrorIs(t, c.Ping(t.Context()), admin.ErrUnauthenticated)
	}
	got, err := s.GetTopic(t.Context(), topic)
	require.NoError(t, err)
	require.True(t, got.Disabled)
	// The server does not read a large call of who may not call.
	large := []eventbus.Message{{Value: eventbus.Raw{Payload: make([]byte, 100<<10)}}}
	for _, token := range []string{"", "wrong"} {
		c := client(t, admin.ClientConfig{Address: address, Token: token})
		for range 2 {
			_, err := c.SendBatch(t.Context(), topic, large)
			require.ErrorIs(t, err, admin.ErrUnauthenticated)
			require.NotErrorIs(t, err, admin.ErrUnreachable)
		}
	}
	require.NotContains(t, log.String(), "s3cret")

	// A stock client of HTTP.
	overHTTP := func(authorization string) error {
		transport, err := thrift.NewTHttpClientWithOptions("http://"+address+"/thrift", thrift.THttpClientOptions{Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
		require.NoError(t, err)
		if authorization != "" {
			transport.(*thrift.THttpClient).SetHeader("Authorization", authorization)
		}
		p := thrift.NewTBinaryProtocolConf(transport, nil)
		return thriftbus.NewEventAdminClient(thrift.NewTStandardClient(p, p)).Ping(t.Context())
	}
	require.NoError(t, overHTTP("Bearer s3cret-token"))
	var refused *thriftbus.Unauthenticated
	for _, wrong := range []string{"", "Bearer wrong", "Basic s3cret-token", "s3cret-token"} {
		require.ErrorAs(t, overHTTP(wrong), &refused, wrong)
	}
	require.Contains(t, refused.Message, "Bearer TOKEN")
}

func TestOnlyTheLoopbackIsOpenToAll(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	for _, listen := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0"} {
		_, err := admin.Listen(s, admin.ServerConfig{Listen: listen})
		require.ErrorIs(t, err, eventbus.ErrInvalidArgument, listen)
		require.ErrorContains(t, err, "set a token, or TLS")
		_, err = admin.Listen(s, admin.ServerConfig{Listen: listen, TLS: &tls.Config{}}) // anybody speaks it
		require.ErrorIs(t, err, eventbus.ErrInvalidArgument, listen)
	}
	for listen, cfg := range map[string]admin.ServerConfig{
		":0": {Token: "t"}, "0.0.0.0:0": {TLS: &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert}}, "localhost:0": {}, "127.0.0.1:0": {},
	} {
		cfg.Listen = listen
		server, err := admin.Listen(s, cfg)
		require.NoError(t, err, listen)
		require.NoError(t, server.Close())
	}
	for _, bad := range []admin.ServerConfig{{Listen: "nonsense"}, {Listen: "127.0.0.1:0", Token: "two words"}, {Listen: "127.0.0.1:0", Token: "ü"}} {
		_, err := admin.Listen(s, bad)
		require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
	}
}

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

func TestTLSAndClientCertificates(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	ca := certtest.New(t)
	log := &lines{}
	address, _ := serve(t, s, admin.ServerConfig{
		TLS:    &tls.Config{Certificates: []tls.Certificate{ca.Issue("127.0.0.1")}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool},
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	good := client(t, admin.ClientConfig{Address: address, TLS: &tls.Config{RootCAs: ca.Pool, Certificates: []tls.Certificate{ca.Issue("operator jane")}}})
	require.NoError(t, good.DisableTopic(t.Context(), topic))
	require.Contains(t, log.String(), "(operator jane)")

	stranger := certtest.New(t)
	for what, cfg := range map[string]*tls.Config{
		"no certificate":           {RootCAs: ca.Pool},
		"a stranger's certificate": {RootCAs: ca.Pool, Certificates: []tls.Certificate{stranger.Issue("x")}},
		"another authority":        {RootCAs: stranger.Pool, Certificates: []tls.Certificate{ca.Issue("x")}},
		"plain text":               nil,
	} {
		c := client(t, admin.ClientConfig{Address: address, TLS: cfg, CallTimeout: 10 * time.Second})
		require.ErrorIs(t, c.EnableTopic(t.Context(), topic), eventbus.ErrUnavailable, what)
	}
	got, err := s.GetTopic(t.Context(), topic)
	require.NoError(t, err)
	require.True(t, got.Disabled)
}
