package handlers

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// hosted is a handler as a process that hosts one writes it.
type hosted func(ctx context.Context, event *thriftbus.Event) (*thriftbus.HandleResult_, error)

func (f hosted) Handle(ctx context.Context, event *thriftbus.Event) (*thriftbus.HandleResult_, error) {
	return f(ctx, event)
}

func done(context.Context, *thriftbus.Event) (*thriftbus.HandleResult_, error) {
	return &thriftbus.HandleResult_{Outcome: thriftbus.Outcome_DONE}, nil
}

// thriftServer is a real server, which counts connections and closes them on
// demand.
type thriftServer struct {
	t         *testing.T
	cfg       ThriftConfig
	tls       *tls.Config
	processor thrift.TProcessor

	mu       sync.Mutex
	listener net.Listener
	address  string
	conns    map[net.Conn]struct{}
	accepted int
	most     int // connections at once
	serving  sync.WaitGroup
}

// serveThrift serves a handler as cfg says, of which it uses what is spoken.
func serveThrift(t *testing.T, cfg ThriftConfig, handle hosted) *thriftServer {
	t.Helper()
	s := newThriftServer(t, cfg, handle)
	s.start()
	return s
}

func newThriftServer(t *testing.T, cfg ThriftConfig, handle hosted) *thriftServer {
	var processor thrift.TProcessor = thriftbus.NewEventHandlerProcessor(handle)
	if cfg.Service != "" {
		multiplexed := thrift.NewTMultiplexedProcessor()
		multiplexed.RegisterProcessor(cfg.Service, processor)
		processor = multiplexed
	}
	s := &thriftServer{t: t, cfg: cfg, processor: processor, conns: map[net.Conn]struct{}{}, address: "127.0.0.1:0"}
	t.Cleanup(s.stop)
	return s
}

// start listens; again at the same address after stop.
func (s *thriftServer) start() {
	s.t.Helper()
	listener, err := net.Listen("tcp", s.address)
	require.NoError(s.t, err)
	s.listener, s.address = listener, listener.Addr().String()
	s.serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if s.tls != nil {
				conn = tls.Server(conn, s.tls)
			}
			s.mu.Lock()
			s.conns[conn] = struct{}{}
			s.accepted++
			s.most = max(s.most, len(s.conns))
			s.mu.Unlock()
			s.serving.Go(func() { s.serve(conn) })
		}
	})
}

func (s *thriftServer) serve(conn net.Conn) {
	defer s.end(conn)
	limits := &thrift.TConfiguration{}
	var protocol thrift.TProtocol
	socket := thrift.NewTSocketFromConnConf(conn, limits)
	var layer thrift.TTransport
	switch {
	case s.cfg.Protocol == ThriftHeader:
		protocol = thrift.NewTHeaderProtocolConf(socket, limits)
	case s.cfg.Unframed:
		layer = thrift.NewTBufferedTransport(socket, 4096)
	default:
		layer = thrift.NewTFramedTransportConf(socket, limits)
	}
	switch s.cfg.Protocol {
	case ThriftBinary, "":
		protocol = thrift.NewTBinaryProtocolConf(layer, limits)
	case ThriftCompact:
		protocol = thrift.NewTCompactProtocolConf(layer, limits)
	}
	for {
		ctx := context.Background()
		if header, ok := protocol.(*thrift.THeaderProtocol); ok {
			if header.ReadFrame(ctx) != nil {
				return
			}
			ctx = thrift.AddReadTHeaderToContext(ctx, header.GetReadHeaders())
		}
		// The runtime's servers close a connection when a handler has failed; those in
		// Java do not, and this one neither.
		if _, err := s.processor.Process(ctx, protocol, protocol); err != nil && err.TExceptionType() != thrift.TExceptionTypeUnknown {
			return
		}
	}
}

func (s *thriftServer) end(conn net.Conn) {
	s.mu.Lock()
	delete(s.conns, conn)
	s.mu.Unlock()
	_ = conn.Close()
}

// drop closes all connections.
func (s *thriftServer) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		_ = conn.Close()
	}
}

// stop closes all and returns when nothing runs any more.
func (s *thriftServer) stop() {
	_ = s.listener.Close()
	s.drop()
	s.serving.Wait()
}

func (s *thriftServer) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

func (s *thriftServer) counts() (accepted, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted, s.most
}

// openThrift makes a handler that is closed when the test ends.
func openThrift(t *testing.T, address string, cfg ThriftConfig) *Thrift {
	t.Helper()
	h, err := NewThrift(address, cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, h.Close())
		require.NoError(t, h.Close())
	})
	return h
}

// answering is a peer that for each connection does what a function does, such as
// one that speaks no Thrift.
func answering(t *testing.T, answer func(conn net.Conn)) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var serving sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			serving.Go(func() {
				defer conn.Close()
				answer(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		mu.Unlock()
		serving.Wait()
	})
	return listener.Addr().String()
}
