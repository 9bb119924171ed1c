package port

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// patience is how long tests wait for what should come at once.
const patience = 10 * time.Second

// bundle is the world of one test.
type bundle struct {
	server *Server
	addr   string
	admin  *fakeAdmin
	log    *logBuffer
	served chan error
}

// setup serves on a free port until the test ends; change may alter the config.
func setup(t *testing.T, change func(*Config)) *bundle {
	t.Helper()
	b := &bundle{admin: newFakeAdmin(), log: &logBuffer{}, served: make(chan error, 1)}
	mux := http.NewServeMux()
	c := Config{
		Processor: newProcessor(b.admin),
		HTTP:      mux,
		Log:       slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&c)
	}
	b.server = New(c)
	mux.Handle("/thrift", b.server.ThriftHandler())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b.addr = l.Addr().String()
	go func() { b.served <- b.server.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // tests that care for calls under way shut down themselves
		_ = b.server.Shutdown(ctx)
		require.NoError(t, <-b.served)
	})
	return b
}

// logs waits until the log says something: it is written after the client knows.
func (b *bundle) logs(t *testing.T, what string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(b.log.String(), what) }, patience, time.Millisecond,
		"not in the log: %s", what)
}

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// dial opens a connection that is closed when the test ends, at the latest.
func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(3*patience)))
	return c
}

// kind is one way to speak Thrift.
type kind struct {
	name     string
	protocol func(thrift.TTransport) thrift.TProtocol
}

func kinds() []kind {
	conf := &thrift.TConfiguration{MaxFrameSize: DefaultMaxMessage}
	binary := func(t thrift.TTransport) thrift.TProtocol { return thrift.NewTBinaryProtocolConf(t, conf) }
	compact := func(t thrift.TTransport) thrift.TProtocol { return thrift.NewTCompactProtocolConf(t, conf) }
	header := func(id thrift.THeaderProtocolID) func(thrift.TTransport) thrift.TProtocol {
		return func(t thrift.TTransport) thrift.TProtocol {
			return thrift.NewTHeaderProtocolConf(t, &thrift.TConfiguration{THeaderProtocolID: &id, MaxFrameSize: DefaultMaxMessage})
		}
	}
	framed := func(inner func(thrift.TTransport) thrift.TProtocol) func(thrift.TTransport) thrift.TProtocol {
		return func(t thrift.TTransport) thrift.TProtocol {
			return inner(thrift.NewTFramedTransportConf(t, conf))
		}
	}
	unframed := func(inner func(thrift.TTransport) thrift.TProtocol) func(thrift.TTransport) thrift.TProtocol {
		return func(t thrift.TTransport) thrift.TProtocol {
			return inner(thrift.NewTBufferedTransport(t, 4096))
		}
	}
	return []kind{
		{"framed binary", framed(binary)},
		{"framed compact", framed(compact)},
		{"unframed binary", unframed(binary)},
		{"unframed compact", unframed(compact)},
		{"THeader binary", header(thrift.THeaderProtocolBinary)},
		{"THeader compact", header(thrift.THeaderProtocolCompact)},
	}
}

// protocolOver returns the protocol of a kind over a connection.
func (k kind) over(c net.Conn) thrift.TProtocol {
	return k.protocol(thrift.NewTSocketFromConnConf(c, nil))
}

// encode returns the bytes of what write writes in the kind.
func (k kind) encode(write func(ctx context.Context, p thrift.TProtocol)) []byte {
	b := thrift.NewTMemoryBuffer()
	p := k.protocol(b)
	write(context.Background(), p)
	_ = p.Flush(context.Background()) // a buffer takes everything
	return b.Bytes()
}

func adminOver(p thrift.TProtocol) *eventbusv1.EventAdminClient {
	return eventbusv1.NewEventAdminClient(thrift.NewTStandardClient(p, p))
}

func busOver(p thrift.TProtocol) *eventbusv1.EventBusClient {
	m := thrift.NewTMultiplexedProtocol(p, "EventBus")
	return eventbusv1.NewEventBusClient(thrift.NewTStandardClient(m, m))
}

// ping makes one call on a connection of its own and returns how long it took.
func ping(addr string, conf *tls.Config) (time.Duration, error) {
	began := time.Now()
	d := net.Dialer{Deadline: began.Add(patience)}
	var c net.Conn
	var err error
	if conf == nil {
		c, err = d.Dial("tcp", addr)
	} else {
		c, err = tls.DialWithDialer(&d, "tcp", addr, conf)
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(began.Add(patience)); err != nil {
		return 0, err
	}
	_, err = adminOver(kinds()[0].over(c)).GetTopic(context.Background(), "orders")
	return time.Since(began), err
}

// soon is within what a good client must be answered, whatever goes on.
const soon = 2 * time.Second

// stillServes fails when a good client is not answered soon.
func stillServes(t require.TestingT, addr string) {
	took, err := ping(addr, nil)
	require.NoError(t, err)
	require.Less(t, took, soon)
}

// closes fails when the server does not close the connection; what it sends
// before is returned.
func closes(t *testing.T, c net.Conn) []byte {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	b, err := io.ReadAll(c)
	var timeout net.Error
	if err != nil { // a reset is as good
		require.False(t, asTimeout(err, &timeout), "the connection is still open")
	}
	return b
}

func asTimeout(err error, as *net.Error) bool {
	ne, ok := err.(net.Error)
	*as = ne
	return ok && ne.Timeout()
}
