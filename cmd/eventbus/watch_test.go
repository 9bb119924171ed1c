package main

import (
	"encoding/json"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/internal/redistest"
)

// Watching shows figures again and again with their rates; Ctrl-C is its proper
// end.
func TestStatsWatch(t *testing.T) { modes(t, testStatsWatch) }

func testStatsWatch(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	p := b.start(nil, "stats", "orders", "--watch", "--interval", "100ms", "-o", "json")
	p.out.next()
	b.okIn("1\n2\n3\n", "send", "orders", "--lines")
	var s struct {
		Waiting       int64
		SentPerSecond *float64 `json:"sent_per_second"`
	}
	for rate := 0.0; s.Waiting < 3 || rate == 0; {
		require.NoError(t, json.Unmarshal([]byte(p.out.next()), &s))
		if s.SentPerSecond != nil {
			rate = max(rate, *s.SentPerSecond)
		}
	}
	p.signal(os.Interrupt)
	require.Equal(t, 0, p.wait())
	require.Empty(t, p.err.rest())
}

// In a pipe the head stands once, and what follows stands under it.
func TestStatsWatchInAPipe(t *testing.T) { modes(t, testStatsWatchInAPipe) }

func testStatsWatchInAPipe(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	b.ok("topic", "create", "a.topic.of.a.long.name")
	p := b.start(nil, "stats", "--watch", "--interval", "100ms")
	head := p.out.next()
	require.Regexp(t, `^TOPIC +GROUP +STATE +WAITING +`, head)
	for range 3 {
		for _, topic := range []string{"a.topic.of.a.long.name", "orders"} {
			row := p.out.next()
			require.Regexp(t, "^"+topic+" +default +on +0 ", row)
			require.Equal(t, strings.Index(head, "STATE"), strings.Index(row, "on "), "%s\n%s", head, row)
		}
	}
	p.signal(os.Interrupt)
	require.Equal(t, 0, p.wait())
	require.NotContains(t, strings.Join(p.out.rest(), "\n"), "TOPIC")
}

// An outage is told once, and so is its end; the figures go on.
func TestStatsWatchOutlivesOutage(t *testing.T) {
	b := setup(t)
	s := redistest.Start(t, redistest.Options{AppendOnly: true})
	b.url = s.URL()
	b.ok("topic", "create", "orders")
	p := b.start(nil, "stats", "orders", "--watch", "--interval", "100ms", "-o", "json")
	p.out.next()
	s.Kill()
	line := p.err.next()
	require.Contains(t, line, "redis is unavailable")
	require.Contains(t, line, "("+b.url)
	require.Contains(t, line, "; trying on")
	l, err := net.Listen("tcp", s.Addr()) // in its place: takes connections and ends them
	require.NoError(t, err)
	for range 5 {
		conn, err := l.Accept()
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
	require.NoError(t, l.Close())
	s.Start()
	require.Equal(t, "eventbus: figures can be read again", p.err.next())
	b.ok("send", "orders", "--data", "1")
	p.out.until(`"waiting":1`)
	p.signal(os.Interrupt)
	require.Equal(t, 0, p.wait())
	require.Empty(t, p.err.rest())

	require.Contains(t, b.fails(1, "stats", "nope", "--watch"), "topic not found", "what never worked is an error")
}
