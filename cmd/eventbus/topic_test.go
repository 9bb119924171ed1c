package main

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestTopicLife(t *testing.T) { modes(t, testTopicLife) }

func testTopicLife(t *testing.T, b *bed) {
	require.Empty(t, b.ok("topic", "list", "-o", "json"))
	require.Regexp(t, `^TOPIC +STATE +DELIVERY`, b.ok("topic", "list"))

	require.Equal(t, "created topic orders with group default\n", b.ok("topic", "create", "orders"))
	require.Equal(t, `{"topic":"a/b","group":"billing","action":"created"}`+"\n",
		b.ok("topic", "create", "a/b", "-o", "json", "--group", "billing", "--delivery", "at_most_once", "--wire", "raw",
			"--max-waiting", "10", "--concurrency", "2", "--dead-limit", "-1", "--dead-age", "48h", "--queue-key", "list of b", "--disabled"))
	require.Contains(t, b.fails(1, "topic", "create", "orders"), "topic already exists ("+b.where()+"); eventbus topic update changes it")

	type topic map[string]any
	all := objects[topic](b, b.ok("topic", "list", "-o", "json"))
	require.Len(t, all, 2)
	require.NotEmpty(t, all[0]["created"])
	require.Positive(t, all[0]["revision"])
	delete(all[0], "created")
	delete(all[0], "revision")
	require.Equal(t, topic{
		"name": "a/b", "enabled": false, "delivery": "at_most_once", "wire": "raw", "max_waiting": 10.0, "concurrency": 2.0,
		"dead_limit": -1.0, "dead_age_ms": 172_800_000.0, "redisson_order_list": false, "redisson_old_clients": false,
		"groups": []any{map[string]any{"name": "billing", "queue_key": "list of b"}},
	}, all[0])
	table := lines(b.ok("topic", "list"))
	require.Len(t, table, 3)
	require.Regexp(t, `^a/b +off +at_most_once +raw +10 +2 +- +48h +billing=list of b$`, table[1])
	require.Regexp(t, `^orders +on +at_least_once +cloudevents +- +- +1000000 +2160h +default$`, table[2])

	require.Equal(t, "updated topic orders\n", b.ok("topic", "update", "orders", "--max-waiting", "5", "--dead-age", "-1"))
	require.Equal(t, "updated topic orders\n", b.ok("topic", "update", "orders", "--add-group", "mail", "--queue-key", "mails"))
	type revised struct{ Revision int64 }
	before := fmt.Sprint(object[revised](b, b.ok("topic", "show", "orders", "-o", "json")).Revision)
	answer := b.ok("topic", "update", "orders", "--concurrency", "7", "--if-revision", before, "-o", "json")
	after := object[revised](b, b.ok("topic", "show", "orders", "-o", "json")).Revision
	require.Equal(t, fmt.Sprintf(`{"topic":"orders","action":"updated","revision":%d}`+"\n", after), answer)
	require.Contains(t, b.fails(1, "topic", "update", "orders", "--concurrency", "8", "--if-revision", before), "settings changed meanwhile")
	sheet := b.ok("topic", "show", "orders")
	require.Regexp(t, `(?m)^Max waiting +5$`, sheet)
	require.Regexp(t, `(?m)^Concurrency +7$`, sheet)
	require.Regexp(t, `(?m)^Dead age +-$`, sheet)
	require.Regexp(t, `(?m)^Group +mail  queue key mails$`, sheet)
	b.ok("topic", "update", "orders", "--remove-group", "mail", "--yes")
	require.NotContains(t, b.ok("topic", "show", "orders"), "mail")

	require.Equal(t, "disabled topic orders\n", b.ok("topic", "disable", "orders"))
	require.Contains(t, b.fails(1, "send", "orders", "--data", "1"), "topic is disabled; eventbus topic enable switches it on")
	require.Equal(t, "enabled topic orders\n", b.ok("topic", "enable", "orders"))
	b.ok("send", "orders", "--data", "1")

	require.Equal(t, "deleted topic orders\n", b.ok("topic", "delete", "orders", "--yes"))
	require.Contains(t, b.fails(1, "topic", "show", "orders"), "topic not found")
	require.Contains(t, b.fails(1, "topic", "delete", "orders"), "topic not found")
	require.Contains(t, b.fails(1, "topic", "enable", "orders"), "eventbus topic create makes one")
	b.ok("topic", "delete", "a/b", "--yes")
	require.Empty(t, b.ok("topic", "list", "-o", "json"))
}

// An update is of several steps; where one fails, the error says which have been done.
func TestTopicUpdateSaysWhatItHasDone(t *testing.T) { modes(t, testTopicUpdateSaysWhatItHasDone) }

func testTopicUpdateSaysWhatItHasDone(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	line := b.fails(1, "topic", "update", "orders", "--max-waiting", "9", "--add-group", "mail", "--remove-group", "nail", "--yes")
	require.Regexp(t, `^eventbus: settings changed, to revision \d+, group mail added, then: .*group not found`, line)
	require.NotContains(t, b.fails(1, "topic", "update", "orders", "--add-group", "mail"), "then:")
	require.Regexp(t, `(?m)^orders +on +at_least_once +cloudevents +9 .* default,mail$`, b.ok("topic", "list"))
}

// What destroys events says which, and demands a yes; without it all stays.
func TestTopicDestructionDemandsYes(t *testing.T) { modes(t, testTopicDestructionDemandsYes) }

func testTopicDestructionDemandsYes(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	b.fail("orders", "bill", "1", "2")
	b.ok("topic", "update", "orders", "--add-group", "mail")
	b.okIn("3\n4\n5\n", "send", "orders", "--lines")
	b.delay("orders", "mail", 4)
	const mail = "3 waiting, 0 in flight, 4 delayed, 0 failed (0 to be retried, 0 dead)"
	line := b.fails(2, "topic", "delete", "orders")
	require.Contains(t, line, "this deletes topic orders with all that it holds, for good: "+
		"group default holds 3 waiting, 0 in flight, 0 delayed, 2 failed (0 to be retried, 2 dead), group mail holds "+mail)
	require.Contains(t, line, "; say --yes if that is meant")
	line = b.fails(2, "topic", "update", "orders", "--max-waiting", "9", "--remove-group", "mail")
	require.Contains(t, line, "this removes group mail of topic orders with all that it holds, for good: "+mail+"; say --yes if that is meant")
	require.Contains(t, b.fails(1, "topic", "update", "orders", "--max-waiting", "9", "--remove-group", "nail"), "group not found")
	require.Contains(t, b.fails(1, "topic", "delete", "order"), "topic not found")
	require.Regexp(t, `(?m)^orders +on +at_least_once +cloudevents +- .* default,mail$`, b.ok("topic", "list"), "all is as it was")
	require.Contains(t, b.ok("stats", "orders", "--group", "mail", "-o", "json", "--interval", "0"), `"waiting":3`)
	b.ok("topic", "delete", "orders", "--yes")
	require.Empty(t, b.ok("topic", "list", "-o", "json"))
}

// A list under a queue key of somebody's stays, with what is delayed for it, and the
// question does not say that it goes.
func TestTopicDestructionLeavesLists(t *testing.T) { modes(t, testTopicDestructionLeavesLists) }

func testTopicDestructionLeavesLists(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	list := b.namespace + "-mails"
	b.ok("topic", "update", "orders", "--add-group", "mail", "--queue-key", list)
	b.okIn("1\n2\n", "send", "orders", "--lines")
	b.okIn("3\n4\n5\n", "send", "orders", "--lines", "--delay", "1h")
	stays := "; the list " + list + " stays in Redis, with what waits in it (2) and is delayed for it (3); say --yes if that is meant"
	line := b.fails(2, "topic", "update", "orders", "--remove-group", "mail")
	require.Contains(t, line, "this removes group mail of topic orders, and for good: 0 in flight, 0 failed (0 to be retried, 0 dead)"+stays)
	line = b.fails(2, "topic", "delete", "orders")
	require.Contains(t, line, "this deletes topic orders with all that it holds but the lists of others, for good: "+
		"group default holds 2 waiting, 0 in flight, 3 delayed, 0 failed (0 to be retried, 0 dead), group mail holds 0 in flight, 0 failed (0 to be retried, 0 dead)"+stays)
	b.ok("topic", "update", "orders", "--remove-group", "mail", "--yes")
	require.EqualValues(t, 2, b.rdb.LLen(t.Context(), list).Val())
	require.EqualValues(t, 3, b.rdb.ZCard(t.Context(), "redisson_delay_queue_timeout:{"+list+"}").Val())
}

// delay puts events into a group's delayed set, as Redisson does.
func (b *bed) delay(topic, group string, n int) {
	b.t.Helper()
	for i := range n {
		require.NoError(b.t, b.rdb.ZAdd(b.t.Context(), b.delayedSet(topic, group), redis.Z{Score: float64(i + 1), Member: fmt.Sprint(i)}).Err())
	}
}
