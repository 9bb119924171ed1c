package poll

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/internal/redistest"
)

// countHandler counts what is logged.
type countHandler struct{ n *int }

// Enabled, Handle, WithAttrs and WithGroup make it a slog.Handler.
func (countHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h countHandler) Handle(context.Context, slog.Record) error {
	*h.n++
	return nil
}

func (h countHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h countHandler) WithGroup(string) slog.Handler { return h }

// bed is a server with topics, and a poller for them that keeps what it is given.
type bed struct {
	*testing.T
	*planner
	rdb    *redis.Client
	store  *store.Store
	got    chan string // topic and entry
	failed []error

	mu    sync.Mutex
	batch []Batch
}

func setup(t *testing.T, delivery store.Delivery, names ...string) (*bed, []*handMoved) {
	t.Helper()
	rdb := redistest.Start(t, redistest.Options{}).Client(t)
	s, err := store.Open(rdb, "ns")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	b := &bed{T: t, rdb: rdb, store: s, got: make(chan string, 10_000)}
	var stubs []*handMoved
	for _, name := range names {
		require.NoError(t, s.CreateTopic(t.Context(), &store.Topic{
			Name: name, Enabled: true, Delivery: delivery, Wire: store.WireCloudEvents, Groups: []store.Group{{Name: "g"}},
		}))
		k := s.Keys(b.topic(name), store.Group{Name: "g"})
		st := newHandMoved(name)
		st.Keys, st.AtMostOnce = &k, delivery == store.AtMostOnce
		st.Accept = func(batch Batch, _ bool) bool {
			b.mu.Lock()
			b.batch = append(b.batch, batch)
			b.mu.Unlock()
			for _, e := range batch.Entries {
				b.got <- name + " " + string(e)
			}
			return false
		}
		stubs = append(stubs, st)
	}
	b.planner = newPlanner(stubs...)
	b.cfg.Store = s
	b.cfg.Restore = func(_ *store.Keys, _ string, entry []byte) []byte { return entry }
	b.cfg.Failed = func(err error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.failed = append(b.failed, err)
	}
	return b, stubs
}

func (b *bed) topic(name string) *store.Topic {
	b.Helper()
	t, err := b.store.Topic(b.Context(), name)
	require.NoError(b, err)
	return t
}

func (b *bed) send(name string, entries ...string) {
	b.Helper()
	var raw [][]byte
	for _, e := range entries {
		raw = append(raw, []byte(e))
	}
	require.NoError(b, b.store.Send(b.Context(), b.topic(name), raw))
}

func (b *bed) next() string {
	b.Helper()
	select {
	case e := <-b.got:
		return e
	case <-time.After(time.Minute):
		require.Fail(b, "no event comes")
		return ""
	}
}

// run runs the poller; stop ends it, and returns once it has ended.
func (b *bed) run() (stop func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.planner.Run(context.Background())
	}()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			b.Stop()
			select {
			case <-ended:
			case <-time.After(time.Minute):
				require.Fail(b, "the poller does not stop")
			}
		})
	}
	b.Cleanup(stop)
	return stop
}

// Events of all topics come in their order, and none is taken after a stop.
func TestPollerBringsEventsOfAllTopics(t *testing.T) {
	t.Parallel()
	for _, delivery := range []store.Delivery{store.AtLeastOnce, store.AtMostOnce} {
		t.Run(string(delivery), func(t *testing.T) {
			t.Parallel()
			b, _ := setup(t, delivery, "a", "b", "c")
			stop := b.run()
			for i := range 20 {
				for _, name := range []string{"a", "b", "c"} {
					b.send(name, fmt.Sprint(i))
					require.Equal(t, fmt.Sprint(name, " ", i), b.next())
				}
			}
			stop()
			b.send("a", "late")
			require.Empty(t, b.got)
			n, err := b.rdb.LLen(t.Context(), "ns:{a}:queue:g").Result()
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
			wake, err := b.rdb.Keys(t.Context(), "ns:wake:*").Result()
			require.NoError(t, err)
			require.Empty(t, wake)
		})
	}
}

// Receipts of what was claimed are those under which Redis keeps it.
func TestPollerKnowsTheReceipts(t *testing.T) {
	t.Parallel()
	b, stubs := setup(t, store.AtLeastOnce, "a")
	b.send("a", "1", "2", "3")
	stop := b.run()
	for range 3 {
		b.next()
	}
	stop()
	held, err := b.store.Held(t.Context(), stubs[0].Keys, "c")
	require.NoError(t, err)
	var known []string
	for _, batch := range b.batch {
		for i := range batch.Entries {
			known = append(known, batch.Receipts()[i])
		}
	}
	require.ElementsMatch(t, held, known)
}

// No more is taken than there is room for; a freed slot brings the next.
func TestPollerTakesWhatThereIsRoomFor(t *testing.T) {
	t.Parallel()
	b, stubs := setup(t, store.AtLeastOnce, "a")
	var mu sync.Mutex
	room := 2
	stubs[0].Room = func() int {
		mu.Lock()
		defer mu.Unlock()
		return room
	}
	accept := stubs[0].Accept
	stubs[0].Accept = func(batch Batch, alone bool) bool {
		mu.Lock()
		room -= len(batch.Entries)
		mu.Unlock()
		return accept(batch, alone)
	}
	b.send("a", "1", "2", "3", "4", "5")
	stop := b.run()
	require.Equal(t, []string{"a 1", "a 2"}, []string{b.next(), b.next()})
	for _, want := range []string{"a 3", "a 4"} {
		mu.Lock()
		require.Zero(t, room)
		room = 1
		mu.Unlock()
		b.Nudge()
		require.Equal(t, want, b.next())
	}
	stop()
	require.Empty(t, b.got)
}

// What is pushed without a ring, or whose ring was lost with the process that
// heard it, is found by the sweep.
func TestSweepFindsWhatNobodyRangFor(t *testing.T) {
	t.Parallel()
	b, stubs := setup(t, store.AtLeastOnce, "a", "b")
	b.run()
	b.send("a", "0")
	b.next()
	for i := range 5 {
		require.NoError(t, b.rdb.LPush(t.Context(), stubs[1].Keys.Queue, i).Err())
		require.Eventually(t, func() bool {
			require.NoError(t, b.Sweep(t.Context()))
			return len(b.got) > 0
		}, time.Minute, time.Millisecond)
		require.Equal(t, fmt.Sprint("b ", i), b.next())
	}
	b.planner.mu.Lock()
	hot := time.Until(b.byKey[stubs[1].Keys.Bell].hot)
	b.planner.mu.Unlock()
	require.Greater(t, hot, hotFor/2, "others push into it: it is looked at often")
	require.NoError(t, b.rdb.LPush(t.Context(), stubs[1].Keys.Queue, "hot").Err())
	require.Eventually(t, func() bool {
		require.NoError(t, b.SweepHot(t.Context()))
		return len(b.got) > 0
	}, time.Minute, time.Millisecond)
}

// A key of another type sets its topic aside; those beside it are listened to.
func TestPollerPassesOverAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	for _, delivery := range []store.Delivery{store.AtLeastOnce, store.AtMostOnce} {
		t.Run(string(delivery), func(t *testing.T) {
			t.Parallel()
			b, stubs := setup(t, delivery, "bad", "good")
			key := stubs[0].Keys.Bell
			if delivery == store.AtMostOnce {
				key = stubs[0].Keys.Queue
			}
			require.NoError(t, b.rdb.HSet(t.Context(), key, "a", 1).Err())
			b.run()
			for i := range 50 {
				b.send("good", fmt.Sprint(i))
				require.Equal(t, fmt.Sprint("good ", i), b.next())
			}
			require.Empty(t, b.failed, "that is no failure of Redis")
			require.NoError(t, b.rdb.Del(t.Context(), key).Err())
			b.send("bad", "at last")
			require.Equal(t, "bad at last", b.next())
		})
	}
}

// A claim whose reply was lost has left entries in flight that nobody knows of:
// they are put back, in their order, as if nothing had been.
func TestLostClaimsArePutBack(t *testing.T) {
	t.Parallel()
	b, stubs := setup(t, store.AtLeastOnce, "a")
	k := stubs[0].Keys
	var entries []string
	for i := range 30 {
		entries = append(entries, fmt.Sprint("e", i))
	}
	b.send("a", append(slices.Clone(entries), "behind")...)
	_, err := b.store.Claim(t.Context(), k, "c", 1, 5, 5) // this one was answered
	require.NoError(t, err)
	st := b.byKey[k.Bell]
	for claim := uint64(2); claim < 7; claim++ {
		_, err := b.store.Claim(t.Context(), k, "c", claim, 5, 5)
		require.NoError(t, err)
		b.settle(&order{st: st, most: 5, consumer: "c", claim: claim, err: fmt.Errorf("no answer: %w", errs.Unavailable)}, false)
	}
	require.Len(t, b.failed, 5)
	require.True(t, b.Lost())
	require.NoError(t, b.SearchLost(t.Context()))
	queue, err := b.rdb.LRange(t.Context(), k.Queue, 0, -1).Result()
	require.NoError(t, err)
	slices.Reverse(queue)
	require.ElementsMatch(t, append(slices.Clone(entries[5:]), "behind"), queue)
	require.Equal(t, "behind", queue[len(queue)-1])
	held, err := b.store.Held(t.Context(), k, "c")
	require.NoError(t, err)
	require.Len(t, held, 5)
	for _, r := range held {
		require.True(t, strings.HasPrefix(r, "1-"), "what was answered stays in flight")
	}
	require.True(t, b.Lost(), "the server may carry a lost claim out later still")
	b.planner.mu.Lock()
	for i := range b.planner.lost {
		b.planner.lost[i].since = time.Now().Add(-2 * searchFor)
	}
	b.planner.mu.Unlock()
	require.NoError(t, b.SearchLost(t.Context()))
	require.False(t, b.Lost())
}

// An error that Redis itself replied means that the claim did nothing.
func TestRefusedClaimsAreNotLost(t *testing.T) {
	t.Parallel()
	b, stubs := setup(t, store.AtLeastOnce, "a")
	require.NoError(t, b.rdb.Set(t.Context(), stubs[0].Keys.Queue, "x", 0).Err())
	_, err := b.store.Claim(t.Context(), stubs[0].Keys, "c", 1, 5, 5)
	require.ErrorIs(t, err, errs.WrongType)
	b.settle(&order{st: b.byKey[stubs[0].Keys.Bell], most: 5, consumer: "c", claim: 1, err: err}, false)
	require.False(t, b.Lost())
	require.Empty(t, b.failed)
}

// Where there is room for one event, a topic that has one gets it, whichever other
// topic without any is asked before it.
// All claims of a round fail in one moment, when the connections are cut. That is
// one outage and not one each: all are noted before the link works again.
func TestClaimsThatFailTogetherAreOneOutage(t *testing.T) {
	t.Parallel()
	names := make([]string, 20)
	for i := range names {
		names[i] = fmt.Sprint("t", i)
	}
	b, _ := setup(t, store.AtLeastOnce, names...)
	note := b.cfg.Failed
	b.cfg.Failed = func(err error) {
		b.cfg.Link.Down(err)
		note(err)
	}
	failures := func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.failed)
	}
	resume := b.store.Halt()
	b.run()
	require.Eventually(t, func() bool { return failures() == len(names) }, 10*time.Second, time.Millisecond)
	resume()
	b.cfg.Link.Up()
	b.send("t7", "x")
	require.Equal(t, "t7 x", b.next())
	require.Equal(t, len(names), failures())
}

func TestTopicsWithoutEventsDoNotKeepTheRoom(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c", "d", "e", "f"}
	for _, full := range names {
		b, _ := setup(t, store.AtLeastOnce, names...)
		b.cfg.Size, b.free = 1, 1
		b.send(full, "event")
		b.run()
		began := time.Now()
		require.Equal(t, full+" event", b.next())
		require.Less(t, time.Since(began), blockTimeout/3)
	}
}

// The listener is heard beside a topic that never runs out of events: nothing here
// sweeps.
func TestQuietTopicIsHeardBesideABusyOne(t *testing.T) {
	t.Parallel()
	b, stubs := setup(t, store.AtLeastOnce, "busy", "quiet")
	const many = 200_000
	entries := make([]any, 1000)
	for i := range entries {
		entries[i] = "e"
	}
	for range many / len(entries) {
		require.NoError(t, b.rdb.LPush(t.Context(), stubs[0].Keys.Queue, entries...).Err())
	}
	b.got = make(chan string, many+1)
	b.run()
	require.True(t, strings.HasPrefix(b.next(), "busy"))
	b.send("quiet", "event")
	before := 0
	for !strings.HasPrefix(b.next(), "quiet") {
		before++
	}
	require.Less(t, before, many/2, "it was heard when the other topic had nearly run out")
}

// A changed setting wakes a poller that blocks, so that it listens on what is new
// at once, and not after the block has ended. Nothing here sweeps.
func TestChangedSettingWakesABlockedPoller(t *testing.T) {
	t.Parallel()
	b, stubs := setup(t, store.AtLeastOnce, "old", "new")
	b.Serve([]*Topic{stubs[0].Topic})
	b.run()
	blocked := func() bool {
		clients, err := b.rdb.ClientList(t.Context()).Result()
		return err == nil && strings.Contains(clients, "cmd=blpop")
	}
	require.Eventually(t, blocked, time.Minute, time.Millisecond)
	b.Serve([]*Topic{stubs[0].Topic, stubs[1].Topic})
	require.Eventually(t, func() bool { // it has looked, and found nothing
		b.planner.mu.Lock()
		defer b.planner.mu.Unlock()
		return !b.byKey[stubs[1].Keys.Bell].ready
	}, time.Minute, time.Millisecond)
	began := time.Now()
	b.send("new", "event")
	require.Equal(t, "new event", b.next())
	require.Less(t, time.Since(began), blockTimeout/3)
}
