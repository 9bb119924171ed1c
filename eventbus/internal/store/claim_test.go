package store_test

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/store"
)

func claiming() []test {
	return []test{
		{name: "TakesTheOldestFirst", run: claimTakesTheOldestFirst},
		{name: "GivesReceiptsByWhichEntriesAreHeld", run: claimGivesReceiptsByWhichEntriesAreHeld},
		{name: "RingsForWhatIsLeft", run: claimRingsForWhatIsLeft},
		{name: "OfNothingChangesNothing", run: claimOfNothingChangesNothing},
		{name: "OfADisabledTopicTakesNothing", run: claimOfADisabledTopicTakesNothing},
		{name: "TakesExactlyAsManyAsAsked", run: claimTakesExactlyAsManyAsAsked},
		{name: "IsBoundedInBytes", run: claimIsBoundedInBytes, real: true},
		{name: "ReportsTheRevision", run: claimReportsTheRevision},
		{name: "OutlivesARevisionThatIsNone", run: claimOutlivesARevisionThatIsNone},
		{name: "IsFoundAgainWhenItsReplyWasLost", run: claimIsFoundAgainWhenItsReplyWasLost},
	}
}

func claimTakesTheOldestFirst(b *bed) {
	b.send("1", "2", "3")
	b.send("4")
	_, entries := b.claimed(3)
	require.Equal(b, []string{"1", "2", "3"}, entries)
	_, entries = b.claimed(3)
	require.Equal(b, []string{"4"}, entries)
	require.Empty(b, b.list(b.keys.Queue))
}

func claimGivesReceiptsByWhichEntriesAreHeld(b *bed) {
	entries := numbered(700) // more than one HSET writes
	b.send(entries...)
	b.claim = 6
	receipts, got := b.claimed(700)
	require.Equal(b, entries, got)
	want := map[string]string{}
	for i, e := range entries {
		want[fmt.Sprintf("7-%d", i+1)] = e
		require.Equal(b, fmt.Sprintf("7-%d", i+1), receipts[i])
		require.False(b, store.CameBack(receipts[i]))
		claim, place := store.Order(receipts[i])
		require.EqualValues(b, 7, claim)
		require.Equal(b, i+1, place)
	}
	require.Equal(b, want, b.hash(b.keys.Inflight(consumer)))
	holders, err := b.store.Holders(b.Context(), &b.keys)
	require.NoError(b, err)
	require.Equal(b, []string{consumer}, holders)
}

func claimRingsForWhatIsLeft(b *bed) {
	b.send("1", "2", "3")
	require.NoError(b, b.rdb.Del(b.Context(), b.keys.Bell).Err()) // the token that woke this consumer
	b.claimed(2)
	b.requireBell(true)
	b.claimed(1)
	b.requireBell(true) // it stands for nothing now, and costs one claim
	require.NoError(b, b.rdb.Del(b.Context(), b.keys.Bell).Err())
	b.send("4")
	require.NoError(b, b.rdb.Del(b.Context(), b.keys.Bell).Err())
	b.claimed(1)
	b.requireBell(false)
}

func claimOfNothingChangesNothing(b *bed) {
	before := b.dump()
	b.claimed(10)
	require.Equal(b, before, b.dump())
}

func claimOfADisabledTopicTakesNothing(b *bed) {
	b.send("1")
	b.edit(store.FieldEnabled, "0")
	gone := b.keys
	gone.Group, gone.Config = group, b.ns+":{nowhere}:config"
	removed := b.keys
	removed.Group = "removed"
	before := b.dump()
	for _, k := range []store.Keys{b.keys, gone, removed} {
		got, err := b.store.Claim(b.Context(), &k, consumer, 1, 10, 10)
		require.NoError(b, err)
		require.Equal(b, store.Claimed{Entries: [][]byte{}}, got)
	}
	require.Equal(b, before, b.dump())
}

func claimTakesExactlyAsManyAsAsked(b *bed) {
	b.send(numbered(900)...)
	left := 900
	for _, c := range []struct{ most, pop int }{{1, 500}, {7, 1}, {100, 3}, {500, 500}, {1, 1}} {
		b.claim++
		got, err := b.store.Claim(b.Context(), &b.keys, consumer, b.claim, c.most, c.pop)
		require.NoError(b, err)
		require.Len(b, got.Entries, c.most, "most %d, pop %d", c.most, c.pop)
		left -= c.most
		require.Len(b, b.list(b.keys.Queue), left)
	}
	require.Equal(b, "e609", b.list(b.keys.Queue)[left-1])
	got, err := b.store.Claim(b.Context(), &b.keys, consumer, 99, 500, 500)
	require.NoError(b, err)
	require.Len(b, got.Entries, left)
}

// claimBytes is the bound of one claim's reply.
const claimBytes = 8 << 20

// What a claim brings is bounded in bytes whatever the sizes are: also where
// large entries come after small ones, by whose size the claim was cut out.
func claimIsBoundedInBytes(b *bed) {
	const large = 256 << 10
	text := strings.Repeat("x", large)
	small := numbered(100)
	b.send(small...)
	const many = 48
	for range many / 8 {
		b.send(text, text, text, text, text, text, text, text)
	}
	pop := store.PopFor(raw(small))
	require.GreaterOrEqual(b, pop, 100, "the claim is cut out for small entries")
	claimed := 0
	for claims := 0; claimed < len(small)+many; claims++ {
		require.Less(b, claims, 10, "a claim brings too little")
		b.claim++
		got, err := b.store.Claim(b.Context(), &b.keys, consumer, b.claim, 500, pop)
		require.NoError(b, err)
		size := 0
		for _, e := range got.Entries {
			size += len(e)
		}
		require.LessOrEqual(b, size, claimBytes+large, "%d entries in one claim", len(got.Entries))
		require.NotEmpty(b, got.Entries)
		claimed += len(got.Entries)
	}
}

func claimReportsTheRevision(b *bed) {
	got, err := b.store.Claim(b.Context(), &b.keys, consumer, 1, 1, 1)
	require.NoError(b, err)
	require.Equal(b, b.topic.Revision, got.Revision)
	b.edit("x", "1")
	got, err = b.store.Claim(b.Context(), &b.keys, consumer, 1, 1, 1)
	require.NoError(b, err)
	require.Equal(b, b.topic.Revision, got.Revision)
}

// Whoever writes into the settings by hand must not end every consumer.
func claimOutlivesARevisionThatIsNone(b *bed) {
	require.NoError(b, b.rdb.HSet(b.Context(), b.keys.Config, "rev", "abc").Err())
	got, err := b.store.Claim(b.Context(), &b.keys, "c1", 1, 10, 4)
	require.NoError(b, err)
	require.Zero(b, got.Revision)
	got, err = b.store.Take(b.Context(), &b.keys, 10)
	require.NoError(b, err)
	require.Zero(b, got.Revision)
}

func claimIsFoundAgainWhenItsReplyWasLost(b *bed) {
	b.send(hostile()...)
	b.claimed(3)
	lost, _ := b.claimed(5)
	receipts, err := b.store.Held(b.Context(), &b.keys, consumer)
	require.NoError(b, err)
	require.Len(b, receipts, 8)
	require.Subset(b, receipts, lost)
	for i := 1; i < len(receipts); i++ {
		claim, place := store.Order(receipts[i-1])
		nextClaim, nextPlace := store.Order(receipts[i])
		require.True(b, claim > nextClaim || claim == nextClaim && place > nextPlace, "the last claimed comes first")
	}
	require.EqualValues(b, 1, b.finish(done(receipts[2])...), "which is then left out")
	found := map[string]string{}
	require.NoError(b, b.store.ReadHeld(b.Context(), &b.keys, consumer, receipts, func(receipts []string, entries [][]byte) error {
		for i, r := range receipts {
			found[r] = string(entries[i])
		}
		return nil
	}))
	require.Equal(b, b.hash(b.keys.Inflight(consumer)), found)
}

func claimingShared() []test {
	return []test{
		{name: "TakesWhatCameBackAndWhatIsNewByHalves", run: claimSharedByHalves},
		{name: "MarksWhatCameBack", run: claimSharedMarksWhatCameBack},
		{name: "RingsForEitherList", run: claimSharedRingsForEitherList},
	}
}

// returns puts entries into the list of what comes back, the first to be handed
// out first.
func (b *bed) returns(entries ...string) {
	b.Helper()
	for _, e := range entries {
		require.NoError(b, b.rdb.LPush(b.Context(), b.keys.Returns, e).Err())
	}
}

func claimSharedByHalves(b *bed) {
	b.shared()
	for _, c := range []struct {
		returned, queued, most int
		wantReturned, want     int
	}{
		{returned: 10, queued: 10, most: 4, wantReturned: 2, want: 4},
		{returned: 10, queued: 10, most: 5, wantReturned: 3, want: 5},
		{returned: 10, queued: 10, most: 1, wantReturned: 1, want: 1},
		{returned: 10, queued: 1, most: 8, wantReturned: 7, want: 8},
		{returned: 1, queued: 10, most: 8, wantReturned: 1, want: 8},
		{returned: 0, queued: 10, most: 8, wantReturned: 0, want: 8},
		{returned: 10, queued: 0, most: 8, wantReturned: 8, want: 8},
		{returned: 2, queued: 3, most: 8, wantReturned: 2, want: 5},
	} {
		for _, pop := range []int{1, 100} {
			require.NoError(b, b.rdb.Del(b.Context(), b.keys.Queue, b.keys.Returns).Err())
			back, sent := make([]string, c.returned), make([]string, c.queued)
			for i := range back {
				back[i] = fmt.Sprint("back", i)
			}
			for i := range sent {
				sent[i] = fmt.Sprint("sent", i)
			}
			b.returns(back...)
			if c.queued > 0 {
				b.send(sent...)
			}
			b.claim++
			got, err := b.store.Claim(b.Context(), &b.keys, consumer, b.claim, c.most, pop)
			require.NoError(b, err)
			require.Equal(b, c.wantReturned, got.Returned, "%+v", c)
			require.Equal(b, raw(append(back[:c.wantReturned:c.wantReturned], sent[:c.want-c.wantReturned]...)), got.Entries, "%+v", c)
		}
	}
}

func claimSharedMarksWhatCameBack(b *bed) {
	b.shared()
	b.returns("back")
	b.send("sent")
	receipts, entries := b.claimed(2)
	require.Equal(b, []string{"back", "sent"}, entries)
	require.True(b, store.CameBack(receipts[0]))
	require.False(b, store.CameBack(receipts[1]))
	require.Equal(b, map[string]string{receipts[0]: "back", receipts[1]: "sent"}, b.hash(b.keys.Inflight(consumer)))
	for i, r := range receipts {
		claim, place := store.Order(r)
		require.Equal(b, b.claim, claim)
		require.Equal(b, i+1, place)
	}
}

func claimSharedRingsForEitherList(b *bed) {
	b.shared()
	b.returns("back1", "back2")
	b.claimed(1)
	b.requireBell(true)
	require.NoError(b, b.rdb.Del(b.Context(), b.keys.Bell).Err())
	b.claimed(1)
	b.requireBell(false)
}

func taking() []test {
	return []test{
		{name: "TakesTheNewestFirstAndKeepsNothing", run: takeNewestFirst},
		{name: "TakesWhatCameBackFirst", run: takeWhatCameBackFirst},
		{name: "OfADisabledTopicTakesNothing", run: takeOfADisabledTopicTakesNothing},
	}
}

func (b *bed) take(most int) (returned int, entries []string) {
	b.Helper()
	got, err := b.store.Take(b.Context(), &b.keys, most)
	require.NoError(b, err)
	for _, e := range got.Entries {
		entries = append(entries, string(e))
	}
	return got.Returned, entries
}

func takeNewestFirst(b *bed) {
	b.send("1", "2", "3")
	_, entries := b.take(2)
	require.Equal(b, []string{"3", "2"}, entries)
	_, entries = b.take(2)
	require.Equal(b, []string{"1"}, entries)
	_, entries = b.take(2)
	require.Empty(b, entries)
	require.Empty(b, b.hash(b.keys.Inflight(consumer)))
}

func takeWhatCameBackFirst(b *bed) {
	b.shared()
	b.returns("back1", "back2", "back3")
	b.send("1", "2")
	returned, entries := b.take(2)
	require.Equal(b, 2, returned)
	require.Equal(b, []string{"back1", "back2"}, entries)
	returned, entries = b.take(2)
	require.Equal(b, 1, returned)
	require.Equal(b, []string{"back3", "2"}, entries)
}

func takeOfADisabledTopicTakesNothing(b *bed) {
	b.send("1")
	b.edit(store.FieldEnabled, "0")
	before := b.dump()
	returned, entries := b.take(2)
	require.Zero(b, returned)
	require.Empty(b, entries)
	require.Equal(b, before, b.dump())
}
