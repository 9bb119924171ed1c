package port

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// scripted is a connection on which all there is to read is there, and nothing
// follows; what is written to it is thrown away.
type scripted struct {
	net.Conn // for its addresses and deadlines
	in       *bytes.Reader
	once     sync.Once
	closed   chan struct{}
}

func newScripted(b []byte) *scripted {
	end, other := net.Pipe()
	_ = other.Close() // nobody is there
	return &scripted{Conn: end, in: bytes.NewReader(b), closed: make(chan struct{})}
}

func (c *scripted) Read(p []byte) (int, error)  { return c.in.Read(p) }
func (c *scripted) Write(p []byte) (int, error) { return len(p), nil }

func (c *scripted) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// FuzzServer feeds bytes to a connection: whatever they are, its goroutine ends
// when they do, nothing panics, and no memory is allocated that they do not pay
// for.
func FuzzServer(f *testing.F) {
	for _, k := range kinds() {
		f.Add(k.encode(func(ctx context.Context, p thrift.TProtocol) {
			_ = p.WriteMessageBegin(ctx, "EventBus:sendBatch", thrift.CALL, 1) // to memory
			_ = batchArgs().Write(ctx, p)
			_ = p.WriteMessageEnd(ctx)
		}))
		f.Add(k.encode(func(ctx context.Context, p thrift.TProtocol) {
			_ = p.WriteMessageBegin(ctx, "nonesuch", thrift.CALL, 1)
			_ = batchArgs().Write(ctx, p)
			_ = p.WriteMessageEnd(ctx)
		}))
	}
	// Every method, and what the fake of other tests takes for an order.
	for name := range newProcessor(newEchoAdmin()).ProcessorMap() {
		f.Add(kinds()[2].encode(func(ctx context.Context, p thrift.TProtocol) {
			_ = p.WriteMessageBegin(ctx, name, thrift.CALL, 1)
			writeNothing(ctx, p)
		}))
	}
	for _, order := range []string{"panic", "fail", "block", "size 17000000", "size 99999999999"} {
		f.Add(kinds()[0].encode(func(ctx context.Context, p thrift.TProtocol) {
			_ = p.WriteMessageBegin(ctx, "getTopic", thrift.CALL, 1)
			_ = (&eventbusv1.EventAdminGetTopicArgs{Name: order}).Write(ctx, p)
			_ = p.WriteMessageEnd(ctx)
		}))
	}
	f.Add([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	for _, bad := range faults() {
		f.Add(bad.bytes[:min(len(bad.bytes), 1<<10)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		log := &logBuffer{}
		s := New(Config{Processor: newProcessor(newEchoAdmin()), Log: slog.New(slog.NewTextHandler(log, nil))})
		s.http.start()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c := newScripted(b)
		s.start(c)
		select {
		case <-c.closed:
		case <-time.After(patience):
			require.Fail(t, "it hangs")
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, s.Shutdown(ctx))
		runtime.ReadMemStats(&after)
		// What 100 bytes of claims may get is a map of 10 000 entries; the rest
		// is the connection itself.
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20+200*len(b)))
		require.NotContains(t, log.String(), "panicked")
	})
}
