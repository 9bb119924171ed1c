package store_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// pushed demands that exactly the entries were pushed onto the end of a list, in
// whatever order, and takes them into the model.
func (m *model) pushed(key string, list *[]string, left bool, entries []string) {
	all, err := m.rdb.LRange(m.t.Context(), key, 0, -1).Result()
	require.NoError(m.t, err)
	n := len(entries)
	require.Len(m.t, all, len(*list)+n)
	added, old := all[:n], all[n:]
	if !left {
		added, old = all[len(*list):], all[:len(*list)]
	}
	require.ElementsMatch(m.t, entries, added)
	require.ElementsMatch(m.t, *list, old)
	require.True(m.t, slices.Equal(*list, old), "what waited before has another order")
	*list = all
}

func (m *model) moveDue(t *rapid.T) {
	g := m.group(t)
	if g == nil {
		return // no group is there
	}
	moved, _, orphans, err := m.store.MoveDue(t.Context(), &g.keys)
	require.NoError(t, err)
	require.Empty(t, orphans)
	var entries []string
	if m.enabled {
		for id, f := range g.failures {
			if f.due {
				entries = append(entries, f.entry)
				delete(g.failures, id)
			}
		}
	}
	require.Equal(t, len(entries), moved)
	m.pushed(g.keys.Returns, g.back(), true, entries)
	g.bell = g.bell || moved > 0
}

// becomeDue lets time pass for one failure.
func (m *model) becomeDue(t *rapid.T) {
	g := m.group(t)
	if g == nil {
		return // no group is there
	}
	for _, id := range slices.Sorted(maps.Keys(g.failures)) {
		if f := g.failures[id]; f.set == store.RetrySet && !f.due {
			f.due = true
			g.failures[id] = f
			require.NoError(t, m.rdb.ZAdd(t.Context(), g.keys.Retry, redis.Z{Score: 1, Member: id}).Err())
			return
		}
	}
}

// pick draws ids of failures, and one that there never was.
func (m *model) pick(t *rapid.T, g *side) []string {
	ids := append(slices.Sorted(maps.Keys(g.failures)), "never there")
	return rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 1, len(ids), rapid.ID).Draw(t, "ids")
}

// read is the first half of a replay; before the second, anything may happen.
func (m *model) read(t *rapid.T) {
	g := m.group(t)
	if g == nil {
		return // no group is there
	}
	ids := m.pick(t, g)
	records, err := m.store.ReadFailures(t.Context(), &g.keys, ids)
	require.NoError(t, err)
	require.Len(t, records, len(ids))
	for i, r := range records {
		f := g.failures[ids[i]]
		require.Equal(t, f.set, r.Set)
		require.Equal(t, f.entry, string(r.Entry))
		require.Equal(t, f.failedAt, r.FailedAt)
	}
	g.reads = records
}

func (m *model) replay(t *rapid.T) {
	g := m.group(t)
	if g == nil {
		return // no group is there
	}
	if len(g.reads) == 0 {
		return // nothing was read
	}
	var entries, want, back []string
	for _, r := range g.reads {
		entries = append(entries, string(r.Entry))
		if f := g.failures[r.ID]; f.set != "" && f.failedAt == r.FailedAt {
			want = append(want, r.ID)
			back = append(back, string(r.Entry))
			delete(g.alive, f.entry)
			delete(g.failures, r.ID)
			g.alive[string(r.Entry)] = true
		}
	}
	moved, err := m.store.Replay(t.Context(), &g.keys, g.reads, raw(entries))
	require.NoError(t, err)
	require.ElementsMatch(t, want, moved)
	m.pushed(g.keys.Returns, g.back(), true, back)
	g.bell = g.bell || len(want) > 0
	g.counts["replayed"] += int64(len(want))
}

func (m *model) discard(t *rapid.T) {
	g := m.group(t)
	if g == nil {
		return // no group is there
	}
	ids := m.pick(t, g)
	n, err := m.store.Discard(t.Context(), &g.keys, picks(append(ids, ids...)...))
	require.NoError(t, err)
	var want int64
	for _, id := range ids {
		if f := g.failures[id]; f.set != "" {
			want++
			delete(g.failures, id)
			delete(g.alive, f.entry)
		}
	}
	require.Equal(t, want, n)
	g.counts["discarded"] += n
}

func (m *model) expire(t *rapid.T) {
	g := m.group(t)
	if g == nil {
		return // no group is there
	}
	limit := rapid.Int64Range(1, 4).Draw(t, "limit")
	n, err := m.store.Expire(t.Context(), &g.keys, &store.Topic{DeadLimit: limit})
	require.NoError(t, err)
	require.Equal(t, max(0, int64(g.count(store.DeadSet))-limit), n)
	m.dropped(g, n)
}

// die ends a consumer without its giving anything back.
func (m *model) die(t *rapid.T) {
	g := m.group(t)
	if g == nil {
		return // no group is there
	}
	if len(g.live) == 0 {
		return // nobody lives
	}
	i := rapid.IntRange(0, len(g.live)-1).Draw(t, "consumer")
	consumer := g.live[i]
	g.live = slices.Delete(g.live, i, i+1)
	require.NoError(t, m.store.Leave(t.Context(), consumer))
	if len(g.held[consumer]) > 0 {
		g.dead = append(g.dead, consumer)
	}
}

// reclaim is what live consumers do for dead ones.
func (m *model) reclaim(t *rapid.T) {
	g := m.group(t)
	if g == nil {
		return // no group is there
	}
	require.NoError(t, m.keeper.Inspect(t.Context(), &g.keys))
	var entries []string
	for _, consumer := range g.dead {
		for receipt, e := range g.held[consumer] {
			g.late[consumer] = append(g.late[consumer], receipt)
			if p := rescued(nil, receipt, []byte(e)); p.Kind == store.Dead {
				g.end(e, []store.Part{p})
			} else {
				entries = append(entries, e)
			}
		}
		delete(g.held, consumer)
	}
	g.dead = nil
	m.pushed(g.keys.Returns, g.back(), false, entries)
	g.bell = g.bell || len(entries) > 0
}

// hearBell pops the token as a blocked consumer does, which may die before it
// claims.
func (m *model) hearBell(t *rapid.T) {
	g := m.group(t)
	if g == nil {
		return // no group is there
	}
	n, err := m.rdb.LPopCount(t.Context(), g.keys.Bell, 10).Result()
	if g.bell {
		require.NoError(t, err)
		require.Len(t, n, 1)
	} else {
		require.ErrorIs(t, err, redis.Nil)
	}
	g.bell = false
}

func (m *model) sweep(t *rapid.T) {
	g := m.group(t)
	if g == nil {
		return // no group is there
	}
	_, rang, err := m.store.Ring(t.Context(), &g.keys)
	require.NoError(t, err)
	require.Equal(t, !g.bell && len(g.queue)+len(g.returns) > 0, rang)
	g.bell = g.bell || rang
}

// toggle switches the topic off rarely, and on again soon.
func (m *model) toggle(t *rapid.T) {
	m.t = t
	if m.enabled && rapid.IntRange(0, 3).Draw(t, "rarely") > 0 {
		return // not this time
	}
	m.enabled = !m.enabled
	value := "0"
	if m.enabled {
		value = "1"
	}
	old := *m.topic
	_, err := m.store.EditTopic(t.Context(), "t", store.Edit{IfRevision: old.Revision, Set: []string{store.FieldEnabled, value}})
	require.NoError(t, err)
	if m.enabled && len(old.Groups) > 0 {
		require.ErrorIs(t, m.store.Send(t.Context(), &old, raw([]string{"stale"})), store.ErrStale)
	}
	m.reload()
}

// removeGroup is rare: it takes all that the group holds along.
func (m *model) removeGroup(t *rapid.T) {
	g := m.group(t)
	if g == nil {
		return // no group is there
	}
	if rapid.IntRange(0, 7).Draw(t, "rarely") > 0 {
		return // not this time
	}
	require.NoError(t, m.store.RemoveGroup(t.Context(), "t", g.name))
	g.joined = false
	receipts := g.held
	g.clear()
	if g.shared {
		for _, e := range g.queue {
			g.alive[e] = true // the list is the user's, and stays
		}
	} else {
		g.queue = nil
	}
	for consumer, held := range receipts { // what was in flight ends into the void
		g.late[consumer] = slices.Collect(maps.Keys(held))
	}
	m.reload()
}

func (m *model) addGroup(t *rapid.T) {
	m.t = t
	for _, name := range []string{"own", "shared"} {
		g := m.groups[name]
		group := store.Group{Name: name}
		if g.shared {
			group.QueueKey = m.ns + "-list"
		}
		err := m.store.AddGroup(t.Context(), "t", group)
		if g.joined {
			require.ErrorIs(t, err, errs.GroupExists)
			continue
		}
		require.NoError(t, err)
		g.joined = true
	}
	m.reload()
}

// compare demands that Redis holds what the model holds, and nothing else.
func (m *model) compare(t *rapid.T) {
	m.t = t
	want := map[string]bool{m.ns + ":{t}:config": true}
	for _, g := range m.groups {
		m.compareSide(t, g)
		k := &g.keys
		for _, key := range []string{k.Queue, k.Returns, k.Bell, k.Holders, k.Failures, k.Retry, k.Dead, k.Counts} {
			want[key] = true
		}
		for consumer := range g.held {
			want[k.Inflight(consumer)] = true
		}
	}
	keys, err := m.rdb.Keys(t.Context(), m.ns+":{t}:*").Result()
	require.NoError(t, err)
	for _, key := range keys {
		require.True(t, want[key], "key %s", key)
	}
}

func (m *model) compareSide(t *rapid.T, g *side) {
	ctx := t.Context()
	var queue, returns, bell, retry, dead *redis.StringSliceCmd
	var records, counts *redis.MapStringStringCmd
	held := map[string]*redis.MapStringStringCmd{}
	_, err := m.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		queue, returns, bell = p.LRange(ctx, g.keys.Queue, 0, -1), p.LRange(ctx, g.keys.Returns, 0, -1), p.LRange(ctx, g.keys.Bell, 0, -1)
		retry, dead = p.ZRange(ctx, g.keys.Retry, 0, -1), p.ZRange(ctx, g.keys.Dead, 0, -1)
		records, counts = p.HGetAll(ctx, g.keys.Failures), p.HGetAll(ctx, g.keys.Counts)
		for consumer := range g.held {
			held[consumer] = p.HGetAll(ctx, g.keys.Inflight(consumer))
		}
		return nil
	})
	require.NoError(t, err)

	places := map[string]string{} // where each entry is
	found := func(place, entry string) {
		require.Empty(t, places[entry], "%.20q is in %s and in %s", entry, places[entry], place)
		places[entry] = place
	}
	list := func(name string, want, got []string) {
		require.True(t, slices.Equal(want, got), "%s of %s holds %.100q, not %.100q", name, g.name, got, want)
		for _, e := range got {
			found(name, e)
		}
	}
	list("queue", g.queue, queue.Val())
	if g.shared {
		list("returns", g.returns, returns.Val())
	}
	if g.bell {
		require.Equal(t, []string{"1"}, bell.Val(), "the bell of %s", g.name)
	} else {
		require.Empty(t, bell.Val(), "the bell of %s", g.name)
	}
	for consumer, want := range g.held {
		got := held[consumer].Val()
		require.True(t, maps.Equal(want, got), "consumer %s holds %.200q, not %.200q", consumer, got, want)
		for _, e := range got {
			found("flight", e)
		}
	}
	require.Len(t, records.Val(), 2*len(g.failures), "two fields for each failure")
	for set, ids := range map[store.FailureSet][]string{store.RetrySet: retry.Val(), store.DeadSet: dead.Val()} {
		require.Len(t, ids, g.count(set), "%s set", set)
		for _, id := range ids {
			f, ok := g.failures[id]
			require.True(t, ok && f.set == set, "failure %s in the %s set", id, set)
			require.Equal(t, f.entry, records.Val()[id+"|e"], "entry of failure %s", id)
			at, rest, ok := strings.Cut(records.Val()[id], "{")
			require.True(t, ok)
			require.Contains(t, []string{`"n":1}`, `}`}, rest)
			f.failedAt, _ = strconv.ParseInt(at, 10, 64)
			require.Positive(t, f.failedAt)
			g.failures[id] = f
			found(string(set), f.entry)
		}
	}
	require.Equal(t, slices.Sorted(maps.Keys(g.alive)), slices.Sorted(maps.Keys(places)), "each entry is in one place")
	for name, text := range counts.Val() {
		require.Equal(t, strconv.FormatInt(g.counts[name], 10), text, "count %s", name)
	}
}
