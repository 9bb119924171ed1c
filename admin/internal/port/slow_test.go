package port

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"
)

// brief are limits with deadlines that a test can wait for, the one that it is
// about, and those that it is not.
func brief(change func(*Limits)) func(*Config) {
	return func(c *Config) {
		c.Limits = Limits{FirstByte: time.Hour, Handshake: time.Hour, Idle: time.Hour, Read: time.Hour, Write: time.Hour}
		change(&c.Limits)
	}
}

func TestLimits_FirstByte(t *testing.T) {
	t.Parallel()
	b := setup(t, brief(func(l *Limits) { l.FirstByte = 50 * time.Millisecond }))
	require.Empty(t, closes(t, dial(t, b.addr)))
	// It is no limit for those who have spoken.
	admin := adminOver(kinds()[0].over(dial(t, b.addr)))
	require.NoError(t, admin.Ping(t.Context()))
	closes(t, dial(t, b.addr)) // as long again
	require.NoError(t, admin.Ping(t.Context()))
}

func TestLimits_Idle(t *testing.T) {
	t.Parallel()
	b := setup(t, brief(func(l *Limits) { l.Idle = 50 * time.Millisecond }))
	for _, k := range kinds() {
		c := dial(t, b.addr)
		require.NoError(t, adminOver(k.over(c)).Ping(t.Context()))
		closes(t, c)
	}
}

// A message may not take longer however steadily its bytes come.
func TestLimits_Read(t *testing.T) {
	t.Parallel()
	b := setup(t, brief(func(l *Limits) { l.Read = 100 * time.Millisecond }))
	for _, k := range plainKinds() {
		call := message(k, "getTopic", thrift.STRING, 1, append([]byte{0, 0, 0xff, 0xff}, make([]byte, 1000)...))
		c := dial(t, b.addr)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			closes(t, c)
		}()
		drip(t, c, call, ended)
	}
}

// drip writes bytes one by one, a millisecond apart, until ended is closed, which must happen
// before the bytes are at their end.
func drip(t *testing.T, c net.Conn, b []byte, ended <-chan struct{}) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for i := range b {
		select {
		case <-ended:
			return
		case <-tick.C:
			_, _ = c.Write(b[i : i+1]) // the end is told by ended
		}
	}
	t.Error("all was read, however slowly it came")
	<-ended
}

// A client that takes no answer is dropped, and its answer with it.
func TestLimits_Write(t *testing.T) {
	t.Parallel()
	b := setup(t, brief(func(l *Limits) { l.Write = 100 * time.Millisecond }))
	c := dial(t, b.addr)
	p := kinds()[0].over(c)
	for range 8 { // more than the system buffers
		require.NoError(t, p.WriteMessageBegin(t.Context(), "getTopic", thrift.CALL, 1))
		require.NoError(t, p.WriteStructBegin(t.Context(), ""))
		require.NoError(t, p.WriteFieldBegin(t.Context(), "", thrift.STRING, 1))
		require.NoError(t, p.WriteString(t.Context(), "size 10000000"))
		require.NoError(t, p.WriteFieldStop(t.Context()))
		require.NoError(t, p.WriteMessageEnd(t.Context()))
		if p.Flush(t.Context()) != nil {
			break
		}
	}
	b.logs(t, "answer a call of")
}

// Unframed messages have no length: what they may have is counted.
func TestLimits_MaxMessage(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.Limits.MaxMessage = 100_000 })
	for _, k := range kinds() {
		c := dial(t, b.addr)
		p := k.over(c)
		write := func(fields int) {
			require.NoError(t, p.WriteMessageBegin(t.Context(), "nonesuch", thrift.CALL, 1))
			require.NoError(t, p.WriteStructBegin(t.Context(), ""))
			for range fields {
				require.NoError(t, p.WriteFieldBegin(t.Context(), "", thrift.STRING, 1))
				require.NoError(t, p.WriteString(t.Context(), string(make([]byte, 30_000))))
			}
			writeNothing(t.Context(), p)
			if fields > 3 {
				closes(t, c)
				return
			}
			_, _, _, err := p.ReadMessageBegin(t.Context())
			require.NoError(t, err)
			require.NoError(t, thrift.NewTApplicationException(0, "").Read(t.Context(), p))
		}
		write(3)
		write(3) // each message has its own
		if k.name[:2] == "un" {
			write(4)
			b.logs(t, "more than 100000 bytes")
		}
	}
}

// A connection more than there may be takes the place of the one that can be
// missed the most, and none that is in a call.
func TestServer_Eviction(t *testing.T) {
	t.Parallel()
	b := setup(t, brief(func(l *Limits) { l.MaxConnections = 5 }))
	inCall := make(chan error, 1)
	busy := dial(t, b.addr)
	go func() {
		_, err := adminOver(kinds()[0].over(busy)).GetTopic(context.Background(), "block")
		inCall <- err
	}()
	<-b.admin.entered
	idler := dial(t, b.addr)
	require.NoError(t, adminOver(kinds()[0].over(idler)).Ping(t.Context()))
	later := dial(t, b.addr)
	require.NoError(t, adminOver(kinds()[0].over(later)).Ping(t.Context()))
	slow := dial(t, b.addr)
	_, err := slow.Write([]byte{0x80})
	require.NoError(t, err)
	mute := dial(t, b.addr)
	b.waitFor(t, map[state]int{silent: 1, idle: 2, reading: 1, calling: 1})

	for i, victim := range []net.Conn{idler, later, slow, mute} {
		// The newcomer says something, and then belongs to those in calls.
		newcomer := dial(t, b.addr)
		go func() { _, _ = adminOver(kinds()[0].over(newcomer)).GetTopic(context.Background(), "block") }()
		closes(t, victim)
		<-b.admin.entered
		require.Equal(t, i+2, b.count(calling))
	}
	require.Empty(t, closes(t, dial(t, b.addr)), "one more than there may be, and all others are in calls")
	close(b.admin.release)
	require.NoError(t, <-inCall)
}

func (b *bundle) count(s state) int {
	b.server.table.mu.Lock()
	defer b.server.table.mu.Unlock()
	return b.server.table.in[s].Len()
}

func (b *bundle) waitFor(t *testing.T, want map[state]int) {
	t.Helper()
	require.Eventually(t, func() bool {
		for s, n := range want {
			if b.count(s) != n {
				return false
			}
		}
		return true
	}, patience, time.Millisecond, "%s", fmt.Sprint(want))
}

// Clients that are slow to send fill all places: others get theirs.
func TestServer_SlowWriters(t *testing.T) {
	t.Parallel()
	b := setup(t, brief(func(l *Limits) { l.MaxConnections = 20 }))
	for i := range 60 {
		c := dial(t, b.addr)
		_, err := c.Write(message(plainKinds()[i%4], "getTopic", thrift.STRING, 1, []byte{0, 0, 0, 100})[:9])
		require.NoError(t, err)
	}
	for range 5 {
		stillServes(t, b.addr)
	}
}

// More connections than the process has files for, by five times.
func TestServer_IdleConnections(t *testing.T) {
	t.Parallel()
	c := startChild(t, 1024)
	before := c.memory(t, false)
	for i := range 5000 {
		conn := dial(t, c.addr)
		if i%2 == 0 {
			_, err := conn.Write([]byte{0, 0, 0})
			require.NoError(t, err)
		}
		if i%500 == 0 {
			stillServes(t, c.addr)
		}
	}
	stillServes(t, c.addr)
	require.Less(t, c.memory(t, true)-before, int64(maxGrowth))
}
