package store_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

func sending() []test {
	return []test{
		{name: "ReachesEveryGroupAndRings", run: sendReachesEveryGroupAndRings},
		{name: "KeepsTheOrderOfManyEntries", run: sendKeepsTheOrderOfManyEntries},
		{name: "RingsNoBellOfAnAtMostOnceTopic", run: sendRingsNoBellOfAnAtMostOnceTopic},
		{name: "IsRefusedWhole", run: sendIsRefusedWhole},
		{name: "IsBoundedByMaxWaiting", run: sendIsBoundedByMaxWaiting},
		{name: "UnderAnOldRevisionIsStale", run: sendUnderAnOldRevisionIsStale},
		{name: "TakesAnyBytes", run: sendTakesAnyBytes},
		{name: "MeetsAWrongTypeInAnyGroup", run: sendMeetsAWrongTypeInAnyGroup},
	}
}

func sendReachesEveryGroupAndRings(b *bed) {
	b.create(&store.Topic{Name: "many", Enabled: true, Groups: []store.Group{{Name: "a"}, {Name: "b", QueueKey: b.ns + "-list"}}})
	b.send("1", "2")
	b.send("3")
	for _, g := range b.topic.Groups {
		b.keys = b.store.Keys(b.topic, g)
		require.Equal(b, []string{"3", "2", "1"}, b.list(b.keys.Queue), "the right end is handed out first")
		b.requireBell(true)
		require.Equal(b, "3", b.total("sent"))
	}
}

func sendKeepsTheOrderOfManyEntries(b *bed) {
	entries := numbered(1777)
	b.send(entries...)
	got := b.list(b.keys.Queue)
	slices.Reverse(got)
	require.Equal(b, entries, got)
}

func sendRingsNoBellOfAnAtMostOnceTopic(b *bed) {
	b.create(&store.Topic{Name: "popped", Enabled: true, Delivery: store.AtMostOnce, Groups: []store.Group{{Name: group}}})
	b.send("1")
	require.Equal(b, []string{"1"}, b.list(b.keys.Queue))
	b.requireBell(false)
}

// sendRefused demands that a send fails and changes nothing.
func (b *bed) sendRefused(want error, entries ...string) {
	b.Helper()
	before := b.dump()
	require.ErrorIs(b, b.store.Send(b.Context(), b.topic, raw(entries)), want)
	require.Equal(b, before, b.dump())
}

func sendIsRefusedWhole(b *bed) {
	nowhere := &store.Topic{Name: "nowhere", Revision: 1, Groups: b.topic.Groups}
	require.ErrorIs(b, b.store.Send(b.Context(), nowhere, raw([]string{"1"})), errs.TopicNotFound)
	nobody := &store.Topic{Name: "orders", Revision: 1}
	require.ErrorIs(b, b.store.Send(b.Context(), nobody, raw([]string{"1"})), errs.NoGroup)
	b.edit(store.FieldEnabled, "0")
	b.sendRefused(errs.TopicDisabled, "1")
	_, err := b.store.EditTopic(b.Context(), "orders", store.Edit{Set: []string{"deleting", "1"}})
	require.NoError(b, err)
	b.sendRefused(errs.TopicDeleting, "1")
}

func sendIsBoundedByMaxWaiting(b *bed) {
	b.create(&store.Topic{Name: "bounded", Enabled: true, MaxWaiting: 3, Groups: []store.Group{{Name: "a"}, {Name: "b"}}})
	b.sendRefused(errs.TopicFull, "1", "2", "3", "4")
	b.send("1", "2")
	b.keys = b.store.Keys(b.topic, b.topic.Groups[0])
	_, entries := b.claimed(5) // group a has room again, group b has not
	require.Len(b, entries, 2)
	b.sendRefused(errs.TopicFull, "3", "4")
	err := b.store.Send(b.Context(), b.topic, raw([]string{"3", "4"}))
	require.ErrorContains(b, err, `2 of at most 3 events wait in group "b"`)
	b.send("3")
}

func sendUnderAnOldRevisionIsStale(b *bed) {
	old := *b.topic
	b.edit("x", "1")
	b.topic = &old
	b.sendRefused(store.ErrStale, "1")
	require.ErrorIs(b, store.ErrStale, errs.Conflict)
	b.read("orders")
	b.send("1")
}

// hostile are payloads that mislead what reads them as text.
func hostile() []string {
	return []string{
		"", "\x00", "a\x00b", "\xff\xfe", "\r\n$-1\r\n*0\r\n", "130775545883395173", "[]", "{}", `{"a":[],"b":{},"n":1e400}`,
		"1", "0", "-1", "nil", "true", strings.Repeat("ä", 1000), "|", "r", "%s%d", "\x1b[2J",
	}
}

func sendTakesAnyBytes(b *bed) {
	b.send(hostile()...)
	receipts, entries := b.claimed(100)
	require.Equal(b, hostile(), entries)
	parts := make([]store.Ended, len(receipts))
	for i, r := range receipts {
		p := failure(store.Dead, fmt.Sprint("f", i), 0)
		p.Entry = []byte(entries[i])
		parts[i] = store.Ended{Receipt: r, Parts: []store.Part{p}}
	}
	require.EqualValues(b, len(parts), b.finish(parts...))
	var ids []string
	for i := range parts {
		ids = append(ids, fmt.Sprint("f", i))
	}
	records, err := b.store.ReadFailures(b.Context(), &b.keys, ids)
	require.NoError(b, err)
	require.Len(b, records, len(ids))
	for i, r := range records {
		require.Equal(b, hostile()[i], string(r.Entry))
	}
}

// A key of another type in any group's place keeps the entries out of all of
// them; where only the counts are spoiled the send succeeds.
func sendMeetsAWrongTypeInAnyGroup(b *bed) {
	groups := []store.Group{{Name: "a"}, {Name: "b"}, {Name: "c", QueueKey: b.ns + "-list"}}
	b.create(&store.Topic{Name: "many", Enabled: true, Groups: groups})
	b.send("before")
	for _, g := range groups {
		k := b.store.Keys(b.topic, g)
		for _, key := range []string{k.Queue, k.Bell} {
			restore := b.spoil(key)
			b.sendRefused(errs.WrongType, "1", "2")
			restore()
		}
		restore := b.spoil(k.Counts)
		b.send("beside spoiled counts")
		restore()
	}
	b.send("after")
	for _, g := range groups {
		k := b.store.Keys(b.topic, g)
		require.Equal(b, []string{"after", "beside spoiled counts", "beside spoiled counts", "beside spoiled counts", "before"}, b.list(k.Queue))
	}
}
