// Package serve runs a bus with the handlers of the settings file, the HTTP
// side and the admin service beside it, until it is told to stop.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/cmd/eventbus/internal/settings"
	"github.com/seed4933/eventbus/eventbus"
)

// Config is what Run works with.
type Config struct {
	File   *settings.File
	Bus    eventbus.Config // namespace, group and greatest payload
	Redis  redis.UniversalClient
	Listen string // of the HTTP side; "" for none
	Thrift string // where the admin service listens; "" for none
	Token  string // of the admin service; "" for none
	// Address is the server's, for the log; Reach the flags by which a command of
	// the log reaches what this process serves.
	Address string
	Reach   []string
	Log     *slog.Logger
	Stdout  io.Writer // of handlers of type log
	Ready   func()    // called once events are taken
}

const (
	// hardGrace is how long handlers may go on after a hard stop.
	hardGrace = 3 * time.Second
	// httpGrace is how long answers under way may take at the end.
	httpGrace = 2 * time.Second
)

// ErrAbandoned says that after a hard stop a handler did not return. What it
// handled runs again elsewhere, once this process's lease has run out.
var ErrAbandoned = errors.New("stopped hard while handlers ran on; their events run again elsewhere")

// Run serves until soft ends: then no more events are taken, running handlers
// end, and it returns nil. When hard ends as well, the handlers' contexts end,
// and what they did not finish is run again without costing an attempt.
//
// Before the first event is taken, everything is checked and opened: files,
// addresses, Redis; then the topics of the file are made or changed.
func Run(soft, hard context.Context, cfg Config) error {
	s := &server{cfg: cfg}
	if err := s.open(soft, hard); err != nil {
		s.stopping(soft)
		return s.end(s.ended(soft, err))
	}
	err := s.run(soft, hard)
	if errors.Is(err, ErrAbandoned) {
		return err // closing would wait for the handlers
	}
	return s.end(err)
}

type server struct {
	cfg      Config
	handlers *handlerSet
	bus      *eventbus.Bus
	listener net.Listener
	thrift   thriftSide
	taking   atomic.Bool // events
	stopped  time.Time   // when the stop began; zero before
}

// open makes the handlers and the bus, looks at Redis, and listens. Its error joins
// all that is wrong, each of which is to be mended before there is a start: what is
// wrong with Redis comes last.
func (s *server) open(soft, hard context.Context) error {
	made := s.makeBus(hard)
	var reached error
	if s.bus != nil {
		reached = s.bus.Ready(soft)
	}
	return errors.Join(made, s.listen(), s.listenThrift(), reached)
}

func (s *server) makeBus(hard context.Context) error {
	f := s.cfg.File
	var made error
	s.handlers, made = newHandlerSet(f, s.cfg.Stdout)
	cfg := s.cfg.Bus
	cfg.Concurrency, cfg.StopTimeout = f.Concurrency, f.StopTimeout
	cfg.Logger, cfg.OnReady = s.cfg.Log, func() { s.taking.Store(true); s.cfg.Ready() }
	cfg.Middleware = []eventbus.Middleware{stopHard(hard)}
	var err error
	if s.bus, err = eventbus.New(s.cfg.Redis, cfg); err != nil {
		return errors.Join(made, err)
	}
	return errors.Join(made, s.handlers.register(s.bus))
}

func (s *server) listen() (err error) {
	if s.cfg.Listen == "" {
		return nil
	}
	if s.listener, err = net.Listen("tcp", s.cfg.Listen); err != nil {
		return s.cfg.File.AtHTTP(fmt.Errorf("start the HTTP side: %w; choose another address with --http or http.listen, or \"\" for none", err))
	}
	return nil
}

func (s *server) close() error {
	var errs []error
	if s.bus != nil {
		errs = append(errs, s.bus.Close())
	}
	if s.listener != nil {
		// the HTTP server may have closed it already
		if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	errs = append(errs, s.thrift.close())
	if s.handlers != nil {
		errs = append(errs, s.handlers.close())
	}
	return errors.Join(errs...)
}

func (s *server) run(soft, hard context.Context) error {
	ctx, cancel := context.WithCancel(soft)
	defer cancel()
	served := make(chan error, 2)
	// Both sides answer until the bus has stopped.
	defer s.serveHTTP(served)()
	defer s.serveThrift(served)()

	ran := make(chan error, 1)
	go func() { ran <- s.runBus(ctx) }()
	var failed error
	select {
	case err := <-ran:
		s.stopping(soft)
		return s.ended(soft, err)
	case <-soft.Done():
		s.stopping(soft)
	case failed = <-served:
		cancel()
	}
	select {
	case err := <-ran:
		return errors.Join(failed, s.ended(ctx, err))
	case <-hard.Done():
	}
	s.cfg.Log.Warn("stopping hard: contexts of running handlers end")
	timer := time.NewTimer(hardGrace)
	defer timer.Stop()
	select {
	case err := <-ran:
		return errors.Join(failed, s.ended(ctx, err))
	case <-timer.C:
		return errors.Join(failed, ErrAbandoned)
	}
}

// stopping notes that the stop has begun, if it has, and tells the log, which a bus
// that takes events does by itself.
func (s *server) stopping(soft context.Context) {
	if soft.Err() == nil {
		return
	}
	s.stopped = time.Now()
	if !s.taking.Load() {
		s.cfg.Log.Info("stopping")
	}
}

// end closes everything, and tells the log when a stop has come to its end.
func (s *server) end(err error) error {
	if err = errors.Join(err, s.close()); err != nil {
		return err
	}
	if !s.stopped.IsZero() {
		s.cfg.Log.Info("stopped", "took", time.Since(s.stopped).Round(time.Millisecond))
	}
	return nil
}

// ended is what the end of the bus means: after a stop no more than a line in
// the log, such as for a start that the stop broke off.
func (s *server) ended(ctx context.Context, err error) error {
	if ctx.Err() == nil || err == nil {
		return err
	}
	if !errors.Is(err, context.Canceled) {
		s.cfg.Log.Warn("an error came up while the stop began", "err", err)
	}
	return nil
}

func (s *server) runBus(ctx context.Context) error {
	t := topics{file: s.cfg.File, bus: s.bus, group: group(s.cfg.Bus), log: s.cfg.Log, reach: s.cfg.Reach}
	for i := range s.cfg.File.Topics {
		if err := t.apply(ctx, &s.cfg.File.Topics[i]); err != nil {
			return err
		}
		if err := t.warn(ctx, &s.cfg.File.Topics[i]); err != nil {
			return err
		}
	}
	s.warnOfAdmin()
	s.cfg.Log.Info("serving", append([]any{
		"redis", s.cfg.Address, "group", t.group, "topics", len(s.cfg.File.Topics), "handlers", s.handlers.count(),
		"http", s.address(), "thrift", s.thrift.address(),
	}, s.access()...)...)
	if s.handlers.count() == 0 {
		s.cfg.Log.Warn("the settings name no handler: nothing is consumed")
		s.cfg.Ready()
		<-ctx.Done()
		return nil
	}
	return s.bus.Run(ctx)
}

func group(cfg eventbus.Config) string {
	if cfg.Group == "" {
		return eventbus.DefaultGroup
	}
	return cfg.Group
}

func (s *server) address() string {
	if s.listener == nil {
		return "none"
	}
	return "http://" + s.listener.Addr().String()
}

// serveHTTP answers on the listener; its failure goes to failed. The function
// that it returns ends it.
func (s *server) serveHTTP(failed chan<- error) (stop func()) {
	if s.listener == nil {
		return func() {}
	}
	h := admin.NewHTTPServer(admin.NewHTTP(s.bus), s.cfg.Log)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := h.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("the HTTP side ended: %w", err)
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), httpGrace)
		defer cancel()
		if h.Shutdown(ctx) != nil {
			_ = h.Close() // who is still being answered has had its time
		}
		<-done
	}
}
