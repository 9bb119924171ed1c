package main

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/internal/redistest"
)

type delayedObject struct {
	Topic, Group, ID string
	Due              *time.Time
	InMS             *int64 `json:"in_ms"`
	Size             int
}

type sentObject struct {
	Topic, ID string
	Due       *time.Time
}

type cancelledObject struct {
	Topic, ID, Action string
	Groups            []string
}

// listed is what delayed list says in JSON.
func (b *bed) listed(topic string, args ...string) []delayedObject {
	b.t.Helper()
	return objects[delayedObject](b, b.ok(append([]string{"delayed", "list", topic, "-o", "json"}, args...)...))
}

func (b *bed) delayedSet(topic, group string) string {
	return "redisson_delay_queue_timeout:" + b.namespace + ":{" + topic + "}:queue:" + group
}

func TestSendDelayed(t *testing.T) { modes(t, testSendDelayed) }

func testSendDelayed(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	events := b.collect("orders")
	began := time.Now()
	id := strings.TrimSuffix(b.ok("send", "orders", "--data", `{"id":1}`, "--delay", "1500ms"), "\n")
	e := within(b, events, "the delayed event")
	require.Equal(t, id, e.ID)
	require.Equal(t, `{"id":1}`, string(e.Payload))
	require.GreaterOrEqual(t, time.Since(began), 1500*time.Millisecond)

	// What is due already comes at once.
	id = strings.TrimSuffix(b.ok("send", "orders", "--data", "1", "--delay", "0"), "\n")
	require.Equal(t, id, within(b, events, "an event without delay").ID)
	for _, what := range [][]string{{"--data", "1"}, {"--lines", "--file", b.file("lines", "1\n")}} {
		r := b.call(nil, append([]string{"send", "orders", "--delay", "-90s", "-o", "json"}, what...)...)
		require.Equal(t, 0, r.code)
		require.Equal(t, "eventbus: --delay -1m30s is in the past: handed out at once", b.oneLine(r.err))
		require.NotContains(t, r.out, "due")
		require.Equal(t, object[sentObject](b, r.out).ID, within(b, events, "an event with a delay below 0").ID)
	}
	for _, at := range []string{"2001-01-01T00:00:00Z", time.Now().Add(-time.Second).Format(time.RFC3339)} {
		for _, what := range [][]string{{"--data", "1"}, {"--lines", "--file", b.file("lines", "1\n")}} {
			r := b.call(nil, append([]string{"send", "orders", "--at", at, "-o", "json"}, what...)...)
			require.Equal(t, 0, r.code)
			require.Equal(t, "eventbus: --at "+at+" is in the past: handed out at once", b.oneLine(r.err))
			require.NotContains(t, r.out, "due")
			require.Equal(t, object[sentObject](b, r.out).ID, within(b, events, "an event of the past").ID)
		}
	}
	require.Contains(t, b.fails(1, "send", "nope", "--data", "1", "--at", "2001-01-01T00:00:00Z"), "topic not found")
	require.Empty(t, b.listed("orders"))
}

// --at says the time with an offset of any place; --delay and --at go with each line.
func TestSendDelayedLines(t *testing.T) { modes(t, testSendDelayedLines) }

func testSendDelayedLines(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	at := time.Now().Add(2 * time.Hour).Truncate(time.Second).In(time.FixedZone("", 5*60*60+30*60))
	ids := lines(b.okIn("1\n2\n3\n", "send", "orders", "--lines", "--at", at.Format(time.RFC3339), "--header", "run=1"))
	ids = append(lines(b.okIn("4\n5\n", "send", "orders", "--lines", "--delay", "1h30m")), ids...)
	all := b.listed("orders")
	require.Len(t, all, 5)
	for i, d := range all {
		require.Equal(t, ids[i], d.ID, "in the order of their time, then of sending")
		require.Equal(t, "orders", d.Topic)
		require.Equal(t, "default", d.Group)
		require.Positive(t, d.Size)
		require.InDelta(t, time.Until(*d.Due).Milliseconds(), *d.InMS, float64(patience.Milliseconds()))
		if i < 2 {
			require.WithinDuration(t, time.Now().Add(90*time.Minute), *d.Due, patience)
		} else {
			require.True(t, at.Equal(*d.Due), "%v", d.Due)
		}
	}
	require.Contains(t, b.ok("stats", "orders", "-o", "json", "--interval", "0"), `"waiting":0,"in_flight":0,"delayed":5,`)

	// In JSON each is told with its time.
	sent := object[sentObject](b, b.ok("send", "orders", "--data", "1", "--at", at.Format(time.RFC3339), "-o", "json"))
	require.True(t, at.Equal(*sent.Due), "%v", sent.Due)
	sent = object[sentObject](b, b.ok("send", "orders", "--data", "1", "--delay", "1h", "-o", "json"))
	require.WithinDuration(t, time.Now().Add(time.Hour), *sent.Due, patience)
	require.NotContains(t, b.ok("send", "orders", "--data", "1", "-o", "json"), "due")
}

func TestDelayedListIsATable(t *testing.T) { modes(t, testDelayedListIsATable) }

func testDelayedListIsATable(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	require.Equal(t, "ID  DUE  IN  SIZE\n", b.ok("delayed", "list", "orders"))
	id := strings.TrimSuffix(b.ok("send", "orders", "--data", "1", "--delay", "240h"), "\n")
	b.ok("send", "orders", "--data", "1", "--id", "\u009b2J\u202eid", "--delay", "480h")
	for score, m := range map[float64]string{1000: member("late"), 1e16: member("bare"), math.Inf(1): member("never")} {
		require.NoError(t, b.rdb.ZAdd(t.Context(), b.delayedSet("orders", "default"), redis.Z{Score: score, Member: m}).Err())
	}
	const none = "eventbus: events are overdue: no live process handles topic orders in group default; eventbus consumers lists those that run"
	overdue := func(note string, args ...string) string {
		t.Helper()
		r := b.call(nil, append([]string{"delayed", "list", "orders"}, args...)...)
		require.Equal(t, 0, r.code, r.err)
		require.Equal(t, note, b.oneLine(r.err))
		return r.out
	}
	table := lines(overdue(none))
	require.Len(t, table, 6)
	require.Regexp(t, `^ID +DUE +IN +SIZE$`, table[0])
	require.Regexp(t, `^- +1970-01-01T00:00:01Z +overdue \d+y(\d+d)? +4$`, table[1])
	require.Regexp(t, `^`+id+` +20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ +10d +\d+$`, table[2])
	require.Contains(t, table[3], `\u009b2J\u202eid `)
	require.False(t, containsControl(table[3]))
	require.Regexp(t, `^- +- +never +4$`, table[4], "a time that no calendar has")
	require.Regexp(t, `^- +- +never +5$`, table[5])

	all := objects[delayedObject](b, overdue(none, "-o", "json"))
	require.Len(t, all, 5)
	require.Negative(t, *all[0].InMS)
	require.Empty(t, all[0].ID)
	require.Nil(t, all[3].Due)
	require.Nil(t, all[3].InMS)

	b.ok("topic", "disable", "orders")
	overdue("eventbus: events are overdue: topic orders is switched off; eventbus topic enable switches it on")
	require.Contains(t, b.fails(1, "delayed", "list", "nope"), `list delayed events of topic "nope", group "default": topic not found`)
	require.Contains(t, b.fails(1, "delayed", "list", "orders", "--group", "nope"), `list delayed events of topic "orders", group "nope": group not found`)
}

// member is one of Redisson's.
func member(payload string) string {
	return "\x08" + strings.Repeat("\xaa", 8) + string(rune(len(payload))) + strings.Repeat("\x00", 7) + payload
}

// The list is whole over pages of any size, those of the bus and the caller's.
func TestDelayedPages(t *testing.T) { modes(t, testDelayedPages) }

func testDelayedPages(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	const n = 1203
	var want []string
	for _, text := range []string{strings.Repeat("1\n", n-3), "1\n2\n3\n"} {
		want = append(want, lines(b.okIn(text, "send", "orders", "--lines", "--delay", fmt.Sprintf("%dh", 1+len(want))))...)
	}
	ids := func(page []delayedObject) (all []string) {
		for _, d := range page {
			all = append(all, d.ID)
		}
		return all
	}
	require.Equal(t, want, ids(b.listed("orders", "--all")))
	require.Equal(t, want, ids(b.listed("orders", "--limit", fmt.Sprint(n+1))))
	require.Len(t, lines(b.ok("delayed", "list", "orders", "--all")), n+1, "one head")

	var got []string
	var cursor []string
	for {
		r := b.call(nil, append([]string{"delayed", "list", "orders", "-o", "json", "--limit", "500"}, cursor...)...)
		require.Equal(t, 0, r.code, r.err)
		page := objects[delayedObject](b, r.out)
		require.LessOrEqual(t, len(page), 500)
		got = append(got, ids(page)...)
		if r.err == "" {
			break
		}
		next, ok := strings.CutPrefix(b.noteOf(r.err), "there may be more: --cursor ")
		require.True(t, ok, r.err)
		cursor = []string{"--cursor", next}
	}
	require.Equal(t, want, got)
	require.Contains(t, b.noteOf(b.call(nil, "delayed", "list", "orders").err), "there may be more: --cursor ", "100 unless told otherwise")
}

// noteOf is the one line that goes with an answer.
func (b *bed) noteOf(text string) string {
	b.t.Helper()
	require.Equal(b.t, 1, strings.Count(text, "\n"), "one line: %q", text)
	return strings.TrimSuffix(text, "\n")
}

// What cannot be read is told of beside the list, with its place and its first bytes.
func TestDelayedListTellsOfUnreadable(t *testing.T) { modes(t, testDelayedListTellsOfUnreadable) }

func testDelayedListTellsOfUnreadable(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	b.ok("topic", "create", "empty")
	set := b.delayedSet("orders", "default")
	for i := range 5 {
		junk := redis.Z{Score: float64(i), Member: fmt.Sprintf("junk\x1b%d", i)}
		switch i {
		case 1:
			junk.Member = ""
		case 4:
			junk.Member = "z" + strings.Repeat("\xff", 1000)
		}
		require.NoError(t, b.rdb.ZAdd(t.Context(), set, junk).Err())
	}
	b.collect("orders")
	list := b.namespace + ":{orders}:unreadable:default"
	b.eventually("all are set aside", func() bool { return b.rdb.LLen(t.Context(), list).Val() == 5 })
	r := b.call(nil, "delayed", "list", "orders")
	require.Equal(t, 0, r.code)
	require.Equal(t, "ID  DUE  IN  SIZE\n", r.out)
	note := b.oneLine(r.err)
	require.Equal(t, "eventbus: 5 delayed events could not be read, are none of Redisson's and were set aside in the list "+list+
		"; the first of them, in hex: "+hex.EncodeToString([]byte("junk\x1b0"))+", (empty), "+hex.EncodeToString([]byte("junk\x1b2")), note)
	require.NoError(t, b.rdb.LTrim(t.Context(), list, 0, 0).Err())
	note = b.oneLine(b.call(nil, "delayed", "list", "orders", "-o", "json").err)
	require.Contains(t, note, "1 delayed event could not be read, is none of Redisson's and was set aside in the list "+list+"; in hex: 7aff")
	require.True(t, strings.HasSuffix(note, "ff… (1001 bytes)"), note)
	require.Less(t, len(note), 400, "a long one is cut")

	type stats struct {
		Delayed, Unreadable int64
		NextDue             *time.Time `json:"next_due"`
	}
	require.Regexp(t, `^orders +default +on +0 +0 +0 \(1 unreadable\) +- `, lines(b.ok("stats", "orders", "--interval", "0"))[1])
	require.Equal(t, stats{Unreadable: 1}, object[stats](b, b.ok("stats", "orders", "-o", "json", "--interval", "0")))
	require.Empty(t, b.ok("delayed", "list", "empty", "-o", "json"))
}

func TestDelayedCancel(t *testing.T) { modes(t, testDelayedCancel) }

func testDelayedCancel(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	b.ok("topic", "update", "orders", "--add-group", "mail")
	ids := lines(b.okIn("1\n2\n3\n4\n5\n", "send", "orders", "--lines", "--delay", "1h"))
	require.Equal(t, "cancelled "+ids[0]+" in groups default, mail\n", b.ok("delayed", "cancel", "orders", ids[0]))
	require.Equal(t, cancelledObject{"orders", ids[1], "cancelled", []string{"default", "mail"}},
		object[cancelledObject](b, b.ok("delayed", "cancel", "orders", ids[1], ids[1], "-o", "json")), "an id that is given twice counts once")
	require.NoError(t, b.rdb.ZPopMin(t.Context(), b.delayedSet("orders", "mail")).Err()) // ids[2]: as if handed out there
	require.Equal(t, "cancelled "+ids[2]+" in group default\n", b.ok("delayed", "cancel", "orders", ids[2]))
	require.Len(t, b.listed("orders"), 2)

	// What does not wait does not keep the others.
	line := b.fails(1, "delayed", "cancel", "orders", ids[0])
	require.Contains(t, line, `cancel event "`+ids[0]+`" of topic "orders": no delayed event of that id waits; it was handed out or cancelled, or was never delayed`+
		"; eventbus delayed list shows those that wait")
	r := b.call(nil, "delayed", "cancel", "orders", ids[0], ids[3], "\u202e", ids[4])
	require.Equal(t, 1, r.code)
	require.Equal(t, "cancelled "+ids[3]+" in groups default, mail\ncancelled "+ids[4]+" in groups default, mail\n", r.out)
	line = b.oneLine(r.err)
	require.Contains(t, line, "2 of 4 ids: "+ids[0]+`, \u202e: no delayed event of that id waits`)
	require.Empty(t, b.listed("orders"))
	figures := b.ok("stats", "orders", "-o", "json", "--interval", "0", "--group", "mail")
	require.Contains(t, figures, `"delayed":0`)
	require.Contains(t, figures, `"cancelled":4,`, "one of the five was handed out here")
	require.Contains(t, b.fails(1, "delayed", "cancel", "nope", "1", "2"), "topic not found")
}

// What others have offered may be listed under an id of theirs; it cannot be
// cancelled by that, and the error does not say that it is not there.
func TestDelayedCancelOfOthers(t *testing.T) { modes(t, testDelayedCancelOfOthers) }

func testDelayedCancelOfOthers(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	b.ok("topic", "update", "orders", "--add-group", "mail")
	due := float64(time.Now().Add(time.Hour).UnixMilli())
	offered := redis.Z{Score: due, Member: member(`{"specversion":"1.0","id":"java-1","type":"orders","source":"java","data":1}`)}
	require.NoError(t, b.rdb.ZAdd(t.Context(), b.delayedSet("orders", "mail"), offered).Err())
	require.Equal(t, "java-1", b.listed("orders", "--group", "mail")[0].ID)
	const why = "an event that another program has offered is listed under its id, but only its program can cancel it"
	require.Equal(t, `eventbus: cancel event "java-1" of topic "orders": `+why, b.fails(1, "delayed", "cancel", "orders", "java-1"))
	line := b.fails(1, "delayed", "cancel", "orders", "java-1", "nope")
	require.Contains(t, line, "eventbus: 1 of 2 ids: nope: no delayed event of that id waits")
	require.Contains(t, line, "; 1 of 2 ids: java-1: "+why)
}

// By the id that send has printed, also where what is kept does not tell it.
func TestDelayedOfARawTopic(t *testing.T) { modes(t, testDelayedOfARawTopic) }

func testDelayedOfARawTopic(t *testing.T, b *bed) {
	b.ok("topic", "create", "plain", "--wire", "raw", "--group", "default", "--queue-key", b.namespace+"-list")
	id := strings.TrimSuffix(b.ok("send", "plain", "--data", "bare", "--delay", "1h"), "\n")
	all := b.listed("plain")
	require.Len(t, all, 1)
	require.Empty(t, all[0].ID)
	require.Equal(t, len("bare"), all[0].Size)
	require.Equal(t, "cancelled "+id+" in group default\n", b.ok("delayed", "cancel", "plain", id))
	require.Empty(t, b.listed("plain"))
}

// The settings for Java are made, changed, shown, and do what they say.
func TestRedissonSettings(t *testing.T) { modes(t, testRedissonSettings) }

func testRedissonSettings(t *testing.T, b *bed) {
	type topic struct {
		List bool `json:"redisson_order_list"`
		Old  bool `json:"redisson_old_clients"`
	}
	shown := func(name string) topic { return object[topic](b, b.ok("topic", "show", name, "-o", "json")) }
	b.ok("topic", "create", "plain")
	require.Equal(t, topic{}, shown("plain"))
	b.ok("topic", "create", "orders", "--redisson-order-list", "--redisson-old-clients")
	require.Equal(t, topic{true, true}, shown("orders"))
	sheet := b.ok("topic", "show", "orders")
	require.Regexp(t, `(?m)^Redisson order list +on$`, sheet)
	require.Regexp(t, `(?m)^Redisson old clients +on$`, sheet)
	b.ok("send", "orders", "--data", "1", "--delay", "1h")
	list := "redisson_delay_queue:" + b.namespace + ":{orders}:queue:default"
	listed := b.rdb.LRange(t.Context(), list, 0, -1).Val()
	require.Len(t, listed, 1)
	require.Equal(t, "\x07", listed[0][:1])

	b.ok("topic", "update", "orders", "--redisson-order-list=false")
	require.Equal(t, topic{false, true}, shown("orders"))
	b.ok("topic", "update", "orders", "--redisson-old-clients=false")
	require.Equal(t, topic{}, shown("orders"))
	b.ok("topic", "update", "orders", "--max-waiting", "9")
	require.Equal(t, topic{}, shown("orders"))
	b.ok("send", "orders", "--data", "1", "--delay", "1h")
	require.EqualValues(t, 1, b.rdb.LLen(t.Context(), list).Val())
}

// What the bus would log is one line as everything else on stderr.
func TestSendDelayedUnheard(t *testing.T) {
	t.Parallel()
	b := setupOn(t, redistest.Start(t, redistest.Options{}))
	b.ok("topic", "create", "orders")
	require.NoError(t, b.rdb.Do(t.Context(), "ACL", "SETUSER", "deaf", "on", ">s3cret", "~*", "+@all", "resetchannels", "&"+b.namespace+":*").Err())
	b.url = strings.Replace(b.url, "redis://", "redis://deaf:s3cret@", 1)
	r := b.call(nil, "send", "orders", "--data", "1", "--delay", "1h")
	require.Equal(t, 0, r.code, r.err)
	require.Regexp(t, `^eventbus: delayed events were sent, and may come some seconds late \(topic orders, channel redisson_\S+, allow \S+, err the server's ACL refuses `, b.oneLine(r.err))
	require.Len(t, b.listed("orders"), 1)
}
