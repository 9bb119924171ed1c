package handlers

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/idl"
)

// Defaults and limits of Thrift.
const (
	// DefaultThriftMaxIdle is the default of ThriftConfig.MaxIdle.
	DefaultThriftMaxIdle = 16
	// DefaultThriftDialTimeout is the default of ThriftConfig.DialTimeout.
	DefaultThriftDialTimeout = 5 * time.Second
	// DefaultThriftIdleTimeout is the default of ThriftConfig.IdleTimeout. Most of
	// what stands between two processes and forgets idle connections waits longer.
	DefaultThriftIdleTimeout = 50 * time.Second
	// MaxThriftMessage is how many bytes an event, or an answer, may take on the
	// wire: the frame size that Thrift's runtimes take unless told otherwise.
	MaxThriftMessage = thrift.DEFAULT_MAX_FRAME_SIZE
)

// ThriftProtocol is how messages are written.
type ThriftProtocol string

// Protocols.
const (
	ThriftBinary  ThriftProtocol = "binary"
	ThriftCompact ThriftProtocol = "compact"
	// ThriftHeader is THeader, with the binary protocol inside: the only one that
	// carries a token. The runtimes for C++, Go, Node.js, Python and Ruby serve it,
	// that for Java does not.
	ThriftHeader ThriftProtocol = "header"
)

// ThriftConfig is the settings of a Thrift. The zero value means the defaults,
// which fit a TNonblockingServer, TThreadedSelectorServer or THsHaServer as they
// come.
type ThriftConfig struct {
	// Unframed sends messages without frames, as a TThreadPoolServer or a
	// TSimpleServer wants them unless it was given a TFramedTransport.Factory.
	// Defaults to frames, which the servers that do not block demand. It does not
	// go with ThriftHeader, whose frames are its own.
	Unframed bool
	// Protocol must be that of the server. Defaults to ThriftBinary.
	Protocol ThriftProtocol
	// Service is the name under which a server with a TMultiplexedProcessor has
	// registered its EventHandler. Defaults to none.
	Service string
	// Token is sent with each event, in the header "authorization" as
	// "Bearer <token>"; with ThriftHeader only. Anyone between can read it
	// unless TLS is set. Defaults to none.
	Token string
	// TLS makes the connections TLS. A ServerName that is empty is the address's
	// host. It is not changed. Defaults to none: plain TCP.
	TLS *tls.Config
	// MaxIdle is how many connections are kept open for reuse. Each one holds a
	// thread of a TThreadPoolServer. Defaults to DefaultThriftMaxIdle (16); below 0 is
	// an error.
	MaxIdle int
	// DialTimeout is how long it may take to connect, TLS included; the handler's
	// timeout ends it earlier. Defaults to DefaultThriftDialTimeout (5 s); below 0 is
	// an error.
	DialTimeout time.Duration
	// IdleTimeout is how long a connection is kept without being used; best less
	// than the server, and what is on the way to it, keeps one.
	// Defaults to DefaultThriftIdleTimeout (50 s); below 0 is an error.
	IdleTimeout time.Duration
}

// Thrift is an EventHandle whose work is done by another process: a server of
// the service EventHandler of thrift/eventbus.thrift, in any language that Thrift
// knows. What the server answers decides:
//
//	DONE             success
//	RETRY            failure
//	RETRY_AFTER      eventbus.RetryAfter of retry_after_ms; a failure like RETRY
//	                 where that is missing or not more than 0
//	REJECT           eventbus.Reject
//	another outcome  failure
//	an exception     failure
//	no answer        failure
//
// An event that takes more than MaxThriftMessage is rejected without being sent.
// Errors are a *ThriftOutcomeError where there was an outcome, and a *ThriftError
// otherwise, which says what would be right.
//
// Each call has a connection to itself for as long as it takes, so there are
// never more of them than calls under way at once; a server with a thread for
// each connection should have at least as many as the handler's Concurrency.
// Connections are used again, the one that was used last first. One that the
// server has closed meanwhile is noticed before an event is sent over it, and one
// on which anything went wrong, or whose call ran out of time, is closed, so
// that no late answer can be taken for that to another event. An event whose
// call failed may have been handled all the same: the server tells by its id.
//
// HandleConfig.Breaker keeps events from using up their attempts while the server
// is away: it counts calls without a connection, without an answer in time, and with
// an answer that is not one of EventHandler's; but no outcome, nor the exceptions
// INTERNAL_ERROR and UNKNOWN, with which runtimes answer when the method has thrown
// something, nor an answer without a HandleResult.
type Thrift struct {
	address string
	cfg     ThriftConfig // with all defaults
	limits  *thrift.TConfiguration
	pool    thriftPool

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // calls
	closing context.Context
	close   context.CancelFunc
}

// NewThrift returns a Thrift that calls the server at host:port. Each thing that is
// wrong with the arguments is an *eventbus.ArgumentError; they are joined. Nothing is
// connected to yet.
func NewThrift(address string, cfg ThriftConfig) (*Thrift, error) {
	cfg, err := checkThrift(address, cfg)
	if err != nil {
		return nil, err
	}
	if cfg.TLS != nil {
		cfg.TLS = cfg.TLS.Clone()
		if cfg.TLS.ServerName == "" {
			cfg.TLS.ServerName, _, _ = net.SplitHostPort(address)
		}
	}
	closing, end := context.WithCancel(context.Background())
	return &Thrift{
		address: address,
		cfg:     cfg,
		limits: &thrift.TConfiguration{
			MaxMessageSize:     MaxThriftMessage,
			MaxFrameSize:       MaxThriftMessage,
			MaxContainerSize:   maxThriftContainer,
			TBinaryStrictRead:  thrift.BoolPtr(true),
			TBinaryStrictWrite: thrift.BoolPtr(true),
		},
		pool:    thriftPool{maxIdle: cfg.MaxIdle, idleTimeout: cfg.IdleTimeout},
		closing: closing,
		close:   end,
	}, nil
}

// Handle has the server handle the event and returns when it has answered, or
// when ctx ends. After Close its error wraps net.ErrClosed.
func (t *Thrift) Handle(ctx context.Context, event *eventbus.Event) error {
	if size := t.size(event); size > MaxThriftMessage {
		return eventbus.Reject(&ThriftError{
			Address: t.address, Step: stepSend,
			Err:  fmt.Errorf("it takes %d bytes", size),
			Hint: fmt.Sprintf("at most %d can be sent", MaxThriftMessage),
		})
	}
	ctx, end, err := t.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	result, err := t.call(ctx, idl.Event(event))
	if err != nil {
		return err
	}
	return t.outcome(event.Handler, result)
}

// call sends the event over a kept connection, or else a new one.
func (t *Thrift) call(ctx context.Context, event *thriftbus.Event) (*thriftbus.HandleResult_, error) {
	for {
		conn, kept := t.pool.take(), true
		if conn == nil {
			var err error
			if conn, err = t.dial(ctx); err != nil {
				return nil, err
			}
			kept = false
		}
		answer := conn.call(ctx, event)
		if answer.reusable {
			t.pool.put(conn)
		} else {
			conn.abort()
		}
		// Where not all of the event could be written nobody can have handled it.
		// Each turn uses up a kept connection, so it ends.
		if kept && answer.unsent && ctx.Err() == nil {
			continue
		}
		return answer.result, answer.err
	}
}

// begin notes that a call is under way; its context ends with the handler.
func (t *Thrift) begin(ctx context.Context) (_ context.Context, end func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, nil, &ThriftError{Address: t.address, Step: stepBegin, Err: errThriftClosed}
	}
	t.running.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(t.closing, func() { cancel(errThriftClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		t.running.Done()
	}, nil
}

// Close ends all connections, and returns when the calls under way have ended:
// they fail at once, and the server may still handle their events. So it comes
// after the bus has stopped. It is idempotent.
func (t *Thrift) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.close()
	t.running.Wait()
	t.pool.close()
	return nil
}
