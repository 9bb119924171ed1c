package store_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

func transferring() []test {
	return []test{
		{name: "ReadsBothErasOfRedisson", run: transferReadsBothEras},
		{name: "MovesWhatIsDueInOrder", run: transferMovesInOrder},
		{name: "TellsWhenTheNextIsDue", run: transferTellsTheNext},
		{name: "IsBounded", run: transferIsBounded},
		{name: "IsBoundedInBytes", run: transferIsBoundedInBytes, real: true},
		{name: "SetsAsideWhatItCannotRead", run: transferSetsAside},
		{name: "ReadsWhatWasSetAsideInBounds", run: unreadableIsReadInBounds},
		{name: "OfADisabledTopicWaits", run: transferOfADisabledTopicWaits},
		{name: "OfAtMostOncePushesAsRedissonDoes", run: transferOfAtMostOnce},
		{name: "GoesToAQueueOfTheUsers", run: transferGoesToAQueueOfTheUsers},
		{name: "KeepsUpTheOrderList", run: transferKeepsUpTheOrderList},
		{name: "DropsWhatOthersLeftBehind", run: transferDropsLeftovers},
		{name: "ForgetsWhatJavaMoved", run: transferForgetsWhatJavaMoved},
		{name: "KeepsWhatBearsTheSameNumber", run: transferKeepsWhatBearsTheSameNumber},
		{name: "Heads", run: headsOfSeveral},
	}
}

// The golden members: what the two eras of Redisson write.
func transferReadsBothEras(b *bed) {
	newer := member("080102030405060708", `{"id":1}`)
	require.Equal(b, "\x08\x01\x02\x03\x04\x05\x06\x07\x08\x08\x00\x00\x00\x00\x00\x00\x00"+`{"id":1}`, newer)
	older := member("00000054346f9d41", "abc") // 123456789 as a float64
	b.put(1, newer)
	b.put(2, older)
	b.put(3, member("080102030405060708", "")) // an empty payload
	b.put(4, member("0801020304050607", ""))   // the older form, although its first byte is 8
	b.put(5, member("0000000000000000", ""))
	got := b.transfer()
	require.EqualValues(b, 5, got.Moved)
	require.Zero(b, got.Unreadable)
	require.Equal(b, []string{`{"id":1}`, "abc", "", "", ""}, b.ids())
}

func transferMovesInOrder(b *bed) {
	b.delay(later("a", 3*time.Hour), later("b", time.Hour), later("c", 2*time.Hour))
	b.due(b.keys.Delayed)
	b.delay(later("later", time.Hour))
	b.send("waits")
	require.NoError(b, b.rdb.Del(b.Context(), b.keys.Bell).Err())
	got := b.transfer()
	require.EqualValues(b, 3, got.Moved)
	require.Equal(b, []string{"waits", "b", "c", "a"}, b.ids())
	require.Len(b, b.zset(b.keys.Delayed), 1)
	b.requireBell(true)
	before := b.dump()
	require.Zero(b, b.transfer().Moved)
	require.Equal(b, before, b.dump())
	require.Equal(b, []string{group}, b.cancel("later"))
	require.Empty(b, b.hash(b.keys.DelayIndex))
}

func transferTellsTheNext(b *bed) {
	require.Negative(b, b.transfer().Next)
	b.put(math.Inf(1), "never")
	require.Greater(b, b.transfer().Next, 10*365*24*time.Hour)
	b.put(1e17, "far")
	require.Greater(b, b.transfer().Next, 10*365*24*time.Hour)
	b.delay(later("a", time.Minute))
	next := b.transfer().Next
	require.InDelta(b, time.Minute, next, float64(5*time.Second))
	require.NotZero(b, next%time.Second)
}

func transferIsBounded(b *bed) {
	const n = 1203
	var events []store.Delayed
	for i := range n {
		events = append(events, later(fmt.Sprint(i), time.Hour))
	}
	b.delay(events...)
	b.due(b.keys.Delayed)
	var moved []int64
	for range 3 {
		got := b.transfer()
		moved = append(moved, got.Moved)
		if len(moved) < 3 {
			require.Zero(b, got.Next, "more are due")
		}
	}
	require.Equal(b, []int64{500, 500, 203}, moved)
	for i, id := range b.ids() {
		require.Equal(b, fmt.Sprint(i), id)
	}
	require.Empty(b, b.hash(b.keys.DelayIndex))
}

func transferIsBoundedInBytes(b *bed) {
	large := strings.Repeat("x", 300_000)
	for i := range 200 { // small ones first, so that it has taken speed
		b.put(1, member(fmt.Sprintf("08%016x", i), "small"))
	}
	for i := range 40 {
		b.put(2, member(fmt.Sprintf("08%016x", i), large))
	}
	got := b.transfer()
	require.Greater(b, got.Moved, int64(200))
	require.Less(b, got.Moved, int64(200+10), "about 1 MiB at once")
	for left := 240 - got.Moved; left > 0; left -= got.Moved {
		got = b.transfer()
		require.Positive(b, got.Moved)
	}
	require.Len(b, b.list(b.keys.Queue), 240)
}

func transferSetsAside(b *bed) {
	bad := []string{"", "x", "\x08", strings.Repeat("\x00", 15), member("080102030405060708", "abc") + "d", member("00000054346f9d41", "abc")[:18], strings.Repeat("\xff", 40), "\x08" + strings.Repeat("\xff", 16)}
	for i, m := range bad {
		b.put(float64(2*i), m)
		b.put(float64(2*i+1), member(fmt.Sprintf("08%016x", i), fmt.Sprint("good", i)))
	}
	got := b.transfer()
	require.EqualValues(b, len(bad), got.Moved)
	require.EqualValues(b, len(bad), got.Unreadable)
	require.Len(b, b.ids(), len(bad))
	require.ElementsMatch(b, bad, b.list(b.keys.Unreadable), "as they were")
	require.Equal(b, fmt.Sprint(len(bad)), b.total("unreadable"))
	require.Empty(b, b.zset(b.keys.Delayed))
	total, first, err := b.store.Unreadable(b.Context(), &b.keys, store.AtLeastOnce, 3)
	require.NoError(b, err)
	require.EqualValues(b, len(bad), total)
	require.Equal(b, raw(bad[:3]), first, "the oldest first")
}

// What others have put there may be of any size, and is not read all at once.
func unreadableIsReadInBounds(b *bed) {
	for _, c := range []struct{ size, want int }{{400 << 10, 2}, {5 << 20, 1}, {10, 8}} {
		var members []string
		for i := range 8 {
			members = append(members, strings.Repeat(string(rune('a'+i)), c.size))
		}
		for delivery, push := range map[store.Delivery]func(m string) *redis.IntCmd{
			store.AtLeastOnce: func(m string) *redis.IntCmd { return b.rdb.LPush(b.Context(), b.keys.Unreadable, m) },
			store.AtMostOnce:  func(m string) *redis.IntCmd { return b.rdb.RPush(b.Context(), b.keys.Unreadable, m) },
		} {
			for _, m := range members {
				require.NoError(b, push(m).Err())
			}
			total, first, err := b.store.Unreadable(b.Context(), &b.keys, delivery, 100)
			require.NoError(b, err)
			require.EqualValues(b, len(members), total)
			require.Equal(b, raw(members[:c.want]), first)
			require.NoError(b, b.rdb.Del(b.Context(), b.keys.Unreadable).Err())
		}
	}
}

func transferOfADisabledTopicWaits(b *bed) {
	b.delay(later("a", time.Hour))
	b.due(b.keys.Delayed)
	b.edit(store.FieldEnabled, "0")
	before := b.dump()
	got := b.transfer()
	require.Zero(b, got.Moved)
	require.Negative(b, got.Next)
	require.Equal(b, before, b.dump())
	b.edit(store.FieldEnabled, "1")
	require.EqualValues(b, 1, b.transfer().Moved)

	require.NoError(b, b.store.RemoveGroup(b.Context(), "orders", group))
	b.put(1, member("080102030405060708", "late"))
	require.Zero(b, b.transfer().Moved, "of a group that is gone")
}

// Whoever takes from the left, as BLPOP does, gets them in the order in which they
// were due.
func transferOfAtMostOnce(b *bed) {
	b.create(&store.Topic{Name: "strict", Enabled: true, Delivery: store.AtMostOnce, Groups: []store.Group{{Name: group}}})
	b.delay(later("a", time.Hour), later("b", time.Hour))
	b.due(b.keys.Delayed)
	require.EqualValues(b, 2, b.transfer().Moved)
	require.Equal(b, []string{"entry of a", "entry of b"}, b.list(b.keys.Queue))
	b.requireBell(false)
}

func transferGoesToAQueueOfTheUsers(b *bed) {
	b.shared()
	require.Equal(b, "redisson_delay_queue_timeout:{"+b.ns+"-list}", b.keys.Delayed)
	b.delay(later("a", time.Hour))
	b.due(b.keys.Delayed)
	require.EqualValues(b, 1, b.transfer().Moved)
	require.Equal(b, []string{"entry of a"}, b.list(b.ns+"-list"))
	require.Empty(b, b.list(b.keys.Returns))
}

// The list is for Java. Its head goes once that is delivered, and with it all
// behind it that are too.
func transferKeepsUpTheOrderList(b *bed) {
	b.edit(store.FieldOrderList, "1")
	for i := range 50 {
		b.delay(later(fmt.Sprint(i), time.Duration(50-i)*time.Minute))
	}
	listed := b.list(b.keys.DelayOrder)
	require.Len(b, listed, 50)
	require.ElementsMatch(b, b.zset(b.keys.Delayed), listed)
	b.put(1, listed[1:49]...) // all but the first and the last are due
	require.EqualValues(b, 48, b.transfer().Moved)
	require.Equal(b, listed, b.list(b.keys.DelayOrder), "the first holds the others")
	require.Equal(b, []string{group}, b.cancel("0"))
	require.Equal(b, listed[49:], b.list(b.keys.DelayOrder))

	// Java offers, and writes the list although the topic does not want it.
	b.edit(store.FieldOrderList, "0")
	offered := member("08ffffffffffffffff", "java")
	b.put(1, offered)
	require.NoError(b, b.rdb.RPush(b.Context(), b.keys.DelayOrder, offered).Err())
	b.put(2, listed[49])
	require.EqualValues(b, 2, b.transfer().Moved)
	require.Empty(b, b.list(b.keys.DelayOrder))
}

// Java has moved the last event: what is in the order list then was delivered, too,
// although Java counts it.
func transferDropsLeftovers(b *bed) {
	b.edit(store.FieldOrderList, "1")
	b.delay(later("java", time.Minute), later("go", time.Hour))
	listed := b.list(b.keys.DelayOrder)
	b.put(1, listed[1])
	require.EqualValues(b, 1, b.transfer().Moved)
	require.NoError(b, b.rdb.ZRem(b.Context(), b.keys.Delayed, listed[0]).Err())
	require.NoError(b, b.rdb.LRem(b.Context(), b.keys.DelayOrder, 1, listed[0]).Err())
	require.Equal(b, listed[1:], b.list(b.keys.DelayOrder))

	heads := func() time.Duration {
		got, err := b.store.Heads(b.Context(), []*store.Keys{&b.keys})
		require.NoError(b, err)
		return got[0]
	}
	require.Zero(b, heads())
	got := b.transfer()
	require.Zero(b, got.Moved)
	require.Less(b, got.Next, time.Duration(0))
	require.Empty(b, b.list(b.keys.DelayOrder))
	require.Empty(b, b.hash(b.keys.DelayIndex))
	require.Equal(b, store.HeadNone, heads())
}

// Java moves members too, and knows nothing of the index.
func transferForgetsWhatJavaMoved(b *bed) {
	b.delay(later("a", time.Hour), later("b", time.Hour))
	moved := b.zset(b.keys.Delayed)
	for _, m := range moved {
		require.NoError(b, b.rdb.ZRem(b.Context(), b.keys.Delayed, m).Err())
	}
	require.Empty(b, b.cancel("a"), "it is not pending any more")
	require.Len(b, b.hash(b.keys.DelayIndex), 1)
	b.transfer()
	require.Empty(b, b.hash(b.keys.DelayIndex), "where nothing is pending, nothing is known")

	// Where something always is, the moves go through the slots in turn.
	b.delay(later("stays", time.Hour), later("gone", time.Minute))
	b.put(1, b.zset(b.keys.Delayed)[0])
	require.EqualValues(b, 1, b.transfer().Moved)
	require.Len(b, b.hash(b.keys.DelayIndex), 2)
	for slot := range b.hash(b.keys.DelayIndex) {
		b.put(1, member("080102030405060708", slot))
		require.NoError(b, b.rdb.HSet(b.Context(), b.keys.Config, "shed", 3*65536+int(binary.BigEndian.Uint16([]byte(slot)))).Err())
		require.EqualValues(b, 1, b.transfer().Moved)
	}
	require.Len(b, b.hash(b.keys.DelayIndex), 1)
	require.Equal(b, []string{group}, b.cancel("stays"), "it is known still")

	// And as events are sent, a slot sheds them as it grows: here all have the
	// same.
	same := func(i int) store.Delayed {
		return store.Delayed{ID: "same", Due: store.Due{After: time.Duration(i+1) * time.Minute}, Entry: []byte("x")}
	}
	for i := range 200 {
		b.delay(same(i))
		if i > 0 {
			require.NoError(b, b.rdb.ZRemRangeByRank(b.Context(), b.keys.Delayed, 0, 0).Err())
		}
	}
	for _, slot := range b.hash(b.keys.DelayIndex) {
		require.LessOrEqual(b, len(slot), 18*33)
	}
	require.Equal(b, []string{group}, b.cancel("same"), "the one that is pending")
	require.Empty(b, b.zset(b.keys.Delayed))
}

// The counter is lost, or the topic made anew beside a queue of the user's, whose
// delayed events stay: numbers are given again.
func transferKeepsWhatBearsTheSameNumber(b *bed) {
	soon := store.Delayed{ID: "same", Due: store.Due{After: 10 * time.Millisecond}, Entry: []byte("soon")}
	far := store.Delayed{ID: "same", Due: store.Due{After: time.Hour}, Entry: []byte("far")}
	for _, events := range [][]store.Delayed{{soon, far}, {far, soon}} {
		for _, e := range events {
			b.delay(e)
			require.NoError(b, b.rdb.HDel(b.Context(), b.keys.Config, "delayed").Err())
		}
		require.Eventually(b, func() bool { return b.transfer().Moved == 1 }, 10*time.Second, time.Millisecond)
		require.Equal(b, []string{group}, b.cancel("same"), "the one that is pending")
		require.Empty(b, b.zset(b.keys.Delayed))
	}
}

func headsOfSeveral(b *bed) {
	var all []*store.Keys
	topic := func(name string, prepare func()) {
		b.create(&store.Topic{Name: name, Enabled: true, Groups: []store.Group{{Name: group}}})
		prepare()
		k := b.keys
		all = append(all, &k)
	}
	topic("none", func() {})
	topic("due", func() { b.put(1, member("080102030405060708", "x")) })
	topic("bad", func() { require.NoError(b, b.rdb.Set(b.Context(), b.keys.Delayed, "x", 0).Err()) })
	topic("later", func() { b.delay(later("a", time.Minute)) })
	for i := range 1200 {
		k := *all[0]
		k.Delayed = fmt.Sprint(b.ns, "-", i) // the others stay those of a topic without any
		all = append(all, &k)
	}
	heads, err := b.store.Heads(b.Context(), all)
	require.NoError(b, err)
	require.Len(b, heads, len(all))
	require.Equal(b, store.HeadNone, heads[0])
	require.Zero(b, heads[1])
	require.Equal(b, store.HeadBad, heads[2])
	require.InDelta(b, time.Minute, heads[3], float64(5*time.Second))
	require.Equal(b, store.HeadNone, heads[4+1199])
}

func cancelling() []test {
	return []test{
		{name: "FindsOneAmongManyOfAMillisecond", run: cancelFindsOneAmongMany},
		{name: "OfManyOfOneId", run: cancelOfManyOfOneId},
		{name: "FindsAllOfABatchAtTheHead", run: cancelFindsAllOfABatchAtTheHead},
		{name: "HeedsTheBordersOfRecords", run: cancelHeedsTheBordersOfRecords},
		{name: "OfUnknownIdsChangesNothing", run: cancelOfUnknownIds},
		{name: "AfterTheTransferIsTooLate", run: cancelAfterTheTransfer},
		{name: "Pages", run: pendingPages},
		{name: "PagesWhileEventsComeAndGo", run: pendingPagesWhileEventsComeAndGo},
	}
}

func cancelFindsOneAmongMany(b *bed) {
	at := time.UnixMilli(b.now()).Add(time.Hour)
	const n = 1000
	var events []store.Delayed
	for i := range n {
		events = append(events, store.Delayed{ID: fmt.Sprint(i), Due: store.Due{At: at}, Entry: []byte(fmt.Sprint(i))})
	}
	b.delay(events...)
	// Java's are of the same millisecond, before, between and behind.
	for _, head := range []string{"000000000000000000", "080000000000000000", "0800000000000101ff", "08ffffffffffffffff"} {
		b.put(float64(at.UnixMilli()), member(head, "java "+head))
	}
	b.put(float64(at.UnixMilli()), "junk", "")
	b.put(float64(at.UnixMilli()-1), member("080000000000000001", "before"))
	for _, i := range []int{0, 999, 500, 1, 998, 255, 256, 257} {
		require.Equal(b, []string{group}, b.cancel(fmt.Sprint(i)), "%d", i)
		require.Empty(b, b.cancel(fmt.Sprint(i)))
	}
	require.Len(b, b.zset(b.keys.Delayed), n-8+7)
	b.due(b.keys.Delayed)
	for b.transfer().Moved > 0 {
	}
	ids := b.ids()
	require.NotContains(b, ids, "500")
	require.Contains(b, ids, "501")
	require.Len(b, ids, n-8+4)
}

// Thousands may bear one id: each call stays bounded, and all are cancelled that the
// index has room for.
func cancelOfManyOfOneId(b *bed) {
	same := make([]store.Delayed, 100)
	for i := range same {
		same[i] = store.Delayed{ID: "same", Due: store.Due{After: time.Hour}, Entry: []byte("x")}
	}
	b.delay(later("other", 2*time.Hour))
	for range 9 {
		b.delay(same...)
	}
	require.Equal(b, []string{group}, b.cancel("same"))
	require.Len(b, b.zset(b.keys.Delayed), 1)
	require.Len(b, b.hash(b.keys.DelayIndex), 1)
	for range 12 {
		b.delay(same...)
	}
	for _, slot := range b.hash(b.keys.DelayIndex) {
		require.LessOrEqual(b, len(slot), 18*1000)
	}
	require.Equal(b, []string{group}, b.cancel("same"))
	require.Len(b, b.zset(b.keys.Delayed), 1+200)
}

// A batch that comes before all others must not take its own records for those of
// events that were moved out.
func cancelFindsAllOfABatchAtTheHead(b *bed) {
	b.delay(later("late", 10*time.Hour))
	batch := make([]store.Delayed, 40)
	for i := range batch {
		batch[i] = store.Delayed{ID: "same", Due: store.Due{After: time.Duration(40-i) * time.Minute}, Entry: []byte("x")}
	}
	b.delay(batch...)
	require.Equal(b, []string{group}, b.cancel("same"))
	require.Len(b, b.zset(b.keys.Delayed), 1)
}

// The bytes that tell an event may stand across the borders of records, too.
func cancelHeedsTheBordersOfRecords(b *bed) {
	b.delay(later("a", time.Hour))
	index := b.hash(b.keys.DelayIndex)
	b.delay(later("another", time.Hour))
	for field, slot := range index {
		forged := "123" + slot[:6] + "123456789"
		require.NoError(b, b.rdb.HSet(b.Context(), b.keys.DelayIndex, field, forged+slot).Err())
		require.Equal(b, []string{group}, b.cancel("a"))
		require.Equal(b, forged, b.hash(b.keys.DelayIndex)[field])
	}
	require.Len(b, b.zset(b.keys.Delayed), 1)
	require.Equal(b, []string{group}, b.cancel("another"))
	require.Empty(b, b.hash(b.keys.DelayIndex), "where nothing is delayed, nothing is known")
}

func cancelOfUnknownIds(b *bed) {
	b.delay(later("a", time.Hour))
	before := b.dump()
	for i := range 200 {
		require.Empty(b, b.cancel(fmt.Sprint("unknown", i)))
	}
	require.Empty(b, b.cancel(""))
	require.Equal(b, before, b.dump())
}

func cancelAfterTheTransfer(b *bed) {
	b.delay(later("a", time.Hour))
	b.due(b.keys.Delayed)
	require.EqualValues(b, 1, b.transfer().Moved)
	require.Empty(b, b.cancel("a"))
	require.Equal(b, []string{"a"}, b.ids())
}

// page lists all pending events over pages of n.
func (b *bed) page(n int, between func()) (all []store.Pending) {
	b.Helper()
	cursor := ""
	for {
		page, more, err := b.store.Pending(b.Context(), &b.keys, cursor, n)
		require.NoError(b, err)
		all = append(all, page...)
		if !more {
			return all
		}
		cursor = page[len(page)-1].Cursor()
		between()
	}
}

func pendingPages(b *bed) {
	at := time.UnixMilli(b.now()).Add(time.Hour)
	var want []string
	for i := range 95 {
		b.delay(store.Delayed{ID: fmt.Sprint(i), Due: store.Due{At: at.Add(time.Duration(i/40) * time.Millisecond)}, Entry: []byte(fmt.Sprintf("%04d", i))})
		want = append(want, fmt.Sprintf("%04d", i))
	}
	b.put(math.Inf(1), "never")
	b.put(math.Inf(-1), "ever")
	b.put(-1, "-1")
	b.put(1e-7, "1e-7")
	for _, p := range b.page(1, func() {}) {
		_, err := json.Marshal(p.Due)
		require.NoError(b, err, "%q", p.Head)
	}
	require.NoError(b, b.rdb.ZRem(b.Context(), b.keys.Delayed, "never", "ever", "-1", "1e-7").Err())
	short := []string{"", "a", "ab", "ab\x00", "ab\x00c", "b"}
	b.put(1, short...)
	var heads []string
	for _, p := range b.page(1, func() {})[:len(short)] {
		heads = append(heads, string(p.Head))
	}
	require.Equal(b, short, heads, "one begins as the other")
	for _, m := range short {
		require.NoError(b, b.rdb.ZRem(b.Context(), b.keys.Delayed, m).Err())
	}
	b.put(1.5, "junk")
	for _, n := range []int{1, 7, 40, 1000} {
		all := b.page(n, func() {})
		require.Len(b, all, 96)
		require.Equal(b, "junk", string(all[0].Head))
		var got []string
		for _, p := range all[1:] {
			got = append(got, string(p.Head[17:]))
			require.Equal(b, 21, p.Size)
		}
		require.Equal(b, want, got)
		require.True(b, at.Equal(all[1].Due))
	}
	for _, cursor := range []string{"x", "1", "1-x", "-00", "1-0"} {
		_, _, err := b.store.Pending(b.Context(), &b.keys, cursor, 1)
		require.ErrorIs(b, err, errs.InvalidArgument, cursor)
	}
}

// What is pending all the while is listed once, whatever goes and comes.
func pendingPagesWhileEventsComeAndGo(b *bed) {
	for i := range 60 {
		b.delay(later(fmt.Sprintf("%04d", i), time.Hour+time.Duration(i/20)*time.Minute))
	}
	n := 0
	seen := map[string]int{}
	for _, p := range b.page(5, func() {
		n++
		b.cancel(fmt.Sprintf("%04d", 5*n-1)) // the cursor's own
		if n > 12 {
			return
		}
		b.delay(later(fmt.Sprint("new", n), 2*time.Hour))
		require.NoError(b, b.rdb.ZRemRangeByRank(b.Context(), b.keys.Delayed, 0, 0).Err())
	}) {
		seen[string(p.Head[17:])]++
	}
	for i := range 60 {
		require.LessOrEqual(b, seen[fmt.Sprintf("entry of %04d", i)], 1)
	}
	for i := 40; i < 60; i++ {
		require.Equal(b, 1, seen[fmt.Sprintf("entry of %04d", i)], "%d", i)
	}
	require.True(b, slices.ContainsFunc(b.page(100, func() {}), func(p store.Pending) bool { return strings.HasPrefix(string(p.Head[17:]), "entry of new") }))
}
