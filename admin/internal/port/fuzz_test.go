package port

import (
	"context"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"
)

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
	f.Add([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	for _, bad := range faults() {
		f.Add(bad.bytes[:min(len(bad.bytes), 1<<10)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		log := &logBuffer{}
		s := New(Config{Processor: newProcessor(newFakeAdmin()), Log: slog.New(slog.NewTextHandler(log, nil))})
		s.http.start()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		client, server := net.Pipe()
		s.start(server)
		answers := make(chan struct{})
		go func() {
			defer close(answers)
			_, _ = io.Copy(io.Discard, client) // until the server or the test closes
		}()
		require.NoError(t, client.SetWriteDeadline(time.Now().Add(patience)))
		_, _ = client.Write(b) // the server may have closed
		require.NoError(t, client.Close())
		<-answers
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, s.Shutdown(ctx), "it hangs")
		runtime.ReadMemStats(&after)
		// What 100 bytes of claims may get is a map of 10 000 entries; the rest
		// is the connection itself.
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20+200*len(b)))
		if !strings.Contains(log.String(), "as asked") { // the fake's own
			require.NotContains(t, log.String(), "panicked")
		}
	})
}
