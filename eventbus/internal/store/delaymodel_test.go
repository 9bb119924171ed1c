package store_test

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// Whatever the bus and Java do with one delayed queue in whatever order: in each
// group each event is in exactly one place, with its bytes as they were; what is due
// moves in its order and nothing else does; what the bus has sent can be cancelled as
// long as it is pending, and then is nowhere. The model beside the store keeps plain
// maps and slices.
func TestDelayModel(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, rdb *redis.Client, _ bool) {
		run := 0
		rapid.Check(t, func(t *rapid.T) {
			run++
			m := newDelayModel(t, rdb, fmt.Sprint("delays", run))
			defer m.close()
			t.Repeat(map[string]func(*rapid.T){
				"":             m.compare,
				"Send":         m.send,
				"SendMore":     m.send,
				"JavaOffers":   m.javaOffers,
				"Transfer":     m.transfer,
				"TransferMore": m.transfer,
				"JavaMoves":    m.javaMoves,
				"Cancel":       m.cancel,
				"CancelMore":   m.cancel,
				"List":         m.list,
				"Heads":        m.heads,
				"Switch":       m.toggle,
				"OldClients":   m.oldClients,
				"LoseCounter":  m.loseCounter,
			})
			m.cancelAll(t)
		})
	})
}

// delayed is a pending member: what the bus has sent has an id.
type delayed struct {
	id, entry string
	due       float64
	junk      bool
}

// delaySide is one group: its members, and its queue from left to right.
type delaySide struct {
	name       string
	keys       store.Keys
	pending    map[string]delayed
	queue      []string
	unreadable []string
	sent       int
}

type delayModel struct {
	t       *rapid.T
	rdb     *redis.Client
	store   *store.Store
	ns      string
	topic   *store.Topic
	enabled bool
	listed  bool // the order list is kept
	groups  []*delaySide
	made    int
}

func newDelayModel(t *rapid.T, rdb *redis.Client, ns string) *delayModel {
	s, err := store.Open(rdb, ns)
	require.NoError(t, err)
	m := &delayModel{t: t, rdb: rdb, store: s, ns: ns, enabled: true, listed: rapid.Bool().Draw(t, "order list")}
	require.NoError(t, s.CreateTopic(t.Context(), &store.Topic{
		Name: "t", Enabled: true, Wire: store.WireCloudEvents, RedissonOrderList: m.listed,
		Delivery: rapid.SampledFrom([]store.Delivery{store.AtLeastOnce, store.AtMostOnce}).Draw(t, "delivery"),
		Groups:   []store.Group{{Name: "own"}, {Name: "shared", QueueKey: ns + "-list"}},
	}))
	m.reload()
	for _, g := range m.topic.Groups {
		m.groups = append(m.groups, &delaySide{name: g.Name, keys: m.store.Keys(m.topic, g), pending: map[string]delayed{}})
	}
	return m
}

func (m *delayModel) reload() {
	var err error
	m.topic, err = m.store.Topic(m.t.Context(), "t")
	require.NoError(m.t, err)
}

func (m *delayModel) close() {
	for key := range dump(m.t, m.rdb, m.ns) {
		m.rdb.Del(m.t.Context(), key)
	}
	if err := m.store.Close(); err != nil {
		m.t.Error(err)
	}
}

func (m *delayModel) now() time.Time {
	now, err := m.store.Now(m.t.Context())
	require.NoError(m.t, err)
	return now
}

func (m *delayModel) group(t *rapid.T) *delaySide {
	m.t = t
	return rapid.SampledFrom(m.groups).Draw(t, "group")
}

// entry makes a unique entry with any bytes behind its number.
func (m *delayModel) entry(t *rapid.T) string {
	m.made++
	return fmt.Sprint(m.made, ":", string(rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "payload")))
}

// times are at once, soon, so that they become due within the run, and far.
func times(t *rapid.T) time.Duration {
	return rapid.SampledFrom([]time.Duration{
		0, -time.Hour, time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 1500 * time.Microsecond,
		time.Hour, time.Hour, time.Hour + time.Millisecond, 100 * time.Hour, store.MaxDelay - time.Hour,
	}).Draw(t, "time")
}

func (m *delayModel) send(t *rapid.T) {
	m.t = t
	before := m.now()
	events := make([]store.Delayed, rapid.IntRange(1, 5).Draw(t, "events"))
	for i := range events {
		d := times(t)
		events[i] = store.Delayed{ID: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "id"), Entry: []byte(m.entry(t)), Due: store.Due{After: d}}
		if rapid.Bool().Draw(t, "at") {
			events[i].Due = store.Due{At: before.Add(d)}
		}
	}
	unheard, err := m.store.SendDelayed(t.Context(), m.topic, events)
	if !m.enabled {
		require.ErrorIs(t, err, errs.TopicDisabled)
		return
	}
	require.NoError(t, err)
	require.Empty(t, unheard)
	after := m.now()
	for _, g := range m.groups {
		m.sentTo(g, events, before, after)
	}
}

// sentTo finds the new members, and takes the rest to be in the queue.
func (m *delayModel) sentTo(g *delaySide, events []store.Delayed, before, after time.Time) {
	g.sent += len(events)
	fresh := map[string]redis.Z{}
	for _, z := range m.members(g) {
		if _, known := g.pending[z.Member.(string)]; !known {
			_, entry, _ := payload(z.Member.(string))
			fresh[entry] = z
		}
	}
	for _, e := range events {
		least, most := e.Due.At, e.Due.At
		if e.Due.At.IsZero() {
			least, most = before.Add(e.Due.After), after.Add(e.Due.After)
		}
		z, delays := fresh[string(e.Entry)]
		if !delays {
			require.False(m.t, least.After(after), "it is due in %v, and came at once", least.Sub(after))
			g.queue = append([]string{string(e.Entry)}, g.queue...)
			continue
		}
		require.GreaterOrEqual(m.t, z.Score, float64(least.UnixMicro())/1000, "early")
		require.LessOrEqual(m.t, z.Score, float64(most.UnixMicro())/1000+2, "late")
		g.pending[z.Member.(string)] = delayed{id: e.ID, entry: string(e.Entry), due: z.Score}
		delete(fresh, string(e.Entry))
	}
	require.Empty(m.t, fresh, "members that nobody sent")
}

func (m *delayModel) members(g *delaySide) []redis.Z {
	all, err := m.rdb.ZRangeWithScores(m.t.Context(), g.keys.Delayed, 0, -1).Result()
	require.NoError(m.t, err)
	return all
}

// payload reads a member by the rule of Redisson's two forms.
func payload(member string) (newer bool, entry string, ok bool) {
	fits := func(head int) bool {
		return len(member) >= head && binary.LittleEndian.Uint64([]byte(member[head-8:head])) == uint64(len(member)-head)
	}
	switch {
	case fits(17) && member[0] == 8:
		return true, member[17:], true
	case fits(16):
		return false, member[16:], true
	}
	return false, "", false
}

func (m *delayModel) javaOffers(t *rapid.T) {
	g := m.group(t)
	e := m.entry(t)
	var member string
	switch rapid.SampledFrom([]string{"newer", "older", "junk", "our id", "short"}).Draw(t, "form") {
	case "newer":
		member = "\x08" + string(rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "random"))
	case "older":
		member = string(rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "random"))
	case "our id": // as the bus writes them
		member = "\x08\x00\x00\x00\x00\x00" + string(rapid.SliceOfN(rapid.Byte(), 3, 3).Draw(t, "random"))
	case "junk":
		member = "\xff"
	}
	if len(member) >= 8 {
		member = string(binary.LittleEndian.AppendUint64([]byte(member), uint64(len(e))))
	}
	member += e
	due := float64(m.now().Add(times(t)).UnixMilli())
	if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
		due = rapid.SampledFrom([]float64{0, 1, 1.5, 1e17, -1}).Draw(t, "score")
	}
	if _, known := g.pending[member]; known {
		return // it is there already
	}
	require.NoError(t, m.rdb.ZAdd(t.Context(), g.keys.Delayed, redis.Z{Score: due, Member: member}).Err())
	require.NoError(t, m.rdb.RPush(t.Context(), g.keys.DelayOrder, member).Err())
	_, entry, ok := payload(member)
	g.pending[member] = delayed{entry: entry, due: due, junk: !ok}
}

// sorted lists the pending members as Redis does.
func (g *delaySide) sorted() []string {
	var all []string
	for member := range g.pending {
		all = append(all, member)
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(cmp.Compare(g.pending[a].due, g.pending[b].due), strings.Compare(a, b))
	})
	return all
}

func (m *delayModel) transfer(t *rapid.T) {
	g := m.group(t)
	before := m.now()
	got, err := m.store.Transfer(t.Context(), &g.keys, m.topic.Delivery)
	require.NoError(t, err)
	after := m.now()
	if !m.enabled {
		require.Equal(t, store.Transferred{Next: -1 * time.Microsecond}, got)
		return
	}
	left := map[string]bool{}
	for _, z := range m.members(g) {
		left[z.Member.(string)] = true
	}
	var moved, aside int64
	for _, member := range g.sorted() {
		d := g.pending[member]
		if left[member] {
			require.Greater(t, d.due, float64(before.UnixMilli()), "it was due and stayed")
			continue
		}
		require.LessOrEqual(t, d.due, float64(after.UnixMilli()), "it came early")
		delete(g.pending, member)
		switch {
		case d.junk:
			aside++
			g.unreadable = append(g.unreadable, member)
		case m.topic.Delivery == store.AtMostOnce:
			moved++
			g.queue = append(g.queue, d.entry)
		default:
			moved++
			g.queue = append([]string{d.entry}, g.queue...)
		}
	}
	require.Equal(t, moved, got.Moved)
	require.Equal(t, aside, got.Unreadable)
	m.next(g, got.Next, before, after)
	if len(g.pending) == 0 {
		n, err := m.rdb.HLen(t.Context(), g.keys.DelayIndex).Result()
		require.NoError(t, err)
		require.Zero(t, n, "the index knows what is not pending")
	}
}

// next checks what was said to be the time until the next is due.
func (m *delayModel) next(g *delaySide, next time.Duration, before, after time.Time) {
	all := g.sorted()
	if len(all) == 0 {
		require.Negative(m.t, next)
		return
	}
	const longest = 1e15 * time.Microsecond / 1000 // what a Duration holds of it
	due := g.pending[all[0]].due * 1000
	most, least := max(0, due-float64(before.UnixMicro())), max(0, due-float64(after.UnixMicro()))
	if most > float64(longest.Microseconds()) {
		require.Greater(m.t, next, longest)
		return
	}
	require.LessOrEqual(m.t, float64(next.Microseconds()), most+1)
	require.GreaterOrEqual(m.t, float64(next.Microseconds()), least-1)
}

// javaMoves is Redisson's transfer, which knows nothing of the index and stops at
// what it cannot read.
func (m *delayModel) javaMoves(t *rapid.T) {
	g := m.group(t)
	now := strconv.FormatInt(m.now().UnixMilli(), 10)
	members, err := m.rdb.ZRangeArgs(t.Context(), redis.ZRangeArgs{Key: g.keys.Delayed, Start: "0", Stop: now, ByScore: true, Count: 100}).Result()
	require.NoError(t, err)
	for _, member := range members {
		d := g.pending[member]
		if d.junk {
			return
		}
		_, err := m.rdb.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			p.RPush(t.Context(), g.keys.Queue, d.entry)
			p.LRem(t.Context(), g.keys.DelayOrder, 1, member)
			p.ZRem(t.Context(), g.keys.Delayed, member)
			return nil
		})
		require.NoError(t, err)
		g.queue = append(g.queue, d.entry)
		delete(g.pending, member)
	}
}

func (m *delayModel) cancel(t *rapid.T) {
	m.t = t
	m.cancelID(rapid.SampledFrom([]string{"a", "b", "c", "d", "never sent", ""}).Draw(t, "id"))
}

func (m *delayModel) cancelID(id string) {
	groups, err := m.store.Cancel(m.t.Context(), m.topic, id)
	require.NoError(m.t, err)
	var want []string
	for _, g := range m.groups {
		found := false
		for member, d := range g.pending {
			if d.id == id && id != "" {
				found = true
				delete(g.pending, member)
			}
		}
		if found {
			want = append(want, g.name)
		}
	}
	require.Equal(m.t, want, groups, "cancel %q", id)
}

func (m *delayModel) cancelAll(t *rapid.T) {
	m.t = t
	for _, id := range []string{"a", "b", "c", "d"} {
		m.cancelID(id)
	}
	m.compare(t)
	for _, g := range m.groups {
		for member, d := range g.pending {
			require.Empty(t, d.id, "%q is left", member)
		}
	}
}

func (m *delayModel) list(t *rapid.T) {
	g := m.group(t)
	n := rapid.IntRange(1, 20).Draw(t, "page")
	var got []string
	for cursor := ""; ; {
		page, more, err := m.store.Pending(t.Context(), &g.keys, cursor, n)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page), n)
		for i := range page {
			head, size := page[i].Entry()
			require.Equal(t, len(head), size)
			got = append(got, string(head))
		}
		if !more {
			break
		}
		cursor = page[len(page)-1].Cursor()
	}
	want := []string{}
	for _, member := range g.sorted() {
		if d := g.pending[member]; d.junk {
			want = append(want, member)
		} else {
			want = append(want, d.entry)
		}
	}
	require.Equal(t, want, append([]string{}, got...))
}

func (m *delayModel) heads(t *rapid.T) {
	m.t = t
	before := m.now()
	heads, err := m.store.Heads(t.Context(), []*store.Keys{&m.groups[0].keys, &m.groups[1].keys})
	require.NoError(t, err)
	after := m.now()
	for i, g := range m.groups {
		if len(g.pending) == 0 {
			require.LessOrEqual(t, heads[i], time.Duration(0), "0 where something is left to be cleared away")
			continue
		}
		m.next(g, heads[i], before, after)
	}
}

// toggle switches the topic off rarely, and on again soon.
func (m *delayModel) toggle(t *rapid.T) {
	m.t = t
	if m.enabled && rapid.IntRange(0, 3).Draw(t, "rarely") > 0 {
		return // not this time
	}
	m.enabled = !m.enabled
	m.edit(store.FieldEnabled, m.enabled)
}

func (m *delayModel) oldClients(t *rapid.T) {
	m.t = t
	m.edit(store.FieldOldClients, rapid.Bool().Draw(t, "old clients"))
}

func (m *delayModel) edit(field string, on bool) {
	value := "0"
	if on {
		value = "1"
	}
	_, err := m.store.EditTopic(m.t.Context(), "t", store.Edit{Set: []string{field, value}})
	require.NoError(m.t, err)
	m.reload()
}

// loseCounter is what a restored backup may do.
func (m *delayModel) loseCounter(t *rapid.T) {
	m.t = t
	require.NoError(t, m.rdb.HDel(t.Context(), m.groups[0].keys.Config, "delayed").Err())
}

// compare demands that Redis holds what the model holds.
func (m *delayModel) compare(t *rapid.T) {
	m.t = t
	ctx := t.Context()
	type found struct {
		members              *redis.ZSliceCmd
		queue, aside, listed *redis.StringSliceCmd
		counts               *redis.MapStringStringCmd
	}
	all := make([]found, len(m.groups))
	_, err := m.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, g := range m.groups {
			k := &g.keys
			all[i] = found{
				members: p.ZRangeWithScores(ctx, k.Delayed, 0, -1), queue: p.LRange(ctx, k.Queue, 0, -1),
				aside: p.LRange(ctx, k.Unreadable, 0, -1), listed: p.LRange(ctx, k.DelayOrder, 0, -1), counts: p.HGetAll(ctx, k.Counts),
			}
		}
		return nil
	})
	require.NoError(t, err)
	for i, g := range m.groups {
		f, want := all[i], g.sorted()
		require.Equal(t, len(want), len(f.members.Val()), "pending in %s: %q, not %q", g.name, f.members.Val(), want)
		for i, z := range f.members.Val() {
			require.True(t, want[i] == z.Member && g.pending[want[i]].due == z.Score, "%d of %s is %q at %v, not %q", i, g.name, z.Member, z.Score, want[i])
		}
		require.True(t, slices.Equal(g.queue, f.queue.Val()), "the queue of %s holds %.200q, not %.200q", g.name, f.queue.Val(), g.queue)
		require.True(t, slices.Equal(slices.Sorted(slices.Values(g.unreadable)), slices.Sorted(slices.Values(f.aside.Val()))), "set aside of %s: %.200q, not %.200q", g.name, f.aside.Val(), g.unreadable)
		for name, want := range map[string]int{"sent": g.sent, "unreadable": len(g.unreadable)} {
			n, _ := strconv.Atoi(f.counts.Val()[name])
			require.Equal(t, want, n, "count %s of %s", name, g.name)
		}
		listed := map[string]bool{}
		for _, member := range f.listed.Val() {
			listed[member] = true
		}
		for _, member := range want {
			require.True(t, listed[member] || !m.listed, "Java does not see %q, which is pending", member)
		}
	}
}
