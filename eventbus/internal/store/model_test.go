package store_test

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/lease"
	"github.com/seed4933/eventbus/eventbus/internal/link"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// Whatever senders, consumers, movers and operators do in whatever order: in each
// group every entry is in exactly one place, with its bytes as they were, until
// it is done, discarded or dropped; and no failure has an index without a record,
// or a record without an index. The model beside the store does the same in
// plain slices and maps; after each step the two are compared in full.
func TestModel(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, rdb *redis.Client, _ bool) {
		run := 0
		rapid.Check(t, func(t *rapid.T) {
			run++
			m := newModel(t, rdb, fmt.Sprint("run", run))
			defer m.close()
			t.Repeat(map[string]func(*rapid.T){
				"":              m.compare,
				"Send":          m.send,
				"Claim":         m.claim,
				"ClaimAgain":    m.claim,
				"ClaimMore":     m.claim,
				"Take":          m.take,
				"Finish":        m.finish,
				"FinishAgain":   m.finish,
				"FinishMore":    m.finish,
				"FinishTaken":   m.finishTaken,
				"FinishTooLate": m.finishTooLate,
				"MoveDue":       m.moveDue,
				"BecomeDue":     m.becomeDue,
				"Read":          m.read,
				"Replay":        m.replay,
				"Discard":       m.discard,
				"Expire":        m.expire,
				"Die":           m.die,
				"Reclaim":       m.reclaim,
				"HearBell":      m.hearBell,
				"Sweep":         m.sweep,
				"Switch":        m.toggle,
				"RemoveGroup":   m.removeGroup,
				"AddGroup":      m.addGroup,
			})
		})
	})
}

// model is what ought to stand in Redis. A step that does not apply does nothing.
type model struct {
	t       *rapid.T // of the step under way
	rdb     *redis.Client
	store   *store.Store
	keeper  *lease.Keeper
	ns      string
	topic   *store.Topic
	enabled bool
	groups  map[string]*side
	made    int // entries so far; each is unique by its number
	ids     int // consumers so far
}

// side is one group of the model. Lists stand as in Redis, left to right.
type side struct {
	name     string
	joined   bool
	shared   bool
	keys     store.Keys
	queue    []string
	returns  []string
	bell     bool
	live     []string // consumers
	dead     []string // consumers that have died and may hold entries
	claims   uint64
	held     map[string]map[string]string // by consumer and receipt
	late     map[string][]string          // receipts by dead consumer
	failures map[string]fault
	counts   map[string]int64
	alive    map[string]bool // entries that are not at their end
	reads    []store.Record  // failures that an operator has read
}

type fault struct {
	set      store.FailureSet
	entry    string
	due      bool
	failedAt int64
}

func newModel(t *rapid.T, rdb *redis.Client, ns string) *model {
	s, err := store.Open(rdb, ns)
	require.NoError(t, err)
	quiet := slog.New(slog.DiscardHandler)
	m := &model{t: t, rdb: rdb, store: s, ns: ns, enabled: true, groups: map[string]*side{}}
	m.keeper = lease.NewKeeper(lease.Config{
		Store: s, Link: link.New(quiet), Log: quiet, Lease: time.Minute,
		Runs: func() []byte { return nil }, Rescue: rescued, Reclaimed: func() {},
	})
	groups := []store.Group{{Name: "own"}, {Name: "shared", QueueKey: ns + "-list"}}
	require.NoError(t, s.CreateTopic(t.Context(), &store.Topic{
		Name: "t", Enabled: true, Delivery: store.AtLeastOnce, Wire: store.WireCloudEvents, Groups: groups,
	}))
	for _, g := range groups {
		m.groups[g.Name] = &side{name: g.Name, joined: true, shared: g.QueueKey != ""}
		m.groups[g.Name].clear()
	}
	m.reload()
	for _, g := range m.groups {
		m.enroll(g)
		m.enroll(g)
	}
	return m
}

// close drops what the run has left.
func (m *model) close() {
	for key := range dump(m.t, m.rdb, m.ns) {
		m.rdb.Del(m.t.Context(), key)
	}
	if err := m.store.Close(); err != nil {
		m.t.Error(err)
	}
}

// rescued is what becomes of an entry whose consumer died: some die with it.
func rescued(_ *store.Topic, _ string, entry []byte) store.Part {
	if dies(string(entry)) {
		number, _, _ := strings.Cut(string(entry), ":")
		return store.Part{Kind: store.Dead, ID: "killed" + number, Meta: []byte("{}"), Entry: entry}
	}
	return store.Part{Kind: store.BackFirst, Entry: entry}
}

func dies(entry string) bool {
	number, _, _ := strings.Cut(entry, ":")
	return strings.HasSuffix(number, "7")
}

func (g *side) clear() {
	g.returns, g.bell, g.dead = nil, false, nil
	g.held, g.late = map[string]map[string]string{}, map[string][]string{}
	g.failures, g.counts, g.alive = map[string]fault{}, map[string]int64{}, map[string]bool{}
	g.reads = nil
}

// back returns the list to which entries come back.
func (g *side) back() *[]string {
	if g.shared {
		return &g.returns
	}
	return &g.queue
}

func (m *model) reload() {
	var err error
	m.topic, err = m.store.Topic(m.t.Context(), "t")
	require.NoError(m.t, err)
	for _, g := range m.topic.Groups {
		m.groups[g.Name].keys = m.store.Keys(m.topic, g)
	}
}

func (m *model) enroll(g *side) string {
	m.ids++
	id := fmt.Sprint("c", m.ids)
	require.NoError(m.t, m.store.Enroll(m.t.Context(), id, time.Hour, nil))
	g.live = append(g.live, id)
	return id
}

// entry makes a unique entry with any bytes behind its number.
func (m *model) entry(t *rapid.T) string {
	m.made++
	payload := rapid.OneOf(
		rapid.SampledFrom(hostile()),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 100), func(b []byte) string { return string(b) }),
	).Draw(t, "payload")
	return fmt.Sprint(m.made, ":", payload)
}

// group draws one of the groups that are joined; nil when there is none: the step then
// does nothing.
func (m *model) group(t *rapid.T) *side {
	m.t = t
	var names []string
	for name, g := range m.groups {
		if g.joined {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return m.groups[rapid.SampledFrom(names).Draw(t, "group")]
}

func (m *model) send(t *rapid.T) {
	m.t = t
	entries := make([]string, rapid.IntRange(1, 4).Draw(t, "entries"))
	for i := range entries {
		entries[i] = m.entry(t)
	}
	err := m.store.Send(t.Context(), m.topic, raw(entries))
	switch {
	case len(m.topic.Groups) == 0:
		require.ErrorIs(t, err, errs.NoGroup)
		return
	case !m.enabled:
		require.ErrorIs(t, err, errs.TopicDisabled)
		return
	}
	require.NoError(t, err)
	for _, g := range m.groups {
		if !g.joined {
			continue
		}
		for _, e := range entries {
			g.queue = append([]string{e}, g.queue...)
			g.alive[e] = true
		}
		g.bell = true
		g.counts["sent"] += int64(len(entries))
	}
}

// split takes n entries off the right end.
func split(list *[]string, n int) []string {
	n = max(0, min(n, len(*list)))
	taken := slices.Clone((*list)[len(*list)-n:])
	*list = (*list)[:len(*list)-n]
	slices.Reverse(taken)
	return taken
}

func (m *model) claim(t *rapid.T) {
	g := m.group(t)
	if g == nil {
		return
	}
	if len(g.live) == 0 {
		m.enroll(g)
	}
	consumer := rapid.SampledFrom(g.live).Draw(t, "consumer")
	most := rapid.IntRange(1, 6).Draw(t, "most")
	g.claims++
	got, err := m.store.Claim(t.Context(), &g.keys, consumer, g.claims, most, rapid.IntRange(1, 6).Draw(t, "pop"))
	require.NoError(t, err)
	var want []string
	if m.enabled {
		require.Equal(t, m.topic.Revision, got.Revision)
		if g.shared {
			want = split(&g.returns, max((most+1)/2, most-len(g.queue)))
			require.Equal(t, len(want), got.Returned)
		}
		want = append(want, split(&g.queue, most-len(want))...)
	} else {
		require.Zero(t, got.Revision)
	}
	require.Equal(t, raw(want), got.Entries)
	if len(want) > 0 && g.held[consumer] == nil {
		g.held[consumer] = map[string]string{}
	}
	for i, e := range want {
		g.held[consumer][got.Receipts(g.claims)[i]] = e
	}
	if len(want) > 0 && len(g.queue)+len(g.returns) > 0 {
		g.bell = true
	}
}

// take is how entries leave for good, as with at_most_once. Their ends come
// without a receipt, see finishTaken.
func (m *model) take(t *rapid.T) {
	g := m.group(t)
	if g == nil {
		return
	}
	most := rapid.IntRange(1, 3).Draw(t, "most")
	got, err := m.store.Take(t.Context(), &g.keys, most)
	require.NoError(t, err)
	want := []string{}
	if m.enabled {
		if g.shared {
			want = split(&g.returns, most)
		}
		n := min(most-len(want), len(g.queue))
		want = append(want, g.queue[:n]...)
		g.queue = slices.Clone(g.queue[n:])
	}
	require.Equal(t, raw(want), got.Entries)
	for _, e := range want {
		delete(g.alive, e)
	}
}

// parts draws what becomes of an entry: nothing (it is done), or one or more
// parts, the first of which carries on the entry itself.
func (m *model) parts(t *rapid.T, entry string) []store.Part {
	n := rapid.IntRange(0, 3).Draw(t, "parts")
	parts := make([]store.Part, n)
	for i := range parts {
		e := entry
		if i > 0 {
			e = m.entry(t)
		}
		kind := rapid.SampledFrom([]store.PartKind{store.BackFirst, store.BackLast, store.Retry, store.Dead, store.Dead}).Draw(t, "kind")
		parts[i] = store.Part{
			Kind: kind, Entry: []byte(e), Meta: []byte(`{"n":1}`),
			ID:    rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id"), // they collide
			Delay: rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "delay"),
		}
	}
	return parts
}

// end does in the model what Finish does with an entry's parts.
func (g *side) end(entry string, parts []store.Part) {
	if entry != "" && len(parts) == 0 {
		delete(g.alive, entry)
		return
	}
	list := g.back()
	for _, p := range parts {
		e := string(p.Entry)
		g.alive[e] = true
		switch p.Kind {
		case store.BackFirst:
			*list = append(*list, e)
			g.bell = true
		case store.BackLast:
			*list = append([]string{e}, *list...)
			g.bell = true
		default:
			id := p.ID
			for g.failures[id].set != "" {
				id += "+"
			}
			f := fault{set: store.DeadSet, entry: e}
			if p.Kind == store.Retry {
				f.set, f.due = store.RetrySet, p.Delay == 0
				g.counts["retry"]++
			} else {
				g.counts["dead"]++
			}
			g.failures[id] = f
		}
	}
}

func (m *model) finish(t *rapid.T) {
	g := m.group(t)
	if g == nil {
		return
	}
	var consumers []string
	for _, c := range g.live {
		if len(g.held[c]) > 0 {
			consumers = append(consumers, c)
		}
	}
	if len(consumers) == 0 {
		return
	}
	consumer := rapid.SampledFrom(consumers).Draw(t, "consumer")
	receipts := slices.Sorted(maps.Keys(g.held[consumer]))
	receipts = rapid.SliceOfNDistinct(rapid.SampledFrom(receipts), 1, len(receipts), rapid.ID).Draw(t, "receipts")
	var ended []store.Ended
	for _, r := range receipts {
		ended = append(ended, store.Ended{Receipt: r, Parts: m.parts(t, g.held[consumer][r])})
	}
	// Twice in one call, and one that was never given out: they change nothing.
	sent := append(slices.Clone(ended), store.Ended{Receipt: receipts[0], Parts: ended[0].Parts}, store.Ended{Receipt: "0-0"})
	m.write(g, consumer, sent, len(ended), func() {
		for _, e := range ended {
			entry := g.held[consumer][e.Receipt]
			delete(g.held[consumer], e.Receipt)
			g.end(entry, e.Parts)
			if len(e.Parts) == 0 {
				g.counts["done"]++
			}
		}
	})
}

// write calls Finish, with or without a limit for the dead set.
func (m *model) write(g *side, consumer string, ended []store.Ended, wantEnded int, expect func()) {
	t := m.t
	limit := rapid.SampledFrom([]int64{0, 0, 0, 2}).Draw(t, "limit")
	deaths := g.counts["dead"]
	n, dropped, err := m.store.Finish(t.Context(), &g.keys, consumer, limit, ended)
	require.NoError(t, err)
	require.EqualValues(t, wantEnded, n)
	expect()
	over := int64(0)
	if limit > 0 && g.counts["dead"] > deaths {
		over = max(0, int64(g.count(store.DeadSet))-limit)
	}
	require.Equal(t, over, dropped)
	m.dropped(g, dropped)
}

func (g *side) count(set store.FailureSet) (n int) {
	for _, f := range g.failures {
		if f.set == set {
			n++
		}
	}
	return n
}

// dropped takes those dead failures out of the model that Redis has dropped.
// Which of those of one millisecond goes is not said.
func (m *model) dropped(g *side, n int64) {
	left := m.scores(g.keys.Dead)
	var gone int64
	for id, f := range g.failures {
		if _, ok := left[id]; f.set == store.DeadSet && !ok {
			if f.failedAt > 0 {
				for other, score := range left {
					require.LessOrEqual(m.t, f.failedAt, int64(score), "%s was dropped, the older %s was not", id, other)
				}
			}
			delete(g.failures, id)
			delete(g.alive, f.entry)
			gone++
		}
	}
	require.Equal(m.t, n, gone)
	g.counts["dropped"] += n
}

func (m *model) scores(key string) map[string]float64 {
	all, err := m.rdb.ZRangeWithScores(m.t.Context(), key, 0, -1).Result()
	require.NoError(m.t, err)
	scores := map[string]float64{}
	for _, z := range all {
		scores[z.Member.(string)] = z.Score
	}
	return scores
}

func (m *model) finishTaken(t *rapid.T) {
	g := m.group(t)
	if g == nil {
		return
	}
	parts := m.parts(t, m.entry(t))
	if len(parts) == 0 {
		return
	}
	m.write(g, "", []store.Ended{{Parts: parts}}, 1, func() { g.end("", parts) })
}

// finishTooLate reports entries that were taken from their consumer.
func (m *model) finishTooLate(t *rapid.T) {
	g := m.group(t)
	if g == nil {
		return
	}
	for consumer, receipts := range g.late {
		var ended []store.Ended
		for _, r := range receipts {
			ended = append(ended, store.Ended{Receipt: r, Parts: m.parts(t, m.entry(t))})
		}
		n, dropped, err := m.store.Finish(t.Context(), &g.keys, consumer, 2, ended)
		require.NoError(t, err)
		require.Zero(t, n)
		require.Zero(t, dropped)
	}
}
