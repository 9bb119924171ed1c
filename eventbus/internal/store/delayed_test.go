package store_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

func delaying() []test {
	return []test{
		{name: "WritesRedissonsMembers", run: delayWritesMembers},
		{name: "WritesMembersForOldClients", run: delayWritesMembersForOldClients},
		{name: "IsNeverShort", run: delayIsNeverShort},
		{name: "OfThePastIsSentAtOnce", run: delayOfThePastIsSentAtOnce},
		{name: "OverTenYearsIsRefusedWhole", run: delayOverTenYearsIsRefused},
		{name: "IsRefusedAsSendIs", run: delayIsRefusedAsSendIs},
		{name: "IsLimitedByMaxWaiting", run: delayIsLimited},
		{name: "AnnouncesANewHeadOnly", run: delayAnnouncesANewHead},
		{name: "KeepsTheOrderOfAMillisecond", run: delayKeepsOrder},
		{name: "NeverReplacesAMember", run: delayNeverReplacesAMember},
		{name: "ReachesEveryGroup", run: delayReachesEveryGroup},
	}
}

func later(id string, d time.Duration) store.Delayed {
	return store.Delayed{ID: id, Due: store.Due{After: d}, Entry: []byte("entry of " + id)}
}

func (b *bed) delay(events ...store.Delayed) {
	b.Helper()
	unheard, err := b.store.SendDelayed(b.Context(), b.topic, events)
	require.NoError(b, err)
	require.Empty(b, unheard)
}

// member is one of Redisson's, whose head is given in hexadecimal.
func member(head, payload string) string {
	h, err := hex.DecodeString(head)
	if err != nil {
		panic(err)
	}
	return string(binary.LittleEndian.AppendUint64(h, uint64(len(payload)))) + payload
}

// dueAt is the score of the member.
func (b *bed) dueAt(member string) int64 {
	b.Helper()
	score, err := b.rdb.ZScore(b.Context(), b.keys.Delayed, member).Result()
	require.NoError(b, err)
	require.Equal(b, math.Trunc(score), score, "Java reads scores as whole numbers")
	return int64(score)
}

func delayWritesMembers(b *bed) {
	before := b.now()
	b.delay(later("a", time.Hour), later("b", 90*time.Minute+time.Nanosecond))
	after := b.now() + 1
	members := b.zset(b.keys.Delayed)
	require.Len(b, members, 2)
	for i, id := range []string{"a", "b"} {
		m := members[i]
		require.Equal(b, []byte{8, 0, 0, 0, 0, 0, byte(i + 1)}, []byte(m[:7]), "the form and the counter")
		require.Equal(b, "entry of "+id, m[17:])
		require.EqualValues(b, len("entry of a"), binary.LittleEndian.Uint64([]byte(m[9:17])))
	}
	hour := time.Hour.Milliseconds()
	require.GreaterOrEqual(b, b.dueAt(members[0]), before+hour)
	require.LessOrEqual(b, b.dueAt(members[0]), after+hour)
	require.EqualValues(b, hour/2+1, b.dueAt(members[1])-b.dueAt(members[0]), "a part of a millisecond is rounded up")
	require.Empty(b, b.list(b.keys.DelayOrder), "only where it is wanted")
	require.Empty(b, b.list(b.keys.Queue))
	b.requireBell(false)
	require.Equal(b, "2", b.total("sent"))

	b.edit(store.FieldOrderList, "1")
	b.delay(later("c", time.Minute))
	require.Equal(b, b.zset(b.keys.Delayed)[:1], b.list(b.keys.DelayOrder))
}

// Redisson before 3.21.1 takes eight bytes for a number, then the length.
func delayWritesMembersForOldClients(b *bed) {
	b.edit(store.FieldOldClients, "1")
	b.delay(later("a", time.Hour), later("b", time.Hour))
	members := b.zset(b.keys.Delayed)
	require.Len(b, members, 2)
	for i, id := range []string{"a", "b"} {
		m := members[i]
		require.Equal(b, []byte{7, 0, 0, 0, 0, byte(i + 1)}, []byte(m[:6]))
		require.EqualValues(b, len("entry of a"), binary.LittleEndian.Uint64([]byte(m[8:16])), "where both eras read it")
		require.Equal(b, "entry of "+id, m[16:])
	}
	require.Equal(b, []string{group}, b.cancel("a"))
	b.due(b.keys.Delayed)
	require.EqualValues(b, 1, b.transfer().Moved)
	require.Equal(b, []string{"entry of b"}, b.list(b.keys.Queue))
	require.Empty(b, b.hash(b.keys.DelayIndex))
}

// A millisecond that has begun counts as a whole one.
func delayIsNeverShort(b *bed) {
	for i := range 50 {
		now, err := b.store.Now(b.Context())
		require.NoError(b, err)
		b.delay(later(fmt.Sprint(i), time.Minute))
		require.GreaterOrEqual(b, 1000*b.dueAt(b.zset(b.keys.Delayed)[i]), now.Add(time.Minute).UnixMicro())
	}
}

func delayOfThePastIsSentAtOnce(b *bed) {
	past := later("past", 0)
	past.Due.At = time.UnixMilli(b.now() - 1)
	long := later("long", 0)
	long.Due.At = time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC)
	b.delay(store.Delayed{ID: "first", Due: store.Due{At: time.Unix(math.MinInt64/4, 0)}, Entry: []byte("entry of first")})
	b.delay(later("zero", 0), later("below", -time.Hour), past, later("later", time.Hour), long, later("least", math.MinInt64))
	require.Equal(b, []string{"entry of least", "entry of long", "entry of past", "entry of below", "entry of zero", "entry of first"}, b.list(b.keys.Queue))
	require.Len(b, b.zset(b.keys.Delayed), 1)
	b.requireBell(true)
}

func delayOverTenYearsIsRefused(b *bed) {
	for _, due := range []store.Due{
		{After: store.MaxDelay + time.Minute}, {After: math.MaxInt64}, {At: time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)},
		{At: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, {At: time.Unix(1<<55+12345678901, 0)}, {At: time.Unix(math.MaxInt64/4, 0)},
	} {
		before := b.dump()
		_, err := b.store.SendDelayed(b.Context(), b.topic, []store.Delayed{later("good", time.Hour), {ID: "bad", Due: due}})
		require.ErrorIs(b, err, errs.InvalidArgument, "%v", due)
		require.ErrorContains(b, err, "ten years")
		if due.At.IsZero() {
			require.ErrorContains(b, err, "invalid Delay")
		}
		require.Equal(b, before, b.dump())
	}
	b.delay(store.Delayed{ID: "the most", Due: store.Due{After: store.MaxDelay}})
	b.delay(store.Delayed{ID: "just", Due: store.Due{At: time.UnixMilli(b.now()).Add(store.MaxDelay - time.Minute)}})
}

func delayIsRefusedAsSendIs(b *bed) {
	refused := func(want error) {
		b.Helper()
		before := b.dump()
		_, err := b.store.SendDelayed(b.Context(), b.topic, []store.Delayed{later("a", time.Hour)})
		require.ErrorIs(b, err, want)
		require.Equal(b, before, b.dump())
	}
	old := *b.topic
	b.edit(store.FieldEnabled, "0")
	refused(errs.TopicDisabled)
	b.edit(store.FieldEnabled, "1")
	*b.topic = old
	refused(store.ErrStale)
	b.topic.Name = "unknown"
	refused(errs.TopicNotFound)
	b.topic.Groups = nil
	refused(errs.NoGroup)
}

func delayIsLimited(b *bed) {
	b.edit(store.FieldMaxWaiting, "2")
	b.send("1", "2")
	b.delay(later("a", time.Hour), later("b", time.Hour)) // what waits and what is delayed do not stand in each other's way
	before := b.dump()
	_, err := b.store.SendDelayed(b.Context(), b.topic, []store.Delayed{later("c", time.Hour)})
	require.ErrorIs(b, err, errs.TopicFull)
	require.ErrorContains(b, err, "2 of at most 2 are pending")
	_, err = b.store.SendDelayed(b.Context(), b.topic, []store.Delayed{later("c", 0)})
	require.ErrorIs(b, err, errs.TopicFull)
	require.ErrorContains(b, err, "2 of at most 2 events wait")
	require.Equal(b, before, b.dump())
}

func delayAnnouncesANewHead(b *bed) {
	sub := b.rdb.Subscribe(b.Context(), b.keys.DelayChannel)
	defer func() { require.NoError(b, sub.Close()) }()
	_, err := sub.Receive(b.Context())
	require.NoError(b, err)
	b.delay(later("first", time.Hour))
	b.delay(later("behind", 2*time.Hour))
	b.delay(later("now", 0))
	b.delay(later("a", 30*time.Minute), later("earliest", time.Minute), later("c", 10*time.Hour))
	b.delay(later("last", time.Second))
	scores := map[string]int64{}
	for _, m := range b.zset(b.keys.Delayed) {
		scores[m[17:]] = b.dueAt(m)
	}
	for _, id := range []string{"first", "earliest", "last"} {
		m, err := sub.ReceiveMessage(b.Context())
		require.NoError(b, err)
		require.Equal(b, strconv.FormatInt(scores["entry of "+id], 10), m.Payload, "what Java parses as a number")
	}
}

func delayKeepsOrder(b *bed) {
	at := time.UnixMilli(b.now()).Add(time.Hour)
	var want []string
	for i := range 300 { // more than a byte counts
		d := later(fmt.Sprint(i), 0)
		d.Due.At = at
		b.delay(d)
		want = append(want, string(d.Entry))
	}
	var got []string
	for _, m := range b.zset(b.keys.Delayed) {
		got = append(got, m[17:])
	}
	require.Equal(b, want, got)
	b.due(b.keys.Delayed)
	require.EqualValues(b, 300, b.transfer().Moved)
	slices.Reverse(want)
	require.Equal(b, want, b.list(b.keys.Queue))
}

// The counter may be lost: a member that stands there already is left alone.
func delayNeverReplacesAMember(b *bed) {
	at := store.Due{At: time.UnixMilli(b.now()).Add(time.Hour)}
	same := func(d store.Due) store.Delayed { return store.Delayed{ID: "same", Due: d, Entry: []byte("same")} }
	b.delay(same(at), same(at))
	require.NoError(b, b.rdb.HDel(b.Context(), b.keys.Config, "delayed").Err())
	b.delay(same(store.Due{After: 2 * time.Hour}), same(at), same(at))
	require.Len(b, b.zset(b.keys.Delayed), 5)
	require.Equal(b, []string{group}, b.cancel("same"))
	require.Empty(b, b.zset(b.keys.Delayed), "all that bear the id")
	require.Empty(b, b.hash(b.keys.DelayIndex))
}

func delayReachesEveryGroup(b *bed) {
	require.NoError(b, b.store.AddGroup(b.Context(), "orders", store.Group{Name: "other"}))
	b.read("orders")
	b.delay(later("a", time.Hour), later("b", 0))
	for _, g := range b.topic.Groups {
		k := b.store.Keys(b.topic, g)
		require.Len(b, b.zset(k.Delayed), 1, g.Name)
		require.Equal(b, []string{"entry of b"}, b.list(k.Queue), g.Name)
	}
	require.Equal(b, []string{group, "other"}, b.cancel("a"))
	require.Empty(b, b.cancel("a"))
}

// due makes all members of a delayed set due, in their order.
func (b *bed) due(set string) {
	b.Helper()
	for i, m := range b.zset(set) {
		require.NoError(b, b.rdb.ZAdd(b.Context(), set, redis.Z{Score: float64(1000 + i), Member: m}).Err())
	}
}

func (b *bed) transfer() store.Transferred {
	b.Helper()
	got, err := b.store.Transfer(b.Context(), &b.keys, b.topic.Delivery)
	require.NoError(b, err)
	return got
}

func (b *bed) cancel(id string) []string {
	b.Helper()
	groups, err := b.store.Cancel(b.Context(), b.topic, id)
	require.NoError(b, err)
	return groups
}

// put puts members as Java does.
func (b *bed) put(score float64, members ...string) {
	b.Helper()
	for _, m := range members {
		require.NoError(b, b.rdb.ZAdd(b.Context(), b.keys.Delayed, redis.Z{Score: score, Member: m}).Err())
	}
}

// ids lists the entries of the queue, the next one first, without "entry of".
func (b *bed) ids() []string {
	b.Helper()
	var ids []string
	for _, e := range b.list(b.keys.Queue) {
		ids = append(ids, strings.TrimPrefix(e, "entry of "))
	}
	slices.Reverse(ids)
	return ids
}
