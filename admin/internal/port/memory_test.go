package port

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// flood is bytes that many clients send at once and then stand still with.
type flood struct {
	name  string
	bytes func() []byte
}

func floods() []flood {
	unframedBinary, framedCompact, unframedCompact := kinds()[2], kinds()[1], kinds()[3]
	batch := func(k kind, messages int, write func(ctx context.Context, p thrift.TProtocol)) []byte {
		return k.encode(func(ctx context.Context, p thrift.TProtocol) {
			_ = p.WriteMessageBegin(ctx, "EventBus:sendBatch", thrift.CALL, 1) // to memory
			_ = p.WriteStructBegin(ctx, "")
			_ = p.WriteFieldBegin(ctx, "", thrift.LIST, 2)
			_ = p.WriteListBegin(ctx, thrift.STRUCT, messages)
			for range messages {
				write(ctx, p)
			}
		})
	}
	empty := func(ctx context.Context, p thrift.TProtocol) {
		_ = p.WriteStructBegin(ctx, "")
		_ = p.WriteFieldStop(ctx)
		_ = p.WriteStructEnd(ctx)
	}
	strings := func(length byte, sent int) func() []byte {
		return func() []byte {
			return message(unframedBinary, "getTopic", thrift.STRING, 1, append([]byte{0, length, 0, 0}, make([]byte, sent)...))
		}
	}
	return []flood{
		{"strings of 16 MB", strings(0xf9, 15<<20)},
		{"half of strings of 16 MB", strings(0xf9, 8<<20)},
		{"strings of 4 MB", strings(0x40, 4<<20)},
		{"payloads of 16 MB", func() []byte {
			return batch(unframedBinary, 1, func(ctx context.Context, p thrift.TProtocol) {
				_ = p.WriteFieldBegin(ctx, "", thrift.STRING, 1)
				_ = p.WriteI32(ctx, 15<<20)
				_, _ = p.Transport().Write(make([]byte, 8<<20))
			})
		}},
		{"frames that claim 16 MB", func() []byte {
			return append(frame(DefaultMaxMessage), message(unframedBinary, "nonesuch", thrift.STRING, 1, append([]byte{0, 0xf9, 0, 0}, make([]byte, 4<<20)...))...)
		}},
		{"10 000 empty structs", func() []byte { return batch(unframedCompact, 9_999, empty) }},
		// Each takes two bytes, and becomes a map of 10 000 entries.
		{"maps of one key", func() []byte {
			return batch(unframedCompact, 40, func(ctx context.Context, p thrift.TProtocol) {
				_ = p.WriteStructBegin(ctx, "")
				_ = p.WriteFieldBegin(ctx, "", thrift.MAP, 4)
				_ = p.WriteMapBegin(ctx, thrift.STRING, thrift.STRING, 10_000)
				_, _ = p.Transport().Write(make([]byte, 20_000))
				_ = p.WriteFieldStop(ctx)
				_ = p.WriteStructEnd(ctx)
			})
		}},
		{"maps that claim to be large", func() []byte {
			return batch(unframedCompact, 1, func(ctx context.Context, p thrift.TProtocol) {
				_ = p.WriteStructBegin(ctx, "")
				_ = p.WriteFieldBegin(ctx, "", thrift.MAP, 4)
				_ = p.WriteMapBegin(ctx, thrift.STRING, thrift.STRING, 10_000)
			})
		}},
		{"many names", func() []byte {
			return batch(framedCompact, 5_000, func(ctx context.Context, p thrift.TProtocol) {
				m := &eventbusv1.Message{Payload: []byte("1"), Headers: map[string]string{"a": "b", "c": "d", "e": "f"}}
				_ = m.Write(ctx, p)
			})
		}},
	}
}

// Messages that cost more than there is to spend, from as many clients as there
// can be: the memory stays within its bounds, and small calls do not wait.
func TestServer_Memory(t *testing.T) {
	t.Parallel()
	all := floods()
	for _, f := range floods() {
		all = append(all, flood{f.name + " over HTTP", func() []byte {
			body := f.bytes()
			return fmt.Appendf(nil, "POST /thrift HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-thrift\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}})
	}
	for _, f := range all {
		t.Run(f.name, func(t *testing.T) {
			c := startChild(t, 0)
			stillServes(t, c.addr)
			before := c.memory(t, false)
			b := f.bytes()
			b = b[:len(b)-1] // never complete
			var senders, connected sync.WaitGroup
			ctx, stop := context.WithCancel(t.Context())
			for range 200 {
				connected.Add(1)
				senders.Go(func() {
					conn, err := net.Dial("tcp", c.addr)
					connected.Done()
					if err != nil {
						t.Errorf("dial: %v", err)
						return
					}
					defer func() { _ = conn.Close() }()
					defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
					_, _ = io.Copy(conn, bytes.NewReader(b)) // until the server takes no more
					_, _ = conn.Read(make([]byte, 1))        // until the end of the test
				})
			}
			connected.Wait()
			for began := time.Now(); time.Since(began) < 500*time.Millisecond; {
				stillServes(t, c.addr)
			}
			stop()
			senders.Wait()
			stillServes(t, c.addr)
			grown := c.memory(t, true) - before
			require.Less(t, grown, int64(maxGrowth))
		})
	}
}

// A message that is as large as can be, several times at once: they are read one
// after another, and none is lost.
func TestServer_LargeMessages(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	var senders sync.WaitGroup
	for i := range 8 {
		senders.Go(func() {
			p := kinds()[i%len(kinds())].over(dial(t, b.addr))
			id, err := busOver(p).Send(t.Context(), "t", &eventbusv1.Message{Payload: make([]byte, DefaultMaxMessage-200)})
			if err != nil || !strings.HasPrefix(id, "t 163") {
				t.Errorf("%s %v", id, err)
			}
		})
	}
	senders.Wait()
}

// holdAll takes all of the budget until the test ends, or until it is let go.
func holdAll(t *testing.T, b *budget) (letGo func()) {
	t.Helper()
	a := b.open(nil, nil)
	for _, part := range []int64{b.common, b.lane} {
		if part > 0 {
			require.NoError(t, a.take(a.credit+part, time.Now()))
		}
	}
	return a.close
}

// A call whose answer cannot be held was made: the client is told so, and goes on.
func TestServer_NoMemoryForAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t, brief(func(l *Limits) { l.Write = 50 * time.Millisecond }))
	letGo := holdAll(t, b.server.budget)
	for _, k := range kinds() {
		admin := adminOver(k.over(dial(t, b.addr)))
		_, err := admin.GetTopic(t.Context(), "size 100000")
		requireException(t, err, thrift.INTERNAL_ERROR, "the call was made")
		require.ErrorContains(t, err, errNoMemory.Error(), k.name)
		require.NoError(t, admin.Ping(t.Context()), k.name)
	}
	letGo()
	_, err := adminOver(kinds()[0].over(dial(t, b.addr))).GetTopic(t.Context(), "size 100000")
	require.NoError(t, err)
}

// So is one whose answer and arguments together cost more than one message may.
func TestServer_CostlyAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.Limits = Limits{MaxMessage: 300_000, Memory: 1} })
	admin := adminOver(kinds()[0].over(dial(t, b.addr)))
	_, err := admin.GetTopic(t.Context(), strings.Repeat("x", 290_000))
	requireException(t, err, thrift.INTERNAL_ERROR, "the call was made")
	require.ErrorContains(t, err, errTooCostly.Error())
	require.NoError(t, admin.Ping(t.Context()))
}
