package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

type failureObject struct {
	ID, State, Topic, Group, Handler, Reason, Error string
	EventID                                         string `json:"event_id"`
	Attempts, Size                                  int
	FirstFailedAt                                   time.Time  `json:"first_failed_at"`
	FailedAt                                        time.Time  `json:"failed_at"`
	NextAttempt                                     *time.Time `json:"next_attempt"`
	Event                                           map[string]any
}

// hostile holds what terminals obey.
const hostile = "\x1b[31m\x07\u009b2J\r\nnext\u202e"

// fail sends payloads to a handler that rejects them, and waits until all are
// dead.
func (b *bed) fail(topic, handler string, payloads ...string) {
	b.t.Helper()
	bus := b.run(topic, handler, func(_ context.Context, e *eventbus.Event) error {
		return eventbus.Reject(errors.New("refused " + string(e.Payload)))
	})
	before, err := bus.GroupStats(b.t.Context(), topic)
	require.NoError(b.t, err)
	for _, p := range payloads {
		_, err := bus.Send(b.t.Context(), topic, eventbus.Raw{Payload: []byte(p)})
		require.NoError(b.t, err)
	}
	b.eventually("all are dead", func() bool {
		now, err := bus.GroupStats(b.t.Context(), topic)
		require.NoError(b.t, err)
		return now.Dead >= before.Dead+int64(len(payloads)) && now.Waiting+now.InFlight == 0
	})
	require.NoError(b.t, bus.Close())
}

// retry sends payloads to a handler that wants to be run again much later, and
// waits until all wait for that.
func (b *bed) retry(topic, handler string, payloads ...string) {
	b.t.Helper()
	bus := b.run(topic, handler, func(_ context.Context, e *eventbus.Event) error {
		return eventbus.RetryAfter(time.Hour, errors.New("not now"))
	})
	before, err := bus.GroupStats(b.t.Context(), topic)
	require.NoError(b.t, err)
	for _, p := range payloads {
		_, err := bus.Send(b.t.Context(), topic, eventbus.Raw{Payload: []byte(p)})
		require.NoError(b.t, err)
	}
	b.eventually("all are to be retried", func() bool {
		now, err := bus.GroupStats(b.t.Context(), topic)
		require.NoError(b.t, err)
		return now.Retrying >= before.Retrying+int64(len(payloads)) && now.Waiting+now.InFlight == 0
	})
	require.NoError(b.t, bus.Close())
}

func numbers(from, to int) []string {
	var all []string
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprint(i))
	}
	return all
}

func TestFailuresListAndShow(t *testing.T) { modes(t, testFailuresListAndShow) }

func testFailuresListAndShow(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	require.Regexp(t, `^ID +FAILED +HANDLER +EVENT +REASON +ATTEMPTS +NEXT +ERROR\n$`, b.ok("failures", "list", "orders"))
	require.Empty(t, b.ok("failures", "list", "orders", "-o", "json"))
	payload := hostile + strings.Repeat("long ", 40) + hostile
	b.fail("orders", "mail", payload)

	f := object[failureObject](b, b.ok("failures", "list", "orders", "-o", "json"))
	require.Equal(t, "dead", f.State)
	require.Equal(t, "mail", f.Handler)
	require.Equal(t, "rejected", f.Reason)
	require.Equal(t, "rejected: refused "+payload, f.Error)
	require.Equal(t, 1, f.Attempts)
	require.Nil(t, f.NextAttempt)
	require.WithinDuration(t, time.Now(), f.FailedAt, time.Minute)

	table := lines(b.ok("failures", "list", "orders"))
	require.Len(t, table, 2)
	require.Contains(t, table[1], `rejected: refused \x1b[31m…`)
	require.Regexp(t, `long \\x1b\[31m\\a\\u009b2J\\r\\nnext\\u202e$`, table[1], "the end is shown, where the cause stands")
	require.False(t, containsControl(table[1]))
	require.Less(t, len(table[1]), 300, "a long error is cut")

	sheet := b.ok("failures", "show", "orders", f.ID)
	require.False(t, containsControl(strings.ReplaceAll(sheet, "\n", "")))
	require.Contains(t, sheet, `Payload       \x1b[31m\a\u009b2J\r\nnext\u202elong long`)
	require.Equal(t, payload, b.ok("failures", "show", "orders", f.ID, "--payload"))
	shown := object[failureObject](b, b.ok("failures", "show", "orders", f.ID, "-o", "json"))
	require.Equal(t, f.EventID, shown.Event["id"])
	require.Equal(t, "orders", shown.Event["type"])

	b.fail("orders", "short", "x")
	short := object[failureObject](b, b.ok("failures", "list", "orders", "-o", "json", "--handler", "short"))
	require.Contains(t, b.ok("failures", "show", "orders", short.ID), "Payload size  1 byte\n")
	require.Contains(t, b.fails(1, "failures", "show", "orders", "nope"), "failure not found; eventbus failures list shows those that exist")
	require.Contains(t, b.fails(1, "failures", "list", "orders", "--group", "nope"), "the topic has: default")
	require.Contains(t, b.fails(1, "failures", "list", "nope"), "topic not found")
}

// Pages of any size, with and without a filter, are the whole list, each
// failure once.
func TestFailuresPages(t *testing.T) { modes(t, testFailuresPages) }

func testFailuresPages(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	const n = 23
	b.fail("orders", "mail", numbers(0, n)...)
	b.fail("orders", "bill", "x", "y")
	whole := objects[failureObject](b, b.ok("failures", "list", "orders", "-o", "json"))
	require.Len(t, whole, n+2)
	require.Equal(t, whole, objects[failureObject](b, b.ok("failures", "list", "orders", "-o", "json", "--all")))
	require.Len(t, lines(b.ok("failures", "list", "orders", "--all")), n+3, "one head")

	for _, c := range []struct {
		filter []string
		count  int
	}{{nil, n + 2}, {[]string{"--handler", "mail"}, n}, {[]string{"--handler", "bill"}, 2}, {[]string{"--before", "0s", "--handler", "mail"}, n}} {
		var pages []failureObject
		cursor := []string{}
		for {
			r := b.call(nil, append(append([]string{"failures", "list", "orders", "-o", "json", "--limit", "5"}, c.filter...), cursor...)...)
			require.Equal(t, 0, r.code, r.err)
			page := objects[failureObject](b, r.out)
			require.LessOrEqual(t, len(page), 5)
			pages = append(pages, page...)
			if r.err == "" {
				break
			}
			require.Len(t, page, 5, "more follow only on a full page")
			hint := lines(r.err)
			require.Len(t, hint, 1)
			next, ok := strings.CutPrefix(hint[0], "there may be more: --cursor ")
			require.True(t, ok, hint[0])
			cursor = []string{"--cursor", next}
		}
		require.Len(t, pages, c.count)
		seen := map[string]bool{}
		for _, f := range pages {
			require.False(t, seen[f.ID])
			seen[f.ID] = true
		}
	}
	require.Empty(t, b.ok("failures", "list", "orders", "-o", "json", "--before", "2000-01-01T00:00:00Z"))
}

func TestFailuresReplayAndDiscard(t *testing.T) { modes(t, testFailuresReplayAndDiscard) }

func testFailuresReplayAndDiscard(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	b.fail("orders", "mail", numbers(0, 10)...)
	b.fail("orders", "bill", "x", "y")
	all := objects[failureObject](b, b.ok("failures", "list", "orders", "-o", "json", "--handler", "mail"))

	require.Equal(t, "replayed 2\n", b.ok("failures", "replay", "orders", all[0].ID, all[1].ID, all[0].ID))
	r := b.call(nil, "failures", "discard", "orders", all[0].ID, all[2].ID)
	require.Equal(t, 1, r.code)
	require.Equal(t, "discarded 1\n", r.out)
	require.Contains(t, b.oneLine(r.err), "1 of 2 ids: failure not found")
	require.Contains(t, b.fails(1, "failures", "replay", "orders", all[0].ID), "1 of 1 id: failure not found")
	require.Equal(t, `{"topic":"orders","group":"default","discarded":2}`+"\n", b.ok("failures", "discard", "orders", "--handler", "bill", "-o", "json"))
	require.Equal(t, "discarded 0\n", b.ok("failures", "discard", "orders", "--before", "2000-01-01T00:00:00Z"))
	require.Equal(t, "discarded 0\n", b.ok("failures", "discard", "orders", "--all", "--state", "retry", "--yes"))
	require.Equal(t, `{"topic":"orders","group":"default","replayed":7}`+"\n", b.ok("failures", "replay", "orders", "--all", "-o", "json"))
	require.Contains(t, b.ok("stats", "orders", "-o", "json", "--interval", "0"), `"waiting":9,"in_flight":0,"delayed":0,"retry":0,"dead":0`)

	// what was replayed comes to the handler with its bytes
	events := make(chan string, 10)
	b.run("orders", "mail", func(_ context.Context, e *eventbus.Event) error {
		events <- string(e.Payload)
		return nil
	})
	got := map[string]bool{}
	for range 9 {
		got[within(b, events, "a replayed event")] = true
	}
	require.Len(t, got, 9)
	require.Contains(t, b.fails(1, "failures", "replay", "nope", "--all"), "topic not found")
}

// told is a call of failures that finds nothing: it answers as one that does, and
// says in one line on stderr why there may be nothing.
func (b *bed) told(args ...string) (out, note string) {
	b.t.Helper()
	r := b.call(nil, append([]string{"failures"}, args...)...)
	require.Equal(b.t, 0, r.code, "%v: %s", args, r.err)
	return r.out, b.oneLine(r.err)
}

// A mistyped handler is told of, with those that there are, beside an answer that
// is right for it.
func TestFailuresOfUnknownHandler(t *testing.T) { modes(t, testFailuresOfUnknownHandler) }

func testFailuresOfUnknownHandler(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	const unknown = "eventbus: handler mial is not known in topic orders, group default: no process runs it, nothing is set for it, no failure is of it; "
	_, note := b.told("list", "orders", "--handler", "mial", "-o", "json")
	require.Equal(t, unknown+"nor is any other", note)
	b.fail("orders", "mail", "1", "2")
	b.fail("orders", "bill", "3")
	b.retry("orders", "mail", "4")
	b.retry("orders", "late", "5")
	b.ok("handler", "update", "orders", "set", "--timeout", "1s", "--force")
	b.run("orders", "print", func(context.Context, *eventbus.Event) error { return nil })
	for verb, answer := range map[string]string{"list": "", "replay": `{"topic":"orders","group":"default","replayed":0}` + "\n", "discard": `{"topic":"orders","group":"default","discarded":0}` + "\n"} {
		for _, state := range []string{"dead", "retry"} {
			out, note := b.told(verb, "orders", "--handler", "mial", "--state", state, "-o", "json")
			require.Equal(t, answer, out)
			require.Equal(t, unknown+"known are: bill (1 dead), late (1 to be retried), mail (2 dead, 1 to be retried), print, set", note, verb)
		}
	}
	require.Equal(t, "discarded 0\n", b.ok("failures", "discard", "orders", "--handler", "mail", "--before", "2000-01-01T00:00:00Z"))
}

// Where those that are asked for are in the other state, that is said.
func TestFailuresInTheOtherState(t *testing.T) { modes(t, testFailuresInTheOtherState) }

func testFailuresInTheOtherState(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	b.ok("handler", "update", "orders", "print", "--timeout", "1s", "--force")
	require.Equal(t, "replayed 0\n", b.ok("failures", "replay", "orders", "--all"), "there is nothing to tell")
	_, note := b.told("replay", "orders", "--handler", "print")
	require.Equal(t, "eventbus: handler print has no failure in topic orders, group default", note)
	b.retry("orders", "mail", "1", "2")
	_, note = b.told("list", "orders", "--handler", "print")
	require.Equal(t, "eventbus: handler print has no failure in topic orders, group default; others have: mail (2 to be retried)", note)
	for _, args := range [][]string{{"list", "orders"}, {"list", "orders", "--before", "0s"}, {"replay", "orders", "--all"}, {"discard", "orders", "--all", "--yes"}} {
		_, note = b.told(args...)
		require.Equal(t, "eventbus: no failure is in state dead, topic orders, group default; 2 are in state retry: --state retry picks from those", note)
	}
	for _, verb := range []string{"list", "replay", "discard"} {
		_, note = b.told(verb, "orders", "--handler", "mail")
		require.Equal(t, "eventbus: no failure of handler mail is in state dead, topic orders, group default; 2 are in state retry: --state retry picks from those", note)
	}
	require.Equal(t, "discarded 2\n", b.ok("failures", "discard", "orders", "--handler", "mail", "--state", "retry"))

	b.fail("orders", "bill", "1")
	_, note = b.told("list", "orders", "--handler", "bill", "--state", "retry")
	require.Equal(t, "eventbus: no failure of handler bill is in state retry, topic orders, group default; 1 is in state dead: --state dead picks from those", note)
	require.Equal(t, "discarded 0\n", b.ok("failures", "discard", "orders", "--all", "--state", "retry", "--yes"), "the state was chosen")
}

// A replay begins the count of attempts anew, and the help says so.
func TestFailuresAttemptsAfterReplay(t *testing.T) { modes(t, testFailuresAttemptsAfterReplay) }

func testFailuresAttemptsAfterReplay(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	calls := make(chan int, 10)
	bus := b.run("orders", "mail", func(_ context.Context, e *eventbus.Event) error {
		calls <- e.Attempt
		return errors.New("no")
	}, eventbus.HandleConfig{Retry: eventbus.RetryPolicy{MaxAttempts: 3, Initial: time.Millisecond}})
	b.ok("send", "orders", "--data", "1")
	var first failureObject
	for round := range 2 {
		for attempt := 1; attempt <= 3; attempt++ {
			require.Equal(t, attempt, within(b, calls, "an attempt"))
		}
		b.eventually("it is dead", func() bool {
			n, err := bus.Failures().Count(t.Context(), "orders")
			require.NoError(t, err)
			return n.Dead == 1
		})
		f := object[failureObject](b, b.ok("failures", "list", "orders", "-o", "json"))
		require.Equal(t, 3, f.Attempts)
		if round == 0 {
			first = f
			require.Equal(t, "replayed 1\n", b.ok("failures", "replay", "orders", f.ID))
			continue
		}
		require.Equal(t, first.ID, f.ID)
		require.True(t, f.FirstFailedAt.After(first.FailedAt), "%v, %v", f.FirstFailedAt, first.FailedAt)
	}
	for _, verb := range []string{"list", "show", "replay"} {
		require.Contains(t, strings.Join(strings.Fields(b.ok("failures", verb, "--help")), " "), "since the last replay", verb)
	}
}

func TestFailuresDiscardAll(t *testing.T) { modes(t, testFailuresDiscardAll) }

func testFailuresDiscardAll(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	b.fail("orders", "mail", numbers(0, 3)...)
	require.Contains(t, b.fails(2, "failures", "discard", "orders", "--all"), "say --yes if that is meant")
	require.Equal(t, "discarded 3\n", b.ok("failures", "discard", "orders", "--all", "--yes"))
}

func TestStats(t *testing.T) { modes(t, testStats) }

func testStats(t *testing.T, b *bed) {
	require.Empty(t, b.ok("stats", "-o", "json"))
	b.ok("topic", "create", "orders")
	b.ok("topic", "update", "orders", "--add-group", "mail")
	b.ok("topic", "create", "other")
	b.okIn("1\n2\n3\n", "send", "orders", "--lines")
	b.fail("orders", "bill", "4", "5")

	type stats struct {
		Topic, Group               string
		Enabled                    bool
		Waiting, Dead, Sent, Died  int64
		OldestMS                   int64    `json:"oldest_ms"`
		SentPerSecond              *float64 `json:"sent_per_second"`
		DonePerSecond, FailedPerSe *float64
	}
	all := objects[stats](b, b.ok("stats", "-o", "json", "--interval", "0"))
	require.Len(t, all, 3)
	require.Equal(t, "orders", all[0].Topic)
	require.Equal(t, "default", all[0].Group)
	require.EqualValues(t, 5, all[0].Dead)
	require.EqualValues(t, 5, all[0].Died)
	require.Nil(t, all[0].SentPerSecond)
	require.Equal(t, "mail", all[1].Group)
	require.EqualValues(t, 5, all[1].Waiting)
	require.Positive(t, all[1].OldestMS)
	require.Equal(t, "other", all[2].Topic)

	one := object[stats](b, b.ok("stats", "orders", "-o", "json", "--group", "mail", "--interval", "100ms"))
	require.NotNil(t, one.SentPerSecond)
	require.Zero(t, *one.SentPerSecond)
	b.delay("other", "default", 2)
	table := lines(b.ok("stats", "--interval", "0"))
	require.Len(t, table, 4)
	require.Regexp(t, `^other +default +on +0 +0 +2 +overdue \d+y(\d+d)? +0 +0 `, table[3])
	require.Regexp(t, `^TOPIC +GROUP +STATE +WAITING +IN FLIGHT +DELAYED +NEXT DUE +RETRY +DEAD +OLDEST +SENT/S +DONE/S +FAILED/S$`, table[0])
	require.Regexp(t, `^orders +default +on +0 +0 +0 +- +0 +5 +- +- +- +-$`, table[1])
	require.Contains(t, b.fails(1, "stats", "nope"), "topic not found")
	require.Contains(t, b.fails(1, "stats", "orders", "--group", "nope"), "group not found")
	require.Contains(t, b.call(nil, "stats", "--group", "nope").err, "no topic has the group nope; there are: default, mail")
}

// A topic with which something is wrong does not keep the figures of the others.
func TestStatsOfABadTopic(t *testing.T) { modes(t, testStatsOfABadTopic) }

func testStatsOfABadTopic(t *testing.T, b *bed) {
	for _, topic := range []string{"a", "bad", "c"} {
		b.ok("topic", "create", topic)
	}
	require.NoError(t, b.rdb.Set(t.Context(), b.namespace+":{bad}:queue:default", "somebody else's", 0).Err())
	for _, interval := range []string{"0", "100ms"} {
		r := b.call(nil, "stats", "--interval", interval)
		require.Equal(t, 1, r.code)
		table := lines(r.out)
		require.Len(t, table, 3, r.out)
		require.Regexp(t, `^a +default +on `, table[1])
		require.Regexp(t, `^c +default +on `, table[2])
		require.Contains(t, b.oneLine(r.err), `read figures of topic "bad": `)
		require.Contains(t, r.err, "redis key holds another type")
		require.Contains(t, r.err, "("+b.where()+")")
	}
	require.Contains(t, b.fails(1, "stats", "bad"), "redis key holds another type")

	b.ok("topic", "create", "unset")
	require.NoError(t, b.rdb.Set(t.Context(), b.namespace+":{unset}:config", "no settings", 0).Err())
	r := b.call(nil, "stats", "--interval", "0")
	require.Len(t, lines(r.out), 3, r.out)
	require.Contains(t, r.err, `topic "bad"`)
	require.Contains(t, r.err, `topic "unset"`)
	r = b.call(nil, "topic", "list")
	require.Equal(t, 1, r.code)
	require.Len(t, lines(r.out), 4, r.out)
	require.Contains(t, b.oneLine(r.err), `read topic "unset": `)
	require.Contains(t, r.err, "redis key holds another type")
	require.NoError(t, b.rdb.Del(t.Context(), b.namespace+":{unset}:config").Err())
	b.ok("topic", "create", "unset")
	b.ok("topic", "delete", "unset", "--yes")

	p := b.start(nil, "stats", "--watch", "--interval", "100ms")
	require.Contains(t, p.err.next(), `read figures of topic "bad": `)
	p.out.until("c ")
	p.out.until("c ")
	require.NoError(t, b.rdb.Del(t.Context(), b.namespace+":{bad}:queue:default").Err())
	require.Equal(t, "eventbus: figures can be read again", p.err.next())
	p.out.until("bad ")
	p.signal(os.Interrupt)
	require.Equal(t, 0, p.wait())
}
