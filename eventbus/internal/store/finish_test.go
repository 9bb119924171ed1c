package store_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/store"
)

func finishing() []test {
	return []test{
		{name: "OfDoneRemovesTheReceipt", run: finishOfDoneRemovesTheReceipt},
		{name: "PutsEachPartInItsPlaceOnce", run: finishPutsEachPartInItsPlaceOnce},
		{name: "WithoutTheReceiptChangesNothing", run: finishWithoutTheReceiptChangesNothing},
		{name: "OfManyAtOnce", run: finishOfManyAtOnce, real: true},
		{name: "OfAFailureKeepsRecordAndEntry", run: finishOfAFailureKeepsRecordAndEntry},
		{name: "NeverOverwritesAFailure", run: finishNeverOverwritesAFailure},
		{name: "TrimsRecordAndIndexAtTheLimit", run: finishTrimsRecordAndIndexAtTheLimit},
		{name: "TrimsALargeExcessInBoundedParts", run: finishTrimsInBoundedParts, real: true},
		{name: "OfTakenEntries", run: finishOfTakenEntries},
		{name: "InADeletedGroupBringsNothingBack", run: finishInADeletedGroupBringsNothingBack},
		{name: "GivesBackToTheReturnsOfASharedQueue", run: finishGivesBackToReturns},
		{name: "Counts", run: finishCounts},
		{name: "PutsBackInParts", run: finishPutsBackInParts, real: true},
	}
}

// failure is a part whose record and entry name its id.
func failure(kind store.PartKind, id string, delay time.Duration) store.Part {
	return store.Part{Kind: kind, ID: id, Meta: []byte(`{"event":"` + id + `"}`), Entry: []byte("entry of " + id), Delay: delay}
}

func finishOfDoneRemovesTheReceipt(b *bed) {
	b.send("1", "2", "3")
	receipts, _ := b.claimed(3)
	require.EqualValues(b, 2, b.finish(done(receipts[0], receipts[2])...))
	require.Equal(b, map[string]string{receipts[1]: "2"}, b.hash(b.keys.Inflight(consumer)))
	require.EqualValues(b, 1, b.finish(done(receipts...)...), "those that are gone change nothing")
	require.Empty(b, b.hash(b.keys.Inflight(consumer)))
	require.Empty(b, b.list(b.keys.Queue))
	b.requireFailures()
}

func finishPutsEachPartInItsPlaceOnce(b *bed) {
	b.send("waits", "event", "beside")
	b.claimed(1)
	receipts, _ := b.claimed(2)
	b.send("behind")
	b.finish(done("1-1")...)
	require.NoError(b, b.rdb.Del(b.Context(), b.keys.Bell).Err())
	ended := store.Ended{Receipt: receipts[0], Parts: []store.Part{
		{Kind: store.BackFirst, Entry: []byte("first")},
		{Kind: store.BackLast, Entry: []byte("last")},
		failure(store.Retry, "r", time.Hour),
		failure(store.Dead, "d", 0),
	}}
	for want := int64(1); want >= 0; want-- { // the second time nothing is there any more
		require.Equal(b, want, b.finish(ended))
		require.Equal(b, []string{"last", "behind", "first"}, b.list(b.keys.Queue))
		require.Equal(b, map[string]string{receipts[1]: "beside"}, b.hash(b.keys.Inflight(consumer)))
		require.Equal(b, []string{"r"}, b.zset(b.keys.Retry))
		require.Equal(b, []string{"d"}, b.zset(b.keys.Dead))
		b.requireFailures("r", "d")
		b.requireBell(true)
	}
}

func finishWithoutTheReceiptChangesNothing(b *bed) {
	b.send("1")
	receipts, _ := b.claimed(1)
	b.finish(done(receipts...)...)
	before := b.dump()
	for _, kind := range []store.PartKind{store.BackFirst, store.BackLast, store.Retry, store.Dead} {
		part := failure(kind, "f", 0)
		for _, receipt := range []string{receipts[0], receipts[0] + "r", "never given"} {
			require.Zero(b, b.finish(store.Ended{Receipt: receipt, Parts: []store.Part{part, part}}))
		}
	}
	n, _, err := b.store.Finish(b.Context(), &b.keys, "another consumer", 0, done(receipts...))
	require.NoError(b, err)
	require.Zero(b, n)
	require.Equal(b, before, b.dump())
}

func finishOfManyAtOnce(b *bed) {
	const many = 2500 // more than Lua can unpack twice over
	b.send(numbered(many)...)
	var ended []store.Ended
	var failures []string
	for len(ended) < many {
		receipts, _ := b.claimed(500)
		for _, r := range receipts {
			e := store.Ended{Receipt: r}
			if len(ended)%5 == 0 {
				id := fmt.Sprint("f", len(ended))
				failures = append(failures, id)
				e.Parts = []store.Part{failure(store.Dead, id, 0)}
			}
			ended = append(ended, e)
		}
	}
	require.EqualValues(b, many, b.finish(ended...))
	require.Empty(b, b.hash(b.keys.Inflight(consumer)))
	require.ElementsMatch(b, failures, b.zset(b.keys.Dead))
	b.requireFailures(failures...)
}

func finishOfAFailureKeepsRecordAndEntry(b *bed) {
	before := b.now()
	entry := strings.Join(hostile(), "\x00")
	b.send("1", "2")
	receipts, _ := b.claimed(2)
	for i, kind := range []store.PartKind{store.Retry, store.Dead} {
		id := fmt.Sprint("f", i)
		part := store.Part{Kind: kind, ID: id, Meta: []byte(`{"n":130775545883395173,"a":[]}`), Entry: []byte(entry), Delay: 24 * time.Hour}
		b.finish(store.Ended{Receipt: receipts[i], Parts: []store.Part{part}})
		records, err := b.store.ReadFailures(b.Context(), &b.keys, []string{id})
		require.NoError(b, err)
		r := records[0]
		require.Equal(b, part.Meta, r.Meta)
		require.Equal(b, entry, string(r.Entry))
		require.Equal(b, id, r.ID)
		require.GreaterOrEqual(b, r.FailedAt, before)
		require.LessOrEqual(b, r.FailedAt, b.now())
		if kind == store.Retry {
			require.Equal(b, store.RetrySet, r.Set)
			require.Equal(b, r.FailedAt+part.Delay.Milliseconds(), r.Score)
		} else {
			require.Equal(b, store.DeadSet, r.Set)
			require.Equal(b, r.FailedAt, r.Score, "a dead failure knows no delay")
		}
	}
}

// Two failures of one id are two failures: an entry may be delivered twice.
func finishNeverOverwritesAFailure(b *bed) {
	b.send("1", "2", "3")
	receipts, _ := b.claimed(3)
	for i, kind := range []store.PartKind{store.Dead, store.Retry, store.Dead} {
		part := failure(kind, "same", 0)
		part.Entry = []byte(strconv.Itoa(i))
		b.finish(store.Ended{Receipt: receipts[i], Parts: []store.Part{part}})
	}
	b.requireFailures("same", "same+", "same++")
	require.ElementsMatch(b, []string{"same", "same++"}, b.zset(b.keys.Dead))
	require.Equal(b, []string{"same+"}, b.zset(b.keys.Retry))
	for i, id := range []string{"same", "same+", "same++"} {
		require.Equal(b, strconv.Itoa(i), b.hash(b.keys.Failures)[id+"|e"])
	}
}

func (b *bed) finishLimited(limit int64, ended ...store.Ended) (dropped int64) {
	b.Helper()
	n, dropped, err := b.store.Finish(b.Context(), &b.keys, consumer, limit, ended)
	require.NoError(b, err)
	require.EqualValues(b, len(ended), n)
	return dropped
}

func finishTrimsRecordAndIndexAtTheLimit(b *bed) {
	b.fail(store.Dead, "a", "b", "c", "d")
	b.fail(store.Retry, "r")
	for i, id := range []string{"a", "b", "c", "d"} {
		b.score(b.keys.Dead, id, float64(100-i)) // d is the oldest
	}
	b.send("1", "2")
	receipts, _ := b.claimed(2)
	require.Zero(b, b.finishLimited(4, done(receipts[0])...), "what dies not makes no room")
	require.EqualValues(b, 2, b.finishLimited(3, store.Ended{Receipt: receipts[1], Parts: []store.Part{failure(store.Dead, "e", 0)}}))
	require.Equal(b, []string{"b", "a", "e"}, b.zset(b.keys.Dead))
	require.Equal(b, []string{"r"}, b.zset(b.keys.Retry))
	b.requireFailures("b", "a", "e", "r")
	require.Equal(b, "2", b.total("dropped"))
}

func finishTrimsInBoundedParts(b *bed) {
	const many = 700
	var ended []store.Ended
	b.send(numbered(many + 2)...)
	for len(ended) < many {
		receipts, _ := b.claimed(min(500, many-len(ended)))
		for _, r := range receipts {
			ended = append(ended, store.Ended{Receipt: r, Parts: []store.Part{failure(store.Dead, fmt.Sprint("f", len(ended)), 0)}})
		}
	}
	b.finish(ended...)
	total := int64(0)
	for range 2 {
		receipts, _ := b.claimed(1)
		n := b.finishLimited(10, store.Ended{Receipt: receipts[0], Parts: []store.Part{failure(store.Dead, "last"+receipts[0], 0)}})
		require.Positive(b, n)
		require.LessOrEqual(b, n, int64(500), "a lowered limit is reached step by step")
		total += n
	}
	left := b.zset(b.keys.Dead)
	require.Len(b, left, many+2-int(total))
	b.requireFailures(left...)
	require.Equal(b, strconv.FormatInt(total, 10), b.total("dropped"))
}

// Entries of an at_most_once topic have no receipt; their failures are kept.
func finishOfTakenEntries(b *bed) {
	parts := []store.Part{failure(store.Dead, "d", 0), failure(store.Retry, "r", 0), {Kind: store.BackFirst, Entry: []byte("back")}}
	require.EqualValues(b, 1, b.finish(store.Ended{Parts: parts}))
	b.requireFailures("d", "r")
	require.Equal(b, []string{"back"}, b.list(b.keys.Queue))
	b.requireBell(true)
}

func finishInADeletedGroupBringsNothingBack(b *bed) {
	b.send("1")
	receipts, _ := b.claimed(1)
	require.NoError(b, b.store.RemoveGroup(b.Context(), "orders", group))
	before := b.dump()
	parts := []store.Part{failure(store.Dead, "d", 0), failure(store.Retry, "r", 0), {Kind: store.BackFirst, Entry: []byte("back")}}
	require.Zero(b, b.finish(store.Ended{Receipt: receipts[0], Parts: parts}, store.Ended{Parts: parts}))
	require.Equal(b, before, b.dump())
}

func finishGivesBackToReturns(b *bed) {
	b.shared()
	b.send("1", "2")
	receipts, _ := b.claimed(1)
	b.finish(store.Ended{Receipt: receipts[0], Parts: []store.Part{
		{Kind: store.BackFirst, Entry: []byte("first")}, {Kind: store.BackLast, Entry: []byte("last")},
	}})
	require.Equal(b, []string{"2"}, b.list(b.keys.Queue), "others read this list")
	require.Equal(b, []string{"last", "first"}, b.list(b.keys.Returns))
}

func finishCounts(b *bed) {
	b.send("1", "2", "3", "4", "5")
	receipts, _ := b.claimed(5)
	b.finish(append(done(receipts[0], receipts[1]),
		store.Ended{Receipt: receipts[2], Parts: []store.Part{failure(store.Retry, "r1", 0), failure(store.Retry, "r2", 0)}},
		store.Ended{Receipt: receipts[3], Parts: []store.Part{failure(store.Dead, "d", 0)}},
		store.Ended{Receipt: receipts[4], Parts: []store.Part{{Kind: store.BackLast, Entry: []byte("5")}}},
	)...)
	require.Equal(b, map[string]string{"sent": "5", "done": "2", "retry": "2", "dead": "1"}, b.hash(b.keys.Counts))
}

// What is put back goes in calls of at most 4 MiB, or of one entry, in its order.
func finishPutsBackInParts(b *bed) {
	sizes := []int{3 << 20, 1 << 20, 1, 5 << 20, 2 << 20, 2 << 20, 1} // calls: 2, 1, 1, 2 and 1 of them
	var ended []store.Ended
	var want []string
	for i, size := range sizes {
		b.send("e")
		receipts, _ := b.claimed(1)
		entry := strings.Repeat(strconv.Itoa(i), size)
		ended = append(ended, store.Ended{Receipt: receipts[0], Parts: []store.Part{{Kind: store.BackFirst, Entry: []byte(entry)}}})
		want = append(want, entry)
	}
	t := &trap{}
	n, err := b.trapped(t).PutBack(b.Context(), &b.keys, consumer, 0, ended)
	require.NoError(b, err)
	require.EqualValues(b, len(sizes), n)
	require.EqualValues(b, 5, t.calls.Load())
	require.True(b, slices.Equal(want, b.list(b.keys.Queue)))
}
