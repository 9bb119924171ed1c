package port

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// How far behind a client is counts only while the server waits for it.
func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pace
		after := func(d time.Duration, n int) {
			got, err := p.wait(true, func() (int, error) {
				<-time.After(d)
				return n, io.ErrUnexpectedEOF
			})
			require.Equal(t, n, got)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			require.False(t, p.behind(mayLag, nil), "the server does not wait")
		}
		behind := func() (is bool) {
			_, _ = p.wait(true, func() (int, error) { is = p.behind(mayLag, nil); return 0, nil })
			return is
		}
		<-time.After(time.Hour)
		require.False(t, behind())
		after(mayLag, 0)
		require.False(t, behind())
		after(time.Nanosecond, 0)
		require.True(t, behind())
		after(0, 1)
		require.False(t, behind(), "a byte is worth more than a nanosecond")
		after(time.Second, leastRate)
		require.False(t, behind())
		after(0, 10*leastRate)
		after(mayLag, 0)
		require.False(t, behind())
		after(time.Millisecond, 0)
		require.True(t, behind(), "what was fast before is no excuse")
		p.reset()
		require.False(t, behind())

		stuck := make(chan struct{})
		go func() {
			_, _ = p.wait(false, func() (int, error) { <-stuck; return 0, nil })
		}()
		<-time.After(mayLag)
		require.False(t, p.behind(mayLag, nil))
		<-time.After(time.Nanosecond)
		require.True(t, p.behind(mayLag, nil), "it is still waited for")
		close(stuck)
	})
}

// Who has the lane must be quick, or soon done with it.
func TestPace_Lane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pace
		takes := func(d time.Duration, n int) (holdsUp bool) {
			_, _ = p.wait(false, func() (int, error) {
				<-time.After(d)
				holdsUp = p.holdsUp(nil)
				return n, nil
			})
			return holdsUp
		}
		takes(time.Hour, 0)
		p.begin()
		require.False(t, p.holdsUp(nil), "the server does not wait")
		require.False(t, takes(mayHold, laneRate))
		require.False(t, takes(time.Second-mayHold, 0), "so much a second is right")
		require.True(t, takes(time.Nanosecond, laneRate/10))
		require.False(t, takes(time.Second/20, 0), "it has caught up")
		p.begin()
		require.False(t, takes(mayHold, 0))
		require.True(t, takes(time.Nanosecond, 0))
		p.reset()
		require.False(t, takes(mayHold, 0))
	})
}

// stuckClients are clients that hold memory and get no further: how many of each, and
// the bytes that each writes.
func stuckClients() map[string]struct {
	count int
	bytes []byte
} {
	type stuck = struct {
		count int
		bytes []byte
	}
	const size = 15_000_000
	text := func(b []byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), append(b, thrift.STOP)...)
	}
	ask := message(kinds()[0], "getTopic", thrift.STRING, 1, text(fmt.Appendf(nil, "size %d", size)))
	send := message(kinds()[0], "getTopic", thrift.STRING, 1, text(make([]byte, size)))
	overHTTP := func(b []byte, length int) []byte {
		return append(fmt.Appendf(nil, "POST /thrift HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", length-word), b[word:]...)
	}
	return map[string]stuck{
		"read nothing":             {3, ask},
		"read nothing over HTTP":   {3, overHTTP(ask, len(ask))},
		"send a part":              {3, send[:10_000_000]},
		"send a part over HTTP":    {3, overHTTP(send[:10_000_000], len(send))},
		"send a little":            {150, send[:100_000]},
		"send a little, over HTTP": {150, overHTTP(send[:100_000], len(send))},
	}
}

// Clients that hold memory which others wait for, and get no further, are closed: a
// good client has its answer soon, however large its call is. The test runs alone: seconds
// are measured.
func TestServer_StuckClients(t *testing.T) {
	for name, stuck := range stuckClients() {
		t.Run(name, func(t *testing.T) {
			b := setup(t, nil)
			good := adminOver(kinds()[0].over(dial(t, b.addr)))
			call := func() time.Duration {
				began := time.Now()
				got, err := good.GetTopic(t.Context(), strings.Repeat("x", 1_000_000))
				require.NoError(t, err)
				require.Len(t, got.Name, 1_000_000)
				return time.Since(began)
			}
			alone := call()
			for range stuck.count {
				c := dial(t, b.addr)
				_, err := c.Write(stuck.bytes)
				require.NoError(t, err)
			}
			for range 3 {
				require.Less(t, call()-alone, soon)
			}
			b.logs(t, "others waited for")
		})
	}
}

// Clients that send large messages just quickly enough, one after another, keep nobody
// out. The test runs alone: seconds are measured.
func TestServer_SteadyClients(t *testing.T) {
	b := setup(t, nil)
	good := busOver(kinds()[0].over(dial(t, b.addr)))
	send := func() time.Duration {
		began := time.Now()
		_, err := good.Send(t.Context(), "t", &eventbusv1.Message{Payload: make([]byte, 100_000)})
		require.NoError(t, err)
		return time.Since(began)
	}
	send()
	const size = 15_000_000
	slow := message(kinds()[0], "getTopic", thrift.STRING, 1, append(binary.BigEndian.AppendUint32(nil, size), make([]byte, size+1)...))
	ctx, stop := context.WithCancel(t.Context())
	var crowd sync.WaitGroup
	for range 20 {
		crowd.Go(func() {
			for ctx.Err() == nil {
				sendSteadily(ctx, b.addr, slow)
			}
		})
	}
	b.logs(t, "others waited for")
	for range 10 {
		require.Less(t, send(), soon)
	}
	stop()
	crowd.Wait()
}

// sendSteadily sends at a pace that is a little above leastRate, until the end of the
// bytes, of the connection, or of ctx.
func sendSteadily(ctx context.Context, addr string, b []byte) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for piece := range slices.Chunk(b, leastRate*14/10/100) {
		<-tick.C
		if _, err := conn.Write(piece); err != nil {
			return
		}
	}
}

// One that is slow to take its answer is left alone while nobody waits.
func TestServer_SlowReader(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c := gated{dial(t, b.addr), make(chan struct{})}
	answered := make(chan error, 1)
	go func() {
		got, err := adminOver(kinds()[0].over(c)).GetTopic(context.Background(), "size 15000000")
		if err == nil && len(got.Name) != 15_000_000 {
			err = fmt.Errorf("%d bytes", len(got.Name))
		}
		answered <- err
	}()
	b.waitFor(t, map[state]int{writing: 1})
	require.Never(t, func() bool { return b.count(writing) == 0 }, 2*mayLag, mayLag/10)
	stillServes(t, b.addr) // a small call waits for nobody
	close(c.gate)
	require.NoError(t, <-answered)
}

// gated is a connection from which nothing is read before its gate is closed.
type gated struct {
	net.Conn
	gate chan struct{}
}

func (g gated) Read(b []byte) (int, error) {
	<-g.gate
	return g.Conn.Read(b)
}

// A client that has sent what the server has not come to read is not behind.
func TestPace_Server(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	client := dial(t, l.Addr().String())
	server, err := l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	late := pace{lag: 2 * mayLag, since: time.Now(), reads: true}
	require.True(t, late.behind(mayLag, server))
	_, err = client.Write([]byte{0})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !late.behind(mayLag, server) }, patience, time.Millisecond)
	late.reads = false
	require.True(t, late.behind(mayLag, server), "it takes nothing")
}
