package store_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

func paging() []test {
	return []test{
		{name: "GoesThroughEverySetOnce", run: pageGoesThroughEverySetOnce},
		{name: "GoesThroughManyOfOneScore", run: pageGoesThroughManyOfOneScore},
		{name: "GoesOnWhereItsCursorWasRemoved", run: pageGoesOnWhereItsCursorWasRemoved},
		{name: "GoesOnWhereItsCursorHasMoved", run: pageGoesOnWhereItsCursorHasMoved},
		{name: "EndsAtAScore", run: pageEndsAtAScore},
		{name: "ShowsWhatHasNoRecord", run: pageShowsWhatHasNoRecord},
		{name: "LeavesEntriesOut", run: pageLeavesEntriesOut},
	}
}

// pages reads a whole set page by page. between is called after each.
func (b *bed) pages(set store.FailureSet, most int, between func(page []store.Record)) (ids []string) {
	b.Helper()
	var score int64
	var id string
	for range 1000 {
		page, err := b.store.PageFailures(b.Context(), &b.keys, set, score, id, 0, most)
		require.NoError(b, err)
		require.LessOrEqual(b, len(page), most)
		if len(page) == 0 {
			return ids
		}
		for _, r := range page {
			require.Equal(b, set, r.Set)
			ids = append(ids, r.ID)
		}
		last := page[len(page)-1]
		score, id = last.Score, last.ID
		if between != nil {
			between(page)
		}
	}
	require.Fail(b, "the pages do not end")
	return nil
}

// die puts failures into the dead set under the given scores.
func (b *bed) die(scores map[string]int64) {
	b.Helper()
	for id, score := range scores {
		b.finish(store.Ended{Parts: []store.Part{failure(store.Dead, id, 0)}})
		b.score(b.keys.Dead, id, float64(score))
	}
}

func pageGoesThroughEverySetOnce(b *bed) {
	b.die(map[string]int64{"c": 1, "b": 2, "a": 3, "d": 1_767_225_600_000})
	b.fail(store.Retry, "r")
	for most := 1; most <= 5; most++ {
		require.Equal(b, []string{"c", "b", "a", "d"}, b.pages(store.DeadSet, most, nil))
		require.Equal(b, []string{"r"}, b.pages(store.RetrySet, most, nil))
	}
	page, err := b.store.PageFailures(b.Context(), &b.keys, store.DeadSet, 0, "", 0, 10)
	require.NoError(b, err)
	require.EqualValues(b, 1_767_225_600_000, page[3].Score)
	require.JSONEq(b, `{"event":"d"}`, string(page[3].Meta))
	require.Equal(b, len("entry of d"), page[3].Size)
	require.Positive(b, page[3].FailedAt)
}

func pageGoesThroughManyOfOneScore(b *bed) {
	scores := map[string]int64{}
	var want []string
	for i := range 25 {
		id := fmt.Sprintf("f%02d", i)
		scores[id] = 1_767_225_600_000 + int64(i/10)
		want = append(want, id)
	}
	b.die(scores)
	for _, most := range []int{1, 3, 10, 25, 26} {
		require.Equal(b, want, b.pages(store.DeadSet, most, nil))
	}
}

// Removing what a page brought, as a replay does, must neither skip, repeat nor end
// anything, with many failures of the same millisecond.
func pageGoesOnWhereItsCursorWasRemoved(b *bed) {
	for _, remove := range []struct {
		name string
		ids  func(page []store.Record) []store.Record
	}{
		{"all", func(page []store.Record) []store.Record { return page }},
		{"the last", func(page []store.Record) []store.Record { return page[len(page)-1:] }},
		{"all but the last", func(page []store.Record) []store.Record { return page[:len(page)-1] }},
	} {
		scores := map[string]int64{}
		var want []string
		for i := range 20 {
			id := fmt.Sprintf("f%02d", i)
			scores[id] = int64(i / 7)
			want = append(want, id)
		}
		b.die(scores)
		seen := b.pages(store.DeadSet, 3, func(page []store.Record) {
			var ids []string
			for _, r := range remove.ids(page) {
				ids = append(ids, r.ID)
			}
			if len(ids) > 0 {
				_, err := b.store.Discard(b.Context(), &b.keys, picks(ids...))
				require.NoError(b, err)
			}
		})
		require.Equal(b, want, seen, remove.name)
		left := b.zset(b.keys.Dead)
		if len(left) > 0 {
			_, err := b.store.Discard(b.Context(), &b.keys, picks(left...))
			require.NoError(b, err)
		}
	}
}

func pageGoesOnWhereItsCursorHasMoved(b *bed) {
	b.die(map[string]int64{"a": 1, "b": 2, "c": 3})
	b.score(b.keys.Dead, "a", 9) // it was replayed, and died anew
	page, err := b.store.PageFailures(b.Context(), &b.keys, store.DeadSet, 1, "a", 0, 10)
	require.NoError(b, err)
	require.Len(b, page, 3)
	require.Equal(b, "b", page[0].ID)
}

func pageEndsAtAScore(b *bed) {
	b.die(map[string]int64{"a": 10, "b": 20, "c": 20, "d": 21})
	for upto, want := range map[int64]int{9: 0, 10: 1, 19: 1, 20: 3, 21: 4, 0: 4} {
		page, err := b.store.PageFailures(b.Context(), &b.keys, store.DeadSet, 0, "", upto, 10)
		require.NoError(b, err)
		require.Len(b, page, want, "up to %d", upto)
	}
}

func pageShowsWhatHasNoRecord(b *bed) {
	b.score(b.keys.Dead, "orphan", 5)
	page, err := b.store.PageFailures(b.Context(), &b.keys, store.DeadSet, 0, "", 0, 10)
	require.NoError(b, err)
	require.Equal(b, []store.Record{{ID: "orphan", Set: store.DeadSet, Score: 5, Meta: []byte{}}}, page)
	n, err := b.store.Discard(b.Context(), &b.keys, picks("orphan"))
	require.NoError(b, err)
	require.EqualValues(b, 1, n)
	require.Empty(b, b.zset(b.keys.Dead))
}

func pageLeavesEntriesOut(b *bed) {
	part := failure(store.Dead, "big", 0)
	part.Entry = []byte(strings.Repeat("x", 1<<20))
	b.finish(store.Ended{Parts: []store.Part{part}})
	page, err := b.store.PageFailures(b.Context(), &b.keys, store.DeadSet, 0, "", 0, 10)
	require.NoError(b, err)
	require.Equal(b, 1<<20, page[0].Size)
	require.Nil(b, page[0].Entry)
}

func reading() []test {
	return []test{
		{name: "TellsWhereAFailureIs", run: readTellsWhereAFailureIs},
		{name: "IsBoundedInBytes", run: readIsBoundedInBytes, real: true},
	}
}

func readTellsWhereAFailureIs(b *bed) {
	b.fail(store.Dead, "d")
	b.fail(store.Retry, "r")
	b.score(b.keys.Dead, "half", 1)
	records, err := b.store.ReadFailures(b.Context(), &b.keys, []string{"r", "no such id", "d", "half"})
	require.NoError(b, err)
	require.Len(b, records, 4)
	require.Equal(b, store.RetrySet, records[0].Set)
	require.Equal(b, "entry of r", string(records[0].Entry))
	require.Empty(b, records[1].Set)
	require.Equal(b, store.DeadSet, records[2].Set)
	require.Equal(b, "entry of d", string(records[2].Entry))
	require.Empty(b, records[3].Set, "without an entry nothing can be done with it")
	for i, id := range []string{"r", "no such id", "d", "half"} {
		found, err := b.store.FindFailure(b.Context(), &b.keys, id)
		if records[i].Set == "" {
			require.ErrorIs(b, err, errs.FailureNotFound, id)
			continue
		}
		require.NoError(b, err)
		records[i].Entry = nil
		require.Equal(b, records[i], found)
	}
}

func readIsBoundedInBytes(b *bed) {
	const many, size, most = 10, 1 << 20, 4 << 20
	var ids []string
	for i := range many {
		part := failure(store.Dead, fmt.Sprint("f", i), 0)
		part.Entry = []byte(strings.Repeat("x", size))
		b.finish(store.Ended{Parts: []store.Part{part}})
		ids = append(ids, part.ID)
	}
	for left := ids; len(left) > 0; {
		records, err := b.store.ReadFailures(b.Context(), &b.keys, left)
		require.NoError(b, err)
		require.NotEmpty(b, records)
		require.LessOrEqual(b, len(records)*size, most+size)
		for i, r := range records {
			require.Equal(b, left[i], r.ID)
			require.Len(b, r.Entry, size)
		}
		left = left[len(records):]
	}
}

func replaying() []test {
	return []test{
		{name: "MovesEachOnce", run: replayMovesEachOnce},
		{name: "LeavesWhatHasFailedAnewAlone", run: replayLeavesWhatHasFailedAnewAlone},
		{name: "InARemovedGroupChangesNothing", run: replayInARemovedGroupChangesNothing},
		{name: "GoesToTheReturnsOfASharedQueue", run: replayGoesToReturns},
	}
}

// replay reads failures and replays them as they were read.
func (b *bed) replay(ids ...string) ([]string, error) {
	b.Helper()
	records, err := b.store.ReadFailures(b.Context(), &b.keys, ids)
	require.NoError(b, err)
	entries := make([][]byte, len(ids))
	for i, id := range ids {
		entries[i] = []byte("again " + id)
	}
	return b.store.Replay(b.Context(), &b.keys, records, entries)
}

func replayMovesEachOnce(b *bed) {
	b.fail(store.Dead, "d1", "d2", "d3")
	b.fail(store.Retry, "r1", "r2")
	b.send("waits")
	require.NoError(b, b.rdb.Del(b.Context(), b.keys.Bell).Err())
	moved, err := b.replay("d1", "no such id", "r1", "d1", "d3")
	require.NoError(b, err)
	require.Equal(b, []string{"d1", "r1", "d3"}, moved)
	require.Equal(b, []string{"again d3", "again r1", "again d1", "waits"}, b.list(b.keys.Queue))
	require.Equal(b, []string{"d2"}, b.zset(b.keys.Dead))
	require.Equal(b, []string{"r2"}, b.zset(b.keys.Retry))
	b.requireFailures("d2", "r2")
	b.requireBell(true)
	require.Equal(b, "3", b.total("replayed"))

	before := b.dump()
	moved, err = b.replay("d1", "r1", "d3")
	require.NoError(b, err)
	require.Empty(b, moved)
	require.Equal(b, before, b.dump())
}

// Between reading and replaying, somebody else may have replayed the failure,
// and it may have failed once more, under the same id. That is another failure:
// two replays at once would run it twice.
func replayLeavesWhatHasFailedAnewAlone(b *bed) {
	b.fail(store.Dead, "f")
	read, err := b.store.ReadFailures(b.Context(), &b.keys, []string{"f"})
	require.NoError(b, err)
	b.passMillisecond()
	moved, err := b.replay("f")
	require.NoError(b, err)
	require.Equal(b, []string{"f"}, moved)
	receipts, _ := b.claimed(1)
	b.finish(store.Ended{Receipt: receipts[0], Parts: []store.Part{failure(store.Dead, "f", 0)}})

	before := b.dump()
	moved, err = b.store.Replay(b.Context(), &b.keys, read, [][]byte{[]byte("again f")})
	require.NoError(b, err)
	require.Empty(b, moved)
	require.Equal(b, before, b.dump())
}

// passMillisecond returns once the server's clock shows another millisecond.
func (b *bed) passMillisecond() {
	b.Helper()
	for before := b.now(); b.now() == before; {
	}
}

func replayInARemovedGroupChangesNothing(b *bed) {
	b.fail(store.Dead, "f")
	read, err := b.store.ReadFailures(b.Context(), &b.keys, []string{"f"})
	require.NoError(b, err)
	require.NoError(b, b.store.RemoveGroup(b.Context(), "orders", group))
	before := b.dump()
	_, err = b.store.Replay(b.Context(), &b.keys, read, [][]byte{[]byte("again f")})
	require.ErrorIs(b, err, errs.GroupNotFound)
	require.Equal(b, before, b.dump())
}

func replayGoesToReturns(b *bed) {
	b.shared()
	b.fail(store.Dead, "f")
	_, err := b.replay("f")
	require.NoError(b, err)
	require.Empty(b, b.list(b.keys.Queue), "others read this list")
	require.Equal(b, []string{"again f"}, b.list(b.keys.Returns))
}

func discarding() []test {
	return []test{{name: "RemovesRecordAndIndex", run: discardRemovesRecordAndIndex}}
}

func discardRemovesRecordAndIndex(b *bed) {
	b.fail(store.Dead, "d1", "d2")
	b.fail(store.Retry, "r1", "r2")
	n, err := b.store.Discard(b.Context(), &b.keys, picks("d1", "d1", "no such id", "r2"))
	require.NoError(b, err)
	require.EqualValues(b, 2, n)
	require.Equal(b, []string{"d2"}, b.zset(b.keys.Dead))
	require.Equal(b, []string{"r1"}, b.zset(b.keys.Retry))
	b.requireFailures("d2", "r1")
	require.Equal(b, "2", b.total("discarded"))
	require.Empty(b, b.list(b.keys.Queue))
}

func expiring() []test {
	return []test{
		{name: "DropsWhatIsTooOld", run: expireDropsWhatIsTooOld},
		{name: "DropsWhatIsTooMuch", run: expireDropsWhatIsTooMuch},
		{name: "IsBounded", run: expireIsBounded},
		{name: "WithoutLimitsDropsNothing", run: expireWithoutLimitsDropsNothing},
	}
}

func (b *bed) expire(age time.Duration, limit int64) int64 {
	b.Helper()
	n, err := b.store.Expire(b.Context(), &b.keys, &store.Topic{DeadAge: age, DeadLimit: limit})
	require.NoError(b, err)
	return n
}

func expireDropsWhatIsTooOld(b *bed) {
	now := b.now()
	b.die(map[string]int64{"old": now - 7_200_000, "older": now - 9_000_000, "young": now - 1_800_000})
	b.fail(store.Retry, "r")
	b.score(b.keys.Retry, "r", 1) // overdue, and no dead failure
	require.EqualValues(b, 2, b.expire(time.Hour, 0))
	require.Equal(b, []string{"young"}, b.zset(b.keys.Dead))
	b.requireFailures("young", "r")
	require.Equal(b, "2", b.total("dropped"))
	require.Zero(b, b.expire(time.Hour, 0))
}

func expireDropsWhatIsTooMuch(b *bed) {
	b.die(map[string]int64{"a": 3, "b": 1, "c": 4, "d": 2})
	require.EqualValues(b, 2, b.expire(0, 2))
	require.Equal(b, []string{"a", "c"}, b.zset(b.keys.Dead), "the oldest go")
	b.requireFailures("a", "c")
	require.Zero(b, b.expire(0, 2))
}

func expireIsBounded(b *bed) {
	const many = 450
	parts := make([]store.Ended, many)
	for i := range parts {
		parts[i] = store.Ended{Parts: []store.Part{failure(store.Dead, fmt.Sprint("f", i), 0)}}
	}
	b.finish(parts...)
	for total := int64(0); total < many-7; {
		n := b.expire(0, 7)
		require.Positive(b, n)
		require.LessOrEqual(b, n, int64(200))
		total += n
	}
	b.requireFailures(b.zset(b.keys.Dead)...)
	require.Len(b, b.zset(b.keys.Dead), 7)
}

func expireWithoutLimitsDropsNothing(b *bed) {
	b.die(map[string]int64{"a": 1})
	require.NoError(b, b.rdb.ZAdd(b.Context(), b.keys.Dead, redis.Z{Score: 0, Member: "orphan"}).Err())
	before := b.dump()
	require.Zero(b, b.expire(0, 0))
	require.Equal(b, before, b.dump())
}

// picks picks failures by their ids alone.
func picks(ids ...string) []store.Pick {
	all := make([]store.Pick, len(ids))
	for i, id := range ids {
		all[i] = store.Pick{ID: id, FailedAt: store.AnyTime}
	}
	return all
}
