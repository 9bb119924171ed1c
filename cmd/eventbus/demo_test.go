package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/internal/redistest"
)

// ones is a number of one with a plural behind it.
const ones = `\b1 [a-z]+s\b`

// The demo ends by itself, with the whole story told.
func TestDemo(t *testing.T) {
	b := setup(t)
	b.url = "redis://127.0.0.1:1" // the environment is not looked at
	began := time.Now()
	story := b.okEmbedded("demo")
	require.Less(t, time.Since(began), 15*time.Second)
	for _, said := range []string{
		"1. Create two topics", "billing/invoice ran 3 times, mail/confirm ran 3 times", "succeeded on attempt 2",
		"is dead: the bank does not answer", "130775545883395173", "topic is disabled", "cancelled event ", "which was sent before it", "1 cancelled", "All 10 steps went as told, on embedded",
	} {
		require.Contains(t, story, said)
	}
	require.False(t, containsControl(strings.ReplaceAll(story, "\n", "")))
	require.NotRegexp(t, ones, story)

	type told struct {
		Step int
		Kind string
		Text string
	}
	all := objects[told](b, b.okEmbedded("demo", "-o", "json"))
	require.Equal(t, told{1, "step", "Create two topics; each group of a topic gets every event"}, all[0])
	require.Equal(t, "end", all[len(all)-1].Kind)
}

// okEmbedded is ok for a command that runs a server of its own, and says so.
func (b *bed) okEmbedded(args ...string) string {
	b.t.Helper()
	r := b.call(nil, args...)
	require.Equal(b.t, 0, r.code, r.err)
	require.Equal(b.t, "embedded Redis: nothing in it outlives this process\n", r.err)
	return r.out
}

// On a real server it has a namespace of its own, whose name begins as is wished,
// and leaves nothing there. Of the groups one has the name that is wished.
func TestDemoLeavesNothing(t *testing.T) {
	b := setup(t)
	b.useOwnServer()
	require.NoError(t, b.rdb.Set(t.Context(), "stage:{orders}:config", "somebody else's", 0).Err())
	require.NoError(t, b.rdb.ConfigSet(t.Context(), "notify-keyspace-events", "KEA").Err())
	events := b.rdb.PSubscribe(t.Context(), "__keyspace@0__:stage-demo-*")
	t.Cleanup(func() { _ = events.Close() })
	_, err := events.Receive(t.Context()) // it is subscribed
	require.NoError(t, err)
	story := b.ok("demo", "--redis", b.url, "--namespace", "stage", "--group", "mail")
	require.Contains(t, story, "went as told, on "+b.url)
	require.Contains(t, story, "mail/invoice ran 3 times, post/confirm ran 3 times")
	require.Equal(t, []string{"stage:{orders}:config"}, b.keys("*"))
	_, err = events.ReceiveTimeout(t.Context(), patience)
	require.NoError(t, err, "the namespace does not begin with the name that was given")
}

// useOwnServer gives the test a server that nobody else uses.
func (b *bed) useOwnServer() {
	b.t.Helper()
	s := redistest.Start(b.t, redistest.Options{})
	b.url = s.URL()
	b.rdb.Options().Addr = s.Addr() // not connected yet
}

type latency struct {
	Samples int64
	P50MS   float64 `json:"p50_ms"`
	P90MS   float64 `json:"p90_ms"`
	P99MS   float64 `json:"p99_ms"`
	MaxMS   float64 `json:"max_ms"`
}

type rate struct {
	TookMS    float64 `json:"took_ms"`
	PerSecond float64 `json:"events_per_second"`
}

type benchObject struct {
	Server                                 string
	Events, Size, Senders, Batch, Repeated int
	Send                                   struct {
		rate
		Call latency
	}
	Consume  rate
	EndToEnd rate `json:"end_to_end"`
	Pickup   latency
}

func TestBench(t *testing.T) {
	b := setup(t)
	b.useOwnServer()
	b.env = []string{"EVENTBUS_NAMESPACE="}
	o := object[benchObject](b, b.ok("bench", "--events", "1001", "--batch", "10", "--size", "50", "--senders", "3", "--samples", "20", "-o", "json"))
	require.Equal(t, b.url, o.Server)
	require.Equal(t, 1001, o.Events)
	require.Zero(t, o.Repeated)
	require.EqualValues(t, 101, o.Send.Call.Samples)
	require.EqualValues(t, 20, o.Pickup.Samples)
	for _, r := range []rate{o.Send.rate, o.Consume, o.EndToEnd} {
		require.Positive(t, r.TookMS)
		require.InEpsilon(t, 1001/r.TookMS*1000, r.PerSecond, 0.01)
	}
	for _, l := range []latency{o.Send.Call, o.Pickup} {
		require.Positive(t, l.P50MS)
		require.LessOrEqual(t, l.P50MS, l.P90MS)
		require.LessOrEqual(t, l.P90MS, l.P99MS)
		require.LessOrEqual(t, l.P99MS, l.MaxMS)
	}
	require.Empty(t, b.keys("*"), "it leaves nothing")

	table := lines(b.okEmbedded("bench", "--events", "10", "--size", "0", "--samples", "1", "--redis", "embedded"))
	require.Len(t, table, 5)
	require.Regexp(t, `^MEASURED +EVENTS/S +P50 +P90 +P99 +MAX$`, table[0])
	require.Regexp(t, `^pickup +- +[0-9.]+ms`, table[4])
}

// In a namespace that is given, bench has a topic of its own and removes that alone.
func TestBenchInANamespace(t *testing.T) {
	b := setup(t)
	b.useOwnServer()
	b.ok("topic", "create", "orders", "--namespace", "stage")
	b.ok("send", "orders", "--data", "1", "--namespace", "stage")
	before := b.keys("*")
	b.ok("bench", "--events", "100", "--samples", "3", "--namespace", "stage", "--group", "g")
	require.ElementsMatch(t, before, b.keys("*"))
	require.Equal(t, []string{"orders"}, b.rdb.SMembers(t.Context(), "stage:topics").Val())
}

// Ctrl-C in the middle is a clean end: code 1, one line, nothing left.
func TestBenchInterrupted(t *testing.T) {
	for name, signals := range map[string][]os.Signal{"SIGINT": {os.Interrupt}, "SIGTERM": {syscall.SIGTERM}, "both at once": {os.Interrupt, syscall.SIGTERM}} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			b.useOwnServer()
			b.env = []string{"EVENTBUS_NAMESPACE="}
			p := b.start(nil, "bench", "--events", "10000000")
			b.eventually("it has begun", func() bool { return len(b.keys("*queue*")) > 0 })
			for _, sig := range signals {
				p.signal(sig)
			}
			require.Equal(t, 1, p.wait())
			said := p.err.rest()
			require.Len(t, said, 1)
			require.Equal(t, "eventbus: interrupted", said[0])
			require.Empty(t, b.keys("*"))
		})
	}
}

// Nor does it when it is interrupted while events are delayed, whose keys are
// Redisson's.
func TestDemoInterrupted(t *testing.T) {
	b := setup(t)
	b.useOwnServer()
	p := b.start(nil, "demo", "--redis", b.url)
	p.out.until("cancelled event")
	require.NotEmpty(t, b.keys("redisson_delay_queue*"))
	p.signal(os.Interrupt)
	require.Equal(t, 1, p.wait())
	require.Equal(t, []string{"eventbus: interrupted"}, p.err.rest())
	require.Empty(t, b.keys("*"))
}
