package store_test

import (
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/eventbus/internal/wire"
	"github.com/seed4933/eventbus/internal/redistest"
)

// Whatever somebody puts among the delayed events, with whatever score: it is listed,
// moved or set aside when it is due, byte for byte, and the good ones beside it come
// and can be cancelled.
func FuzzMember(f *testing.F) {
	for _, member := range []string{
		"", "\x08", "\x07", "\x08\x00\x00\x00\x00\x00\x01<6", "junk", "\x00\xff", member("080102030405060708", `{"id":1}`), member("0000000000000000", ""),
		member("0801020304050607", "x"), member("070000000001aaaa", "x"), member("0800000000000199aa", `{"specversion":"1.0","id":"x"}`),
		"\x08\x01\x02\x03\x04\x05\x06\x07\x08\xff\xff\xff\xff\xff\xff\xff\xff", "12345678\xff\xff\xff\xff\xff\xff\xff\x7f",
	} {
		for _, score := range []float64{1, 0, -1, 1.5, math.Inf(1), math.Inf(-1), 1e17, 1e300} {
			f.Add([]byte(member), score)
		}
	}
	_, rdb := redistest.Miniredis(f)
	s, err := store.Open(rdb, "fuzz")
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, s.Close()) })
	require.NoError(f, s.CreateTopic(f.Context(), &store.Topic{
		Name: "t", Enabled: true, Delivery: store.AtLeastOnce, Wire: store.WireCloudEvents, Groups: []store.Group{{Name: group}},
	}))
	topic, err := s.Topic(f.Context(), "t")
	require.NoError(f, err)
	keys := s.Keys(topic, topic.Groups[0])
	f.Fuzz(func(t *testing.T, bytes []byte, score float64) {
		ctx := t.Context()
		if math.IsNaN(score) {
			score = 1 // Redis refuses it
		}
		if math.IsInf(score, -1) {
			score = -1 // the stand-in counts "(-inf" as "-inf"
		}
		require.NoError(t, rdb.Del(ctx, keys.Delayed, keys.DelayIndex, keys.Queue, keys.Unreadable).Err())
		_, err := s.SendDelayed(ctx, topic, []store.Delayed{later("kept", time.Hour), later("cancelled", time.Hour)})
		require.NoError(t, err)
		before, behind := member("080102030405060708", "before"), member("f8ffffffffffffff", "behind")
		if string(bytes) == before || string(bytes) == behind {
			return // it would only give one of them another time
		}
		require.NoError(t, rdb.ZAdd(ctx, keys.Delayed, redis.Z{Score: 1, Member: before}, redis.Z{Score: 2, Member: behind}, redis.Z{Score: score, Member: string(bytes)}).Err())

		listed, _, err := s.Pending(ctx, &keys, "", 100)
		require.NoError(t, err)
		for i := range listed {
			head, size := listed[i].Entry()
			_ = wire.PeekID(head, size)
			require.LessOrEqual(t, len(head), size)
			next, _, err := s.Pending(ctx, &keys, listed[i].Cursor(), 100)
			require.NoError(t, err)
			require.Len(t, next, len(listed)-i-1)
		}
		_, err = s.Heads(ctx, []*store.Keys{&keys})
		require.NoError(t, err)
		groups, err := s.Cancel(ctx, topic, "cancelled")
		require.NoError(t, err)
		require.Equal(t, []string{group}, groups)

		due := score <= float64(time.Now().UnixMilli())
		_, entry, good := payload(string(bytes))
		moved, aside := int64(2), int64(0)
		queue := []string{"before", "behind"}
		switch {
		case due && good:
			moved++
			queue = append(queue, entry)
		case due:
			aside++
		}
		got, err := s.Transfer(ctx, &keys, store.AtLeastOnce)
		require.NoError(t, err)
		require.Equal(t, moved, got.Moved)
		require.Equal(t, aside, got.Unreadable)
		all, err := rdb.LRange(ctx, keys.Queue, 0, -1).Result()
		require.NoError(t, err)
		require.ElementsMatch(t, queue, all)
		if aside > 0 {
			_, members, err := s.Unreadable(ctx, &keys, store.AtLeastOnce, 10)
			require.NoError(t, err)
			require.Equal(t, [][]byte{bytes}, members)
		}
		groups, err = s.Cancel(ctx, topic, "kept")
		require.NoError(t, err)
		require.Equal(t, []string{group}, groups, "its record is gone")
	})
}
