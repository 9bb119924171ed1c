package lease

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/link"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/internal/redistest"
)

// bed is a Redis with two topics, and keepers on it.
type bed struct {
	testing.TB
	rdb   *redis.Client
	store *store.Store
	keys  map[string]*store.Keys // by topic

	mu   sync.Mutex
	said []string
}

func setup(t testing.TB) *bed {
	_, rdb := redistest.Miniredis(t)
	return setupOn(t, rdb)
}

func setupOn(t testing.TB, rdb *redis.Client) *bed {
	s, err := store.Open(rdb, "ns")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	b := &bed{TB: t, rdb: rdb, store: s, keys: map[string]*store.Keys{}}
	for _, name := range []string{"a", "b"} {
		b.create(name)
	}
	return b
}

func (b *bed) create(name string) {
	b.Helper()
	require.NoError(b, b.store.CreateTopic(b.Context(), &store.Topic{
		Name: name, Enabled: true, Delivery: store.AtLeastOnce, Wire: store.WireCloudEvents, Groups: []store.Group{{Name: "g"}},
	}))
	k := b.store.Keys(b.topic(name), store.Group{Name: "g"})
	b.keys[name] = &k
}

func (b *bed) topic(name string) *store.Topic {
	b.Helper()
	t, err := b.store.Topic(b.Context(), name)
	require.NoError(b, err)
	return t
}

// Enabled, Handle, WithAttrs and WithGroup make it a slog.Handler.
func (b *bed) Enabled(context.Context, slog.Level) bool { return true }

func (b *bed) Handle(_ context.Context, r slog.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, r.Level.String()+" "+r.Message)
	return nil
}

func (b *bed) WithAttrs([]slog.Attr) slog.Handler { return b }

func (b *bed) WithGroup(string) slog.Handler { return b }

func (b *bed) logged(level string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range b.said {
		if strings.HasPrefix(line, level) {
			n++
		}
	}
	return n
}

// keeper is a keeper whose consumer runs the topics, enrolled.
func (b *bed) keeper(lease time.Duration, topics ...string) *Keeper {
	b.Helper()
	k := NewKeeper(Config{
		Store: b.store, Link: link.New(slog.New(b)), Log: slog.New(b), Lease: lease,
		Runs: func() []byte { return runs(topics...) },
		Rescue: func(_ *store.Topic, _ string, entry []byte) store.Part {
			return store.Part{Kind: store.BackFirst, Entry: append(entry, '!')}
		},
		Reclaimed: func() {},
	})
	require.NoError(b, k.Enroll(b.Context()))
	return k
}

func runs(topics ...string) []byte {
	r := Runs{Host: "h", PID: 1, Group: "g", Topics: map[string][]Handle{}}
	for _, name := range topics {
		r.Topics[name] = []Handle{{ID: "h", Settings: json.RawMessage(`{}`)}}
	}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return text
}

// hold sends n entries and has a consumer claim them, a few at a time.
func (b *bed) hold(topic, consumer string, n int) (entries []string) {
	b.Helper()
	var raw [][]byte
	for i := range n {
		entries = append(entries, fmt.Sprint(topic, i))
		raw = append(raw, []byte(entries[i]))
	}
	require.NoError(b, b.store.Send(b.Context(), b.topic(topic), raw))
	claimed := 0
	for claim := uint64(8); claimed < n; claim++ { // so that claim numbers get longer
		got, err := b.store.Claim(b.Context(), b.keys[topic], consumer, claim, 7, 7)
		require.NoError(b, err)
		claimed += len(got.Entries)
	}
	return entries
}

// queue lists what waits in a topic, in the order in which it is handed out.
func (b *bed) queue(topic string) []string {
	b.Helper()
	all, err := b.rdb.LRange(b.Context(), b.keys[topic].Queue, 0, -1).Result()
	require.NoError(b, err)
	slices.Reverse(all)
	return all
}

func (b *bed) held(topic, consumer string) int64 {
	b.Helper()
	n, err := b.rdb.HLen(b.Context(), b.keys[topic].Inflight(consumer)).Result()
	require.NoError(b, err)
	return n
}

func rescued(entries []string) []string {
	all := make([]string, len(entries))
	for i, e := range entries {
		all[i] = e + "!"
	}
	return all
}

// What a dead consumer held is handed out next, in its old order, before what
// waits; and the consumer is forgotten.
func TestReclaimedEntriesAreNextInTheirOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dead := b.keeper(time.Minute, "a", "b")
	a, other := b.hold("a", dead.ID(), 40), b.hold("b", dead.ID(), 3)
	require.NoError(t, b.store.Send(t.Context(), b.topic("a"), [][]byte{[]byte("new")}))
	require.NoError(t, b.store.GiveUp(t.Context(), dead.ID()))
	k := b.keeper(time.Minute, "a")
	require.NoError(t, k.reclaim(t.Context(), dead.ID()))
	require.Equal(t, append(rescued(a), "new"), b.queue("a"))
	require.Equal(t, rescued(other), b.queue("b"))
	require.Zero(t, b.held("a", dead.ID()))
	all, err := b.store.Consumers(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	for _, keys := range b.keys {
		holders, err := b.store.Holders(t.Context(), keys)
		require.NoError(t, err)
		require.Empty(t, holders)
	}
}

// Several processes find a dead consumer at once: each entry is moved by one.
func TestSeveralReclaimEachEntryOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dead := b.keeper(time.Minute, "a")
	entries := b.hold("a", dead.ID(), 300)
	require.NoError(t, b.store.GiveUp(t.Context(), dead.ID()))
	var all sync.WaitGroup
	for range 4 {
		k := b.keeper(time.Minute, "a")
		all.Go(func() {
			if err := k.reclaim(context.Background(), dead.ID()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.ElementsMatch(t, rescued(entries), b.queue("a"))
}

// A consumer that comes back to life while it is reclaimed is not forgotten.
func TestConsumerThatRenewsIsNotForgotten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	slow := b.keeper(time.Minute, "a")
	b.hold("a", slow.ID(), 3)
	k := b.keeper(time.Minute, "a")
	require.NoError(t, k.reclaim(t.Context(), slow.ID()), "its lease stands by now")
	all, err := b.store.Consumers(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
}

// One topic that cannot be reclaimed keeps neither the others from it nor what
// it holds from being reclaimed later, and the log says so once.
func TestTopicWithABrokenKeyIsReclaimedLater(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dead := b.keeper(time.Minute, "a", "b")
	a, other := b.hold("a", dead.ID(), 3), b.hold("b", dead.ID(), 3)
	require.NoError(t, b.store.GiveUp(t.Context(), dead.ID()))
	require.NoError(t, b.rdb.Set(t.Context(), b.keys["a"].Retry, "somebody else's", 0).Err())
	k := b.keeper(time.Minute, "a")
	for range 5 {
		k.reclaimAll(t.Context(), k.ID(), []string{dead.ID()})
		k.reclaims.Wait()
	}
	require.Equal(t, rescued(other), b.queue("b"))
	require.EqualValues(t, 3, b.held("a", dead.ID()))
	require.Equal(t, 1, b.logged("ERROR"), "%q", b.said)
	all, err := b.store.Consumers(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2, "what it holds is not forgotten")
	require.NoError(t, b.rdb.Del(t.Context(), b.keys["a"].Retry).Err())
	k.reclaimAll(t.Context(), k.ID(), []string{dead.ID()})
	k.reclaims.Wait()
	require.Equal(t, rescued(a), b.queue("a"))
	all, err = b.store.Consumers(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
}

// Consumers that no registry knows, but that hold entries, are found by the
// queue; those that are enrolled, and be their lease over, are left alone.
func TestInspectFindsWhoIsInNoRegistry(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ghost := b.hold("a", "ghost", 3)
	live, expired := b.keeper(time.Minute, "a"), b.keeper(time.Minute, "a")
	b.hold("a", live.ID(), 2)
	b.hold("a", expired.ID(), 2)
	require.NoError(t, b.store.GiveUp(t.Context(), expired.ID()))
	k := b.keeper(time.Minute, "b")
	require.NoError(t, k.Inspect(t.Context(), b.keys["a"]))
	require.Equal(t, rescued(ghost), b.queue("a"))
	require.EqualValues(t, 2, b.held("a", live.ID()))
	require.EqualValues(t, 2, b.held("a", expired.ID()))
	holders, err := b.store.Holders(t.Context(), b.keys["a"])
	require.NoError(t, err)
	require.ElementsMatch(t, []string{live.ID(), expired.ID()}, holders)
}

// Topics and groups that are gone took their entries along.
func TestReclaimPassesOverWhatIsGone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.create("removed")
	dead := b.keeper(time.Minute, "a", "never there", "b", "removed")
	entries := b.hold("a", dead.ID(), 2)
	b.hold("b", dead.ID(), 2)
	require.NoError(t, b.store.DeleteTopic(t.Context(), "b"))
	require.NoError(t, b.store.RemoveGroup(t.Context(), "removed", "g"))
	require.NoError(t, b.store.GiveUp(t.Context(), dead.ID()))
	k := b.keeper(time.Minute, "a")
	require.NoError(t, k.reclaim(t.Context(), dead.ID()))
	require.Equal(t, rescued(entries), b.queue("a"))
	all, err := b.store.Consumers(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
}

// A consumer whose lease is gone goes on under a new id, and what the old one
// holds is there to be reclaimed.
func TestLostLeaseMeansANewID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.keeper(time.Minute, "a")
	old := k.ID()
	entries := b.hold("a", old, 3)
	require.NoError(t, b.store.Leave(t.Context(), old))
	require.True(t, k.Valid())
	require.NoError(t, k.renew(t.Context()))
	require.NotEqual(t, old, k.ID())
	require.True(t, k.Valid())
	all, err := b.store.Consumers(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, old, all[0].ID)
	require.Zero(t, all[0].Expires.UnixMilli())
	require.JSONEq(t, string(runs("a")), string(all[0].Runs))
	require.NoError(t, b.keeper(time.Minute, "a").reclaim(t.Context(), old))
	require.Equal(t, rescued(entries), b.queue("a"))
}

// Only a row of renewals without a gap, a lease long, shows that others who live
// have renewed too.
func TestReclaimingNeedsASteadyRow(t *testing.T) {
	t.Parallel()
	const lease = 15 * time.Second
	k := NewKeeper(Config{Lease: lease})
	now := time.Now()
	step := func(d time.Duration) bool {
		now = now.Add(d)
		return k.success(now)
	}
	require.False(t, step(0), "the first renewal shows nothing")
	require.False(t, step(lease/3))
	require.False(t, step(lease/3))
	require.True(t, step(lease/3))
	require.True(t, step(lease/3))
	k.failure()
	require.False(t, step(lease/3), "a failed renewal ends the row")
	require.False(t, step(lease-1))
	require.True(t, step(time.Second))
	require.False(t, step(lease+1), "so does a time in which nothing was tried")
	require.False(t, step(lease-1))
	require.True(t, step(1))

	// A short lease does not shorten what the others may take to come back.
	k = NewKeeper(Config{Lease: time.Second})
	require.False(t, step(0))
	require.True(t, step(time.Second))
	k.failure()
	for elapsed := time.Duration(0); elapsed < allBackAfter; elapsed += 500 * time.Millisecond {
		require.False(t, step(500*time.Millisecond), "after %v", elapsed)
	}
	require.True(t, step(500*time.Millisecond))
	require.True(t, step(500*time.Millisecond), "that was long ago")
}

// Whoever was halted must not claim before it has renewed.
func TestLeaseIsValidForAWhileOnly(t *testing.T) {
	t.Parallel()
	k := NewKeeper(Config{Lease: 15 * time.Second})
	require.False(t, k.Valid())
	k.success(time.Now())
	require.True(t, k.Valid())
	k.success(time.Now().Add(-9 * time.Second))
	require.True(t, k.Valid())
	k.success(time.Now().Add(-11 * time.Second))
	require.False(t, k.Valid())
}
