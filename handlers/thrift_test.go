package handlers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/certtest"
)

// spoken are all ways to speak.
var spoken = map[string]ThriftConfig{
	"binary":           {},
	"compact":          {Protocol: ThriftCompact},
	"unframed binary":  {Unframed: true},
	"unframed compact": {Unframed: true, Protocol: ThriftCompact},
	"header":           {Protocol: ThriftHeader},
	"service":          {Service: "Billing.Events"},
	"header service":   {Protocol: ThriftHeader, Service: "Billing"},
}

// Whatever is spoken, the server gets the event field by field and byte for byte.
func TestThrift_Event(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 31, 12, 0, 0, 123_999_999, time.UTC)
	payload := []byte("{\"n\": 130775545883395173}\x00\xff\r\n")
	for name, cfg := range spoken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := make(chan *thriftbus.Event, 1)
			server := serveThrift(t, cfg, func(ctx context.Context, event *thriftbus.Event) (*thriftbus.HandleResult_, error) {
				got <- event
				return done(ctx, event)
			})
			h := openThrift(t, server.address, cfg)
			require.NoError(t, h.Handle(t.Context(), &eventbus.Event{
				ID: "id", Topic: "注文", Type: "type", Source: "/shop", Time: at, ContentType: "text/plain", Payload: payload,
				Headers: map[string]string{"a": "1", "traceparent": ""}, Group: "billing", Handler: "h", Attempt: 3, Deliveries: 2,
			}))
			require.Equal(t, &thriftbus.Event{
				ID: "id", Topic: "注文", Type: "type", Source: "/shop", TimeMs: at.UnixMilli(), ContentType: "text/plain", Payload: payload,
				Headers: map[string]string{"a": "1", "traceparent": ""}, Group: "billing", Handler: "h", Attempt: 3, Deliveries: 2,
			}, <-got)

			require.NoError(t, h.Handle(t.Context(), &eventbus.Event{ID: "bare", Attempt: math.MaxInt}))
			require.Equal(t, &thriftbus.Event{
				ID: "bare", Payload: []byte{}, Headers: map[string]string{}, Attempt: math.MaxInt32,
			}, <-got)
			accepted, _ := server.counts()
			require.Equal(t, 1, accepted, "the second one goes over the same connection")
		})
	}
}

// The runtime's own server serves as well as that of the tests.
func TestThrift_RuntimeServer(t *testing.T) {
	t.Parallel()
	socket, err := thrift.NewTServerSocket("127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, socket.Listen())
	server := thrift.NewTSimpleServer4(thriftbus.NewEventHandlerProcessor(hosted(done)), socket,
		thrift.NewTFramedTransportFactoryConf(thrift.NewTTransportFactory(), nil), thrift.NewTBinaryProtocolFactoryConf(nil))
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve() })
	h := openThrift(t, socket.Addr().String(), ThriftConfig{})
	require.NoError(t, h.Handle(t.Context(), newEvent("1", "1")))
	require.NoError(t, h.Handle(t.Context(), newEvent("2", "2")))
	require.NoError(t, h.Close())
	require.NoError(t, server.Stop())
	served.Wait()
}

func TestThrift_Token(t *testing.T) {
	t.Parallel()
	cfg := ThriftConfig{Protocol: ThriftHeader, Token: "s3cret"}
	got := make(chan string, 2)
	server := serveThrift(t, cfg, func(ctx context.Context, event *thriftbus.Event) (*thriftbus.HandleResult_, error) {
		value, _ := thrift.GetHeader(ctx, "authorization")
		got <- value
		return nil, errors.New("refused")
	})
	h := openThrift(t, server.address, cfg)
	for range 2 {
		err := h.Handle(t.Context(), newEvent("1", "1"))
		require.ErrorContains(t, err, "refused")
		require.NotContains(t, err.Error(), "s3cret")
		require.Equal(t, "Bearer s3cret", <-got, "with each call")
	}
}

func TestThrift_TLS(t *testing.T) {
	t.Parallel()
	ca := certtest.New(t)
	server := newThriftServer(t, ThriftConfig{}, done)
	server.tls = &tls.Config{Certificates: []tls.Certificate{ca.Issue("127.0.0.1")}}
	server.start()
	mutual := newThriftServer(t, ThriftConfig{Unframed: true}, done)
	mutual.tls = &tls.Config{
		Certificates: []tls.Certificate{ca.Issue("billing")}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool,
	}
	mutual.start()
	plain := serveThrift(t, ThriftConfig{}, done)
	client := []tls.Certificate{ca.Issue("bus")}

	h := openThrift(t, server.address, ThriftConfig{TLS: &tls.Config{RootCAs: ca.Pool}})
	for range 3 {
		require.NoError(t, h.Handle(t.Context(), newEvent("1", "1")))
	}
	accepted, _ := server.counts()
	require.Equal(t, 1, accepted, "TLS connections are used again")
	// The server's farewell is noticed, too.
	server.drop()
	require.Eventually(t, func() bool { return server.open() == 0 && !h.pool.idle[0].quiet() }, patience, time.Millisecond)
	require.NoError(t, h.Handle(t.Context(), newEvent("1", "1")))

	h = openThrift(t, mutual.address, ThriftConfig{Unframed: true, TLS: &tls.Config{RootCAs: ca.Pool, ServerName: "billing", Certificates: client}})
	require.NoError(t, h.Handle(t.Context(), newEvent("1", "1")))
	require.NoError(t, h.Handle(t.Context(), newEvent("2", "2")))

	for _, c := range []struct {
		name, address string
		cfg           ThriftConfig
		says          string
	}{
		{"another CA", server.address, ThriftConfig{TLS: &tls.Config{RootCAs: certtest.New(t).Pool}}, "give the certificate (CA) that signed the server's"},
		{"another name", mutual.address, ThriftConfig{Unframed: true, TLS: &tls.Config{RootCAs: ca.Pool}}, "the name that the server's certificate has"},
		{"no certificate", mutual.address, ThriftConfig{Unframed: true, TLS: &tls.Config{RootCAs: ca.Pool, ServerName: "billing"}}, "does it ask for a client's certificate"},
		{"a server without TLS", plain.address, ThriftConfig{TLS: &tls.Config{RootCAs: ca.Pool}}, "the server must serve TLS, or the handler go without"},
	} {
		h := openThrift(t, c.address, c.cfg)
		err := h.Handle(t.Context(), newEvent("1", "1"))
		var failed *ThriftError
		require.ErrorAs(t, err, &failed, c.name)
		require.ErrorContains(t, err, c.says, c.name)
		require.ErrorContains(t, err, "call handler at "+c.address, c.name)
	}
}

func TestThrift_Outcomes(t *testing.T) {
	t.Parallel()
	type result = thriftbus.HandleResult_
	answers := make(chan *result, 1)
	server := serveThrift(t, ThriftConfig{}, func(context.Context, *thriftbus.Event) (*result, error) { return <-answers, nil })
	h := openThrift(t, server.address, ThriftConfig{})
	text := thrift.StringPtr
	ms := thrift.Int64Ptr
	failed := func(outcome, message, wrong string) *ThriftOutcomeError {
		return &ThriftOutcomeError{Address: server.address, Handler: "h", Outcome: outcome, Message: message, Wrong: wrong}
	}
	const (
		known   = "right are DONE (1), RETRY (2), RETRY_AFTER (3) and REJECT (4); it counts as RETRY"
		unsaid  = "without a message; one that says why is right"
		nothing = "with retry_after_ms 5, which is for RETRY_AFTER alone; it is not used"
	)
	for _, c := range []struct {
		answer *result
		want   error
	}{
		{&result{Outcome: thriftbus.Outcome_DONE, Message: text("unused"), RetryAfterMs: ms(5)}, nil},
		{&result{Outcome: thriftbus.Outcome_RETRY, Message: text("bank is down")}, failed("RETRY", "bank is down", "")},
		{&result{Outcome: thriftbus.Outcome_RETRY, Message: text("bank is down"), RetryAfterMs: ms(5)}, failed("RETRY", "bank is down", nothing)},
		{&result{Outcome: thriftbus.Outcome_RETRY}, failed("RETRY", "", unsaid)},
		{&result{Outcome: thriftbus.Outcome_RETRY, Message: text(" ")}, failed("RETRY", " ", unsaid)},
		{&result{Outcome: thriftbus.Outcome_RETRY_AFTER, Message: text("later"), RetryAfterMs: ms(1500)}, eventbus.RetryAfter(1500*time.Millisecond, failed("RETRY_AFTER", "later", ""))},
		{&result{Outcome: thriftbus.Outcome_RETRY_AFTER, RetryAfterMs: ms(math.MaxInt64)}, eventbus.RetryAfter(eventbus.MaxDelay, failed("RETRY_AFTER", "", unsaid))},
		{&result{Outcome: thriftbus.Outcome_RETRY_AFTER, Message: text("m"), RetryAfterMs: ms(0)}, failed("RETRY_AFTER", "m", "with retry_after_ms 0; 1 or more is right, and it counts as RETRY")},
		{&result{Outcome: thriftbus.Outcome_RETRY_AFTER, RetryAfterMs: ms(-1)}, failed("RETRY_AFTER", "", "with retry_after_ms -1; 1 or more is right, and it counts as RETRY; "+unsaid)},
		{&result{Outcome: thriftbus.Outcome_RETRY_AFTER, Message: text("m")}, failed("RETRY_AFTER", "m", "without retry_after_ms; 1 or more is right, and it counts as RETRY")},
		{&result{Outcome: thriftbus.Outcome_REJECT, Message: text("no such customer")}, eventbus.Reject(failed("REJECT", "no such customer", ""))},
		{&result{Outcome: thriftbus.Outcome_REJECT}, eventbus.Reject(failed("REJECT", "", unsaid))},
		{&result{Outcome: thriftbus.Outcome_REJECT, RetryAfterMs: ms(5)}, eventbus.Reject(failed("REJECT", "", nothing+"; "+unsaid))},
		{&result{Outcome: 7, Message: text("new")}, failed("outcome 7", "new", known)},
		{&result{Outcome: -1}, failed("outcome -1", "", known)},
		{&result{}, failed("outcome 0", "", "or none; "+known)},
	} {
		answers <- c.answer
		require.Equal(t, c.want, h.Handle(t.Context(), newEvent("1", "1")), "%v", c.answer)
	}
	require.EqualError(t, failed("outcome 7", "new", known), `handler "h" at `+server.address+" answered outcome 7 ("+known+"): new")
	require.EqualError(t, failed("REJECT", "", unsaid), `handler "h" at `+server.address+" answered REJECT ("+unsaid+")")
	accepted, _ := server.counts()
	require.Equal(t, 1, accepted, "what an answer says does not cost its connection")
}

// A text of the server's is cut, and no part of it can be half a character.
func TestThrift_LongMessage(t *testing.T) {
	t.Parallel()
	server := serveThrift(t, ThriftConfig{}, func(_ context.Context, event *thriftbus.Event) (*thriftbus.HandleResult_, error) {
		if event.ID == "exception" {
			return nil, errors.New(strings.Repeat("é", 1<<20))
		}
		return &thriftbus.HandleResult_{Outcome: thriftbus.Outcome_RETRY, Message: thrift.StringPtr("x" + strings.Repeat("é", 1<<20))}, nil
	})
	h := openThrift(t, server.address, ThriftConfig{})
	for _, id := range []string{"message", "exception"} {
		err := h.Handle(t.Context(), newEvent(id, "1"))
		require.Less(t, len(err.Error()), 4300)
		require.Greater(t, len(err.Error()), 4000)
		require.True(t, strings.HasSuffix(err.Error(), "é…"))
	}
	require.Equal(t, "a\uFFFDb", cutText("a\xffb"))
}

// An exception is an answer: it fails the attempt, and the connection stays.
func TestThrift_Exception(t *testing.T) {
	t.Parallel()
	for name, cfg := range spoken {
		server := serveThrift(t, cfg, func(context.Context, *thriftbus.Event) (*thriftbus.HandleResult_, error) {
			return nil, errors.New("NullPointerException")
		})
		h := openThrift(t, server.address, cfg)
		for range 3 {
			err := h.Handle(t.Context(), newEvent("1", "1"))
			require.EqualError(t, err, "call handler at "+server.address+": it answered with an exception: Internal error processing handle: NullPointerException", name)
			var exception thrift.TApplicationException
			require.ErrorAs(t, err, &exception)
			require.EqualValues(t, thrift.INTERNAL_ERROR, exception.TypeId())
			require.True(t, answered(err), "its method threw something: the server is not down")
		}
		accepted, _ := server.counts()
		require.Equal(t, 1, accepted, name)
	}
}

// A handler that returns nothing, and a server of something else.
func TestThrift_OtherServices(t *testing.T) {
	t.Parallel()
	server := newThriftServer(t, ThriftConfig{}, done)
	server.processor = thriftbus.NewEventBusProcessor(nil)
	server.start()
	h := openThrift(t, server.address, ThriftConfig{})
	err := h.Handle(t.Context(), newEvent("1", "1"))
	require.ErrorContains(t, err, "it answered with an exception: Unknown function handle; the server serves something else there: it must serve EventHandler")
	require.False(t, answered(err), "no event can be handled there")

	named := serveThrift(t, ThriftConfig{Service: "Billing"}, done)
	h = openThrift(t, named.address, ThriftConfig{Service: "Bills"})
	err = h.Handle(t.Context(), newEvent("1", "1"))
	require.ErrorContains(t, err, `this side speaks the binary protocol in frames, without TLS, under the name "Bills"`)
	require.False(t, answered(err))
}

// answered is what a circuit breaker asks of an error.
func answered(err error) bool {
	var e interface{ Answered() bool }
	return errors.As(err, &e) && e.Answered()
}

// Of exceptions two alone say that the handler itself has failed, and so does an answer
// without a result; where nothing is answered the server may be down.
func TestThrift_Answered(t *testing.T) {
	t.Parallel()
	for kind := int32(thrift.UNKNOWN_APPLICATION_EXCEPTION); kind <= thrift.VALIDATION_FAILED; kind++ {
		err := &ThriftError{Step: stepException, Err: thrift.NewTApplicationException(kind, "")}
		thrown := kind == thrift.INTERNAL_ERROR || kind == thrift.UNKNOWN_APPLICATION_EXCEPTION
		require.Equal(t, thrown, answered(eventbus.RetryAfter(0, err)), kind)
	}
	require.True(t, answered(&ThriftError{Step: stepAnswer, Err: errNoResult}))
	for _, err := range []error{context.DeadlineExceeded, io.EOF, errThriftClosed, &strangeAnswerError{}} {
		require.False(t, answered(&ThriftError{Step: stepAnswer, Err: err}), err)
	}
}

// What is too large for a frame is rejected at once, and costs no connection; what
// just fits is sent.
func TestThrift_TooLarge(t *testing.T) {
	t.Parallel()
	for name, cfg := range spoken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg.Token = ""
			if cfg.Protocol == ThriftHeader {
				cfg.Token = strings.Repeat("t", 8000)
			}
			got := make(chan int, 1)
			server := serveThrift(t, cfg, func(ctx context.Context, event *thriftbus.Event) (*thriftbus.HandleResult_, error) {
				got <- len(event.Payload) + len(event.Headers)
				return done(ctx, event)
			})
			h := openThrift(t, server.address, cfg)
			event := newEvent(strings.Repeat("i", 200), "")
			event.Headers = map[string]string{}
			for i := range 100 {
				event.Headers[fmt.Sprint("h", i)] = ""
			}
			fits := MaxThriftMessage - h.size(event)
			event.Payload = make([]byte, fits+1)
			err := h.Handle(t.Context(), event)
			var failed *ThriftError
			require.ErrorAs(t, err, &failed)
			requireOutcome(t, eventbus.Reject(failed), err)
			require.ErrorContains(t, err, "it takes 16384001 bytes; at most 16384000 can be sent")
			accepted, _ := server.counts()
			require.Zero(t, accepted)

			event.Payload = event.Payload[:fits]
			require.NoError(t, h.Handle(t.Context(), event))
			require.Equal(t, fits+100, <-got)
		})
	}
}

func TestThrift_NobodyThere(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	h := openThrift(t, address, ThriftConfig{})
	err = h.Handle(t.Context(), newEvent("1", "1"))
	require.EqualError(t, err, "call handler at "+address+": connect: dial tcp "+address+": connect: connection refused; "+
		"nothing listens there: start the process that serves EventHandler, or correct the address")
	require.Equal(t, "the address must name a host that is known here", h.hint(stepConnect, &net.OpError{Err: &net.DNSError{}}, nil))
	require.Contains(t, h.hint(stepConnect, context.DeadlineExceeded, nil), "nothing answers there")
	require.Contains(t, h.hint(stepSend, &net.OpError{Err: syscall.EPIPE}, nil), "closed the connection before it had all of it")
	require.Empty(t, h.hint(stepSend, context.Canceled, nil))
	require.Contains(t, h.hint(stepHandshake, &tls.CertificateVerificationError{Err: x509.CertificateInvalidError{}}, nil), "valid now, and for servers")
}

func TestThrift_Close(t *testing.T) {
	t.Parallel()
	called := make(chan struct{})
	release := make(chan struct{})
	server := serveThrift(t, ThriftConfig{}, func(ctx context.Context, event *thriftbus.Event) (*thriftbus.HandleResult_, error) {
		if event.ID == "slow" {
			close(called)
			<-release
		}
		return done(ctx, event)
	})
	t.Cleanup(func() { close(release) }) // before the server stops
	h := openThrift(t, server.address, ThriftConfig{})
	require.NoError(t, h.Handle(t.Context(), newEvent("1", "1")))
	failed := make(chan error, 1)
	go func() { failed <- h.Handle(t.Context(), newEvent("slow", "1")) }()
	<-called
	require.NoError(t, h.Close())
	select {
	case err := <-failed:
		require.ErrorIs(t, err, net.ErrClosed)
		require.EqualError(t, err, "call handler at "+server.address+": read the answer: it was closed: use of closed network connection")
	case <-time.After(patience):
		require.FailNow(t, "Close waits for the call that it ended")
	}
	require.ErrorIs(t, h.Handle(t.Context(), newEvent("2", "2")), net.ErrClosed)
}
