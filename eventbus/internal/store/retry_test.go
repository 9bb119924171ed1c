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

func retrying() []test {
	return []test{
		{name: "MovesWhatIsDueInOrder", run: retryMovesWhatIsDueInOrder},
		{name: "TellsWhenTheNextIsDue", run: retryTellsWhenTheNextIsDue},
		{name: "IsBoundedInNumber", run: retryIsBoundedInNumber},
		{name: "IsBoundedInBytes", run: retryIsBoundedInBytes, real: true},
		{name: "RemovesAndReportsOrphans", run: retryRemovesAndReportsOrphans},
		{name: "OfADisabledTopicWaits", run: retryOfADisabledTopicWaits},
		{name: "GoesToTheReturnsOfASharedQueue", run: retryGoesToReturns},
	}
}

func (b *bed) moveDue() (moved int, next time.Duration, orphans []string) {
	b.Helper()
	moved, next, orphans, err := b.store.MoveDue(b.Context(), &b.keys)
	require.NoError(b, err)
	return moved, next, orphans
}

func retryMovesWhatIsDueInOrder(b *bed) {
	b.fail(store.Retry, "late", "early", "future")
	b.send("waits")
	b.score(b.keys.Retry, "late", 2)
	b.score(b.keys.Retry, "early", 1)
	b.score(b.keys.Retry, "future", float64(b.now()+3_600_000))
	require.NoError(b, b.rdb.Del(b.Context(), b.keys.Bell).Err())
	moved, next, orphans := b.moveDue()
	require.Equal(b, 2, moved)
	require.Empty(b, orphans)
	require.InDelta(b, time.Hour, next, float64(time.Minute))
	require.Equal(b, []string{"entry of late", "entry of early", "waits"}, b.list(b.keys.Queue))
	require.Equal(b, []string{"future"}, b.zset(b.keys.Retry))
	b.requireFailures("future")
	b.requireBell(true)

	before := b.dump()
	moved, _, _ = b.moveDue()
	require.Zero(b, moved)
	require.Equal(b, before, b.dump())
}

func retryTellsWhenTheNextIsDue(b *bed) {
	_, next, _ := b.moveDue()
	require.Negative(b, next, "nothing is to be retried")
	b.fail(store.Retry, "f")
	b.score(b.keys.Retry, "f", float64(b.now()+10_000)+0.5)
	_, next, _ = b.moveDue()
	require.Greater(b, next, time.Duration(0))
	require.LessOrEqual(b, next, 10_001*time.Millisecond)
	b.score(b.keys.Retry, "f", 1)
	_, next, _ = b.moveDue()
	require.Negative(b, next)
}

func retryIsBoundedInNumber(b *bed) {
	const many = 450
	parts := make([]store.Ended, many)
	for i := range parts {
		parts[i] = store.Ended{Parts: []store.Part{failure(store.Retry, fmt.Sprintf("f%03d", i), 0)}}
	}
	b.finish(parts...)
	for total := 0; total < many; {
		moved, next, _ := b.moveDue()
		require.Positive(b, moved)
		require.LessOrEqual(b, moved, 200)
		total += moved
		require.Len(b, b.list(b.keys.Queue), total)
		require.Len(b, b.zset(b.keys.Retry), many-total)
		if total < many {
			require.Zero(b, next, "the rest is due")
		} else {
			require.Negative(b, next)
		}
	}
	b.requireFailures()
}

func retryIsBoundedInBytes(b *bed) {
	const many, size, most = 20, 1 << 20, 4 << 20
	for i := range many {
		part := failure(store.Retry, fmt.Sprint("f", i), 0)
		part.Entry = []byte(strings.Repeat("x", size))
		b.finish(store.Ended{Parts: []store.Part{part}})
	}
	for total := 0; total < many; {
		moved, _, _ := b.moveDue()
		require.Positive(b, moved)
		require.LessOrEqual(b, moved*size, most+size)
		total += moved
	}
	b.requireFailures()
}

// An id without a record cannot be retried. It must not stop the others.
func retryRemovesAndReportsOrphans(b *bed) {
	b.score(b.keys.Retry, "orphan", 1)
	b.score(b.keys.Retry, "half", 2)
	require.NoError(b, b.rdb.HSet(b.Context(), b.keys.Failures, "half", "1{}").Err())
	b.fail(store.Retry, "good")
	moved, next, orphans := b.moveDue()
	require.Equal(b, 1, moved)
	require.Negative(b, next)
	require.Equal(b, []string{"orphan", "half"}, orphans)
	require.Equal(b, []string{"entry of good"}, b.list(b.keys.Queue))
	b.requireFailures()
}

func retryOfADisabledTopicWaits(b *bed) {
	b.fail(store.Retry, "f")
	b.edit(store.FieldEnabled, "0")
	before := b.dump()
	moved, next, _ := b.moveDue()
	require.Zero(b, moved)
	require.Negative(b, next, "it is looked at again when it is enabled")
	require.Equal(b, before, b.dump())
}

func retryGoesToReturns(b *bed) {
	b.shared()
	b.fail(store.Retry, "f")
	b.moveDue()
	require.Empty(b, b.list(b.keys.Queue), "others read this list")
	require.Equal(b, []string{"entry of f"}, b.list(b.keys.Returns))
	b.requireBell(true)
}

func ringing() []test {
	return []test{
		{name: "RingsWhereSomethingWaits", run: ringRingsWhereSomethingWaits},
		{name: "MeetsAWrongTypeInAnyPlace", run: ringMeetsAWrongTypeInAnyPlace},
		{name: "WakesOnce", run: wakeWakesOnce},
	}
}

func ringRingsWhereSomethingWaits(b *bed) {
	b.shared()
	ring := func() bool {
		b.Helper()
		_, rang, err := b.store.Ring(b.Context(), &b.keys)
		require.NoError(b, err)
		return rang
	}
	require.False(b, ring())
	b.requireBell(false)
	for _, key := range []string{b.keys.Queue, b.keys.Returns} {
		require.NoError(b, b.rdb.LPush(b.Context(), key, "foreign").Err())
		require.True(b, ring())
		b.requireBell(true)
		require.False(b, ring(), "one token is enough")
		b.requireBell(true)
		require.NoError(b, b.rdb.Del(b.Context(), key, b.keys.Bell).Err())
	}
}

func ringMeetsAWrongTypeInAnyPlace(b *bed) {
	b.shared()
	for _, key := range []string{b.keys.Bell, b.keys.Queue, b.keys.Returns} {
		restore := b.spoil(key)
		before := b.dump()
		_, _, err := b.store.Ring(b.Context(), &b.keys)
		require.ErrorIs(b, err, errs.WrongType)
		require.Equal(b, before, b.dump())
		restore()
	}
}

func wakeWakesOnce(b *bed) {
	key := b.store.WakeKey("orders", consumer)
	for range 2 {
		require.NoError(b, b.store.Wake(b.Context(), key))
		require.Equal(b, []string{"1"}, b.list(key))
	}
	ttl, err := b.rdb.TTL(b.Context(), key).Result()
	require.NoError(b, err)
	require.Positive(b, ttl, "it vanishes with whoever would have been woken")
	blocker := b.store.NewBlocker()
	got, _, err := blocker.Pop([]string{key}, time.Second)
	require.NoError(b, err)
	require.Equal(b, key, got)
	require.NoError(b, b.store.Wake(b.Context(), key))
	require.NoError(b, b.store.Unwake(b.Context(), key))
	require.ErrorIs(b, b.rdb.Get(b.Context(), key).Err(), redis.Nil)
	require.NoError(b, blocker.Close())
}
