package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// The payload that arrives is the bytes that were given, wherever from.
func TestSendKeepsBytes(t *testing.T) { modes(t, testSendKeepsBytes) }

func testSendKeepsBytes(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	events := b.collect("orders")
	sent := func(id string) *eventbus.Event {
		t.Helper()
		e := within(b, events, "the event")
		require.Equal(t, strings.TrimSuffix(id, "\n"), e.ID)
		return e
	}
	for _, payload := range []string{
		`{"id":130775545883395173,"a":[],"o":{}, "s":"<&>"}`, " [1 ,2]\n", "plain", "", "\xff\xfe\x00bytes", "{\n  \"a\": 1\n}\n", `"` + strings.Repeat("x", 1<<20-2) + `"`,
	} {
		e := sent(b.ok("send", "orders", "--file", b.file("payload", payload)))
		require.Equal(t, payload, string(e.Payload))
		if payload != "" {
			e = sent(b.okIn(payload, "send", "orders"))
			require.Equal(t, payload, string(e.Payload))
		}
		e = sent(b.okIn(payload, "send", "orders", "-"))
		require.Equal(t, payload, string(e.Payload))
		if !strings.Contains(payload, "\x00") && len(payload) < 1000 { // neither goes into an argument
			e = sent(b.ok("send", "orders", "--data", payload))
			require.Equal(t, payload, string(e.Payload))
		}
	}
	e := sent(b.ok("send", "orders", "--data", `{"a":1}`, "--id", "my id", "--header", "subject=a=b", "--header", "tenant=7"))
	require.Equal(t, "my id", e.ID)
	require.Equal(t, map[string]string{"subject": "a=b", "tenant": "7"}, e.Headers)
	require.Equal(t, "application/json", e.ContentType)
	require.Equal(t, "application/octet-stream", sent(b.ok("send", "orders", "--data", "plain")).ContentType)
	require.Equal(t, "text/plain", sent(b.ok("send", "orders", "--data", "plain", "--content-type", "text/plain")).ContentType)

	id := object[map[string]string](b, b.ok("send", "orders", "--data", "1", "-o", "json"))
	require.Equal(t, "orders", id["topic"])
	require.Equal(t, id["id"], within(b, events, "the event").ID)
}

func TestSendFailures(t *testing.T) { modes(t, testSendFailures) }

func testSendFailures(t *testing.T, b *bed) {
	require.Contains(t, b.fails(1, "send", "nope", "--data", "1"), "topic not found")
	b.ok("topic", "create", "orders")
	require.Contains(t, b.fails(1, "send", "orders", "--file", "none"), "open none: no such file or directory")
	require.Contains(t, b.fails(1, "send", "orders", "--data", "12345", "--max-payload", "4"),
		"the payload has more than 4 bytes; --max-payload raises the limit")
	r := b.call(strings.NewReader(""), "send", "orders")
	require.Equal(t, 2, r.code)
	require.Contains(t, b.oneLine(r.err), "stdin is empty; an empty payload is sent by --data ''")
	require.Contains(t, b.ok("stats", "orders", "-o", "json", "--interval", "0"), `"waiting":0`)
}

func TestSendLines(t *testing.T) { modes(t, testSendLines) }

func testSendLines(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	events := b.collect("orders")
	text := "{\"a\": 1}\n\nplain\r\n \xff \n\"" + strings.Repeat("x", 1<<20-2) + "\"\nlast"
	want := []string{`{"a": 1}`, "", "plain", " \xff ", `"` + strings.Repeat("x", 1<<20-2) + `"`, "last"}
	for _, args := range [][]string{{"--file", b.file("lines", text)}, {"-"}, {}} {
		ids := lines(b.okIn(text, append([]string{"send", "orders", "--lines", "--header", "run=1"}, args...)...))
		require.Len(t, ids, len(want))
		got := map[string]string{}
		for range want {
			e := within(b, events, "an event")
			got[e.ID] = string(e.Payload)
			require.Equal(t, map[string]string{"run": "1"}, e.Headers)
		}
		for i, id := range ids {
			require.Equal(t, want[i], got[id], "line %d", i+1)
		}
	}
	require.Empty(t, b.okIn("", "send", "orders", "--lines"))
}

// Many lines go in their order, and the ids that are printed are theirs.
func TestSendManyLines(t *testing.T) { modes(t, testSendManyLines) }

func testSendManyLines(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	const n = 3456
	var text bytes.Buffer
	for i := range n {
		fmt.Fprintf(&text, "%d\n", i)
	}
	ids := lines(b.okIn(text.String(), "send", "orders", "--lines"))
	require.Len(t, ids, n)
	events := b.collect("orders")
	got := map[string]string{}
	for range n {
		e := within(b, events, "an event")
		got[e.ID] = string(e.Payload)
	}
	for i, id := range ids {
		require.Equal(t, fmt.Sprint(i), got[id])
	}
}

// A line over the limit is told by its number, and what stands before it is sent.
func TestSendLineTooLong(t *testing.T) { modes(t, testSendLineTooLong) }

func testSendLineTooLong(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	for _, long := range []string{"12345", strings.Repeat("x", 300_000), "12345\r", "12345\n"} {
		r := b.call(strings.NewReader("1\n1234\r\n"+long), "send", "orders", "--lines", "--max-payload", "4")
		require.Equal(t, 1, r.code)
		require.Contains(t, b.oneLine(r.err), "sent 2 events, lines 1 to 2, and no more: line 3 has more than 4 bytes; --max-payload raises the limit")
		require.Len(t, lines(r.out), 2)
	}
	require.Contains(t, b.ok("stats", "orders", "-o", "json", "--interval", "0"), `"waiting":8`)
	r := b.call(strings.NewReader("1\n12\n"), "send", "orders", "--lines", "--max-payload", "1")
	require.Equal(t, 1, r.code)
	require.Contains(t, b.oneLine(r.err), "sent 1 event, line 1, and no more: line 2 has more than 1 byte;")
	require.Contains(t, b.fails(1, "send", "nope", "--lines", "--file", b.file("lines", "1\n")), `eventbus: sent nothing: topic "nope": topic not found`)
	require.Contains(t, b.fails(1, "send", "orders", "--data", "12", "--max-payload", "1"), "the payload has more than 1 byte;")
}

// When a batch is refused, the line says how many were sent before.
func TestSendLinesStopsAtRefusal(t *testing.T) { modes(t, testSendLinesStopsAtRefusal) }

func testSendLinesStopsAtRefusal(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders", "--max-waiting", "1200")
	r := b.call(strings.NewReader(strings.Repeat("1\n", 5000)), "send", "orders", "--lines")
	require.Equal(t, 1, r.code)
	n := len(lines(r.out))
	require.Contains(t, b.oneLine(r.err), fmt.Sprintf("sent %d events, lines 1 to %d, and no more: ", n, n))
	require.Contains(t, r.err, "topic is full")
	require.LessOrEqual(t, n, 1200)
	require.Greater(t, n, 1200-500)
	require.Contains(t, b.ok("stats", "orders", "-o", "json", "--interval", "0"), fmt.Sprintf(`"waiting":%d`, n))
}

// A line that comes alone is sent at once, and Ctrl-C ends the wait for more.
func TestSendLinesFromSlowSource(t *testing.T) { modes(t, testSendLinesFromSlowSource) }

func testSendLinesFromSlowSource(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	events := b.collect("orders")
	in, source := io.Pipe()
	p := b.start(in, "send", "orders", "--lines", "-")
	for _, payload := range []string{"1", "2"} {
		_, err := fmt.Fprintln(source, payload)
		require.NoError(t, err)
		require.Equal(t, payload, string(within(b, events, "the event").Payload))
		p.out.next()
	}
	p.signal(os.Interrupt)
	require.Equal(t, 1, p.wait(source))
	line := p.err.rest()
	require.Len(t, line, 1)
	require.Contains(t, line[0], "eventbus: interrupted: sent 2 events, lines 1 to 2, and no more")
}

// What a raw topic would drop is refused before anything is sent.
func TestSendRaw(t *testing.T) { modes(t, testSendRaw) }

func testSendRaw(t *testing.T, b *bed) {
	b.ok("topic", "create", "plain", "--wire", "raw")
	for _, dropped := range [][]string{{"--id", "x"}, {"--header", "a=1"}, {"--content-type", "text/plain"}} {
		line := b.fails(2, append([]string{"send", "plain", "--data", "1"}, dropped...)...)
		require.Contains(t, line, "topic plain has wire raw, which keeps the payload alone; leave out "+dropped[0])
	}
	line := b.fails(2, "send", "plain", "--lines", "--file", b.file("lines", "1\n"), "--header", "a=1", "--content-type", "text/plain")
	require.Contains(t, line, "leave out --header, --content-type")
	b.ok("send", "plain", "--data", "1")
	require.Contains(t, b.ok("stats", "plain", "-o", "json", "--interval", "0"), `"waiting":1`)
	require.Contains(t, b.fails(1, "send", "nope", "--data", "1", "--id", "x"), `send to topic "nope": `)
}
