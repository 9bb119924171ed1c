package port

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
)

const (
	levelDebug = slog.LevelDebug
	// arriveTime is how long a message that is coming in when the server stops
	// may take to arrive.
	arriveTime = time.Second
	// pauses after errors of accepting, which double.
	minPause = 5 * time.Millisecond
	maxPause = time.Second
)

// Config is what a server is made of.
type Config struct {
	// Processor processes the calls, several at once. It must not be nil.
	Processor thrift.TProcessor
	// HTTP serves the clients that speak HTTP. Defaults to telling them, with
	// status 404, that there is no HTTP here.
	HTTP http.Handler
	// TLS makes every client speak TLS. Defaults to nil: none does. HTTP is
	// version 1.1 with it, whatever NextProtos says.
	TLS *tls.Config
	// Admit returns nil for a client that may call, else why not. It is asked for
	// each message, once its headers and the name of its method have come and
	// before its arguments are read. One who may not never gets memory that others
	// wait for: a message of up to about 12 KiB reaches the processor all the same,
	// which is to refuse it in the terms of its service, with at most 32 KiB. The
	// answer to a larger one is an UNKNOWN application exception, or status 401
	// over HTTP, with the error's text, and the connection is closed.
	// Defaults to nil: all may call.
	Admit func(Client) error
	// Limits are what clients can use of the server.
	Limits Limits
	// Log gets panics at level error. Clients that are turned away for their TLS, their
	// pace or the length of their message, and connections that cannot be accepted, are
	// warned of, one of each kind a minute; the others, and what else strangers do wrong,
	// are logged at level debug. Defaults to slog.Default().
	Log *slog.Logger
}

// Server serves Thrift and HTTP on one port.
type Server struct {
	processor thrift.TProcessor
	admit     func(Client) error
	tls       *tls.Config
	limits    Limits
	log       *slog.Logger
	conf      *thrift.TConfiguration

	table  *table
	budget *budget
	http   *httpSide

	base   context.Context // of the calls
	cancel context.CancelFunc
	done   chan struct{} // closed: no more connections are accepted
	work   sync.WaitGroup

	warnings warnings

	mu        sync.Mutex
	stopped   bool
	listeners map[net.Listener]struct{}
}

// New returns a server; Serve makes it serve.
func New(c Config) *Server {
	s := &Server{
		processor: c.Processor,
		admit:     c.Admit,
		limits:    c.Limits.withDefaults(),
		log:       c.Log,
		done:      make(chan struct{}),
		listeners: map[net.Listener]struct{}{},
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	if c.TLS != nil {
		s.tls = c.TLS.Clone()
		s.tls.NextProtos = nil
	}
	s.conf = &thrift.TConfiguration{
		MaxMessageSize:   int32(s.limits.MaxMessage),
		MaxFrameSize:     int32(s.limits.MaxMessage),
		MaxContainerSize: int32(s.limits.MaxContainer),
	}
	s.table = newTable(s.limits.MaxConnections)
	s.budget = newBudget(s.limits.Memory, s.limits.MaxMessage)
	s.base, s.cancel = context.WithCancel(context.Background())
	s.http = newHTTPSide(s, c.HTTP)
	return s
}

func (s *Server) newExchange(in *bufio.Reader, a *account, until time.Time) *exchange {
	a.barred = errLongHead // until it is known whose message it is
	return &exchange{
		in: in, left: s.limits.MaxMessage, account: a, until: until, conf: s.conf,
		answer: answer{max: s.limits.MaxMessage}, write: s.limits.Write,
		opened: func() bool { return s.base.Err() == nil }, admit: s.admit,
	}
}

// Serve serves the connections of a listener, which it closes, until Shutdown;
// then it returns nil. It may be called for several listeners. It goes on when
// the system has no more files or other troubles pass, and returns an error
// only when the listener is closed by another.
func (s *Server) Serve(l net.Listener) error {
	if !s.track(l) {
		_ = l.Close() // it was never used
		return nil
	}
	defer s.work.Done()
	defer s.untrack(l)
	pause := time.Duration(0)
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			s.start(conn)
			continue
		case s.stopping():
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept connections at %s: %w", l.Addr(), err)
		}
		freed := outOfFiles(err) && s.table.evict()
		pause = min(max(2*pause, minPause), maxPause)
		s.warnings.accept.Log(s.log, slog.LevelDebug, "a connection could not be accepted", "err", err, "closed_another", freed, "pause", pause)
		select {
		case <-time.After(pause):
		case <-s.done:
			return nil
		}
	}
}

// outOfFiles reports whether the process, or the system, has no file left.
func outOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

func (s *Server) track(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.listeners[l] = struct{}{}
	s.work.Add(1)
	s.http.start()
	return true
}

func (s *Server) untrack(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
	_ = l.Close() // Shutdown may have closed it
}

func (s *Server) stopping() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// start serves a connection, in the place of another when there are too many.
func (s *Server) start(conn net.Conn) {
	e := s.table.add(conn)
	if e == nil {
		s.log.Debug("a connection was refused: all others are in calls", "client", conn.RemoteAddr().String())
		_ = conn.Close() // nothing was said on it
		return
	}
	s.work.Go(s.newConn(e).serve)
}

// Shutdown stops the server: it accepts no more connections, closes those that
// are not in use, gives messages that are coming in a second to arrive, and
// lets calls that are under way end. When ctx ends before that, it cancels the
// contexts of the calls, closes all connections, and returns the error of ctx.
// It returns when everything that the server runs has ended; a processor that
// goes on when its context is cancelled holds it up. Further calls are the same.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	s.table.drain(time.Now().Add(arriveTime))
	_ = s.http.server.Shutdown(ctx) // its error is that of ctx, which is looked at below
	var err error
	select {
	case <-s.table.allGone:
	case <-ctx.Done():
		err = fmt.Errorf("wait for calls to end: %w", ctx.Err())
	}
	s.cancel()
	s.table.closeAll()
	_ = s.http.server.Close() // its connections are closed already
	s.work.Wait()
	return err
}

func (s *Server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	s.stopped = true
	close(s.done)
	for l := range s.listeners {
		_ = l.Close() // Accept tells
	}
}
