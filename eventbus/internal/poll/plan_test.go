package poll

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/link"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// handMoved is a topic that a test moves by hand.
type handMoved struct {
	*Topic
	room    int
	blocked time.Duration // 0: not
}

func newHandMoved(name string) *handMoved {
	s := &handMoved{room: 1 << 20}
	s.Topic = &Topic{
		Keys:    &store.Keys{Topic: name, Bell: "bell:" + name, Queue: "queue:" + name, Returns: "queue:" + name},
		Room:    func() int { return s.room },
		Blocked: func() (bool, time.Duration) { return s.blocked > 0, s.blocked },
		Accept:  func(Batch, bool) bool { return false },
	}
	return s
}

// planner is a poller whose pool is the field free.
type planner struct {
	*Poller
	free int
	idle bool
}

func newPlanner(stubs ...*handMoved) *planner {
	p := &planner{free: 64}
	quiet := slog.New(slog.DiscardHandler)
	p.Poller = New(Config{
		Link: link.New(quiet), Log: quiet, Size: 64,
		Consumer: func() string { return "c" }, Valid: func() bool { return true },
		Free: func() int { return p.free }, Idle: func() bool { return p.idle },
		Failed: func(error) {}, Revision: func(string, int64) {},
	})
	topics := make([]*Topic, len(stubs))
	for i, s := range stubs {
		topics[i] = s.Topic
	}
	p.Serve(topics)
	return p
}

// settle acts on the reply to a claim that was asked for by nobody.
func (p *Poller) settle(o *order, alone bool) {
	o.round = &round{alone: alone}
	if p.note(o) {
		p.accept(o)
	}
}

// A round never claims more than the pool has room for, nor more of a topic than
// it may run; where a slot is left, nobody who is ready goes without one for
// long, whoever comes first.
func TestPlanIsFairAndBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var stubs []*handMoved
		for i := range rapid.IntRange(1, 12).Draw(t, "topics") {
			s := newHandMoved(fmt.Sprint("t", i))
			s.room = rapid.SampledFrom([]int{0, 1, 5, 1 << 20}).Draw(t, "room")
			s.AtMostOnce = rapid.Bool().Draw(t, "at most once")
			if rapid.IntRange(0, 4).Draw(t, "blocked") == 0 {
				s.blocked = time.Second
			}
			stubs = append(stubs, s)
		}
		p := newPlanner(stubs...)
		p.free = rapid.IntRange(0, 1500).Draw(t, "free")
		served := map[string]int{}
		claims := map[uint64]bool{}
		for range len(stubs) {
			orders, alone := p.plan()
			require.False(t, alone)
			sum := 0
			once := map[string]bool{}
			for _, o := range orders {
				name := o.st.Keys.Topic
				require.False(t, once[name], "one claim of a topic in a round")
				once[name] = true
				require.False(t, claims[o.claim], "claims have numbers of their own")
				claims[o.claim] = true
				require.Positive(t, o.most)
				require.LessOrEqual(t, o.most, min(o.st.Room(), maxClaim))
				if o.st.AtMostOnce {
					require.LessOrEqual(t, o.most, maxTake)
				}
				sum += o.most
				served[name]++
			}
			require.LessOrEqual(t, sum, p.free)
		}
		for _, s := range stubs {
			if may := s.room > 0 && s.blocked == 0 && p.free > 0; may {
				require.Positive(t, served[s.Keys.Topic], "topic %s starves", s.Keys.Topic)
			} else {
				require.Zero(t, served[s.Keys.Topic])
			}
		}
	})
}

// One topic alone gets all the room there is; several share it.
func TestPlanSharesTheRoom(t *testing.T) {
	t.Parallel()
	a, b := newHandMoved("a"), newHandMoved("b")
	p := newPlanner(a)
	orders, _ := p.plan()
	require.Len(t, orders, 1)
	require.Equal(t, 64, orders[0].most)

	p = newPlanner(a, b)
	orders, _ = p.plan()
	require.Equal(t, []int{32, 32}, []int{orders[0].most, orders[1].most})
	b.room = 3
	orders, _ = p.plan()
	sum := 0
	for _, o := range orders {
		sum += o.most
	}
	require.GreaterOrEqual(t, sum, 32+3)
}

// A suspect runs while nothing else is in flight, and everybody else waits for
// that; but not for a topic that may not run anything itself.
func TestSuspectsRunAlone(t *testing.T) {
	t.Parallel()
	a, b := newHandMoved("a"), newHandMoved("b")
	p := newPlanner(a, b)
	st := p.byKey["bell:a"]
	settle := func(suspects, alone bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.afterAccept(st, suspects, alone)
	}
	settle(true, false)
	orders, alone := p.plan()
	require.True(t, alone)
	require.Empty(t, orders, "something is still in flight")
	p.idle = true
	orders, alone = p.plan()
	require.True(t, alone)
	require.Len(t, orders, 1)
	require.Equal(t, "a", orders[0].st.Keys.Topic)
	require.Equal(t, 1, orders[0].most)

	settle(true, true) // it was one
	_, alone = p.plan()
	require.True(t, alone, "the next may be one too")
	a.room = 0
	orders, alone = p.plan()
	require.False(t, alone)
	require.Len(t, orders, 1)
	require.Equal(t, "b", orders[0].st.Keys.Topic)

	a.room = 10
	settle(true, false)
	settle(false, true) // the last was none
	orders, alone = p.plan()
	require.False(t, alone)
	require.Len(t, orders, 2)

	settle(true, false)
	p.Serve([]*Topic{b.Topic}) // a was switched off
	orders, alone = p.plan()
	require.False(t, alone)
	require.Len(t, orders, 1)
}

// A handler that runs on and on beside a suspect holds up neither it nor the others
// for ever.
func TestSuspectDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := newHandMoved("a"), newHandMoved("b")
		p := newPlanner(a, b)
		p.afterAccept(p.byKey["bell:a"], true, false)
		<-time.After(soloPatience - time.Millisecond)
		orders, alone := p.plan()
		require.True(t, alone)
		require.Empty(t, orders)
		<-time.After(time.Millisecond)
		for range 2 { // not two at once
			orders, alone = p.plan()
			require.True(t, alone)
			require.Len(t, orders, 1)
			require.Equal(t, "a", orders[0].st.Keys.Topic)
			orders, _ = p.plan()
			require.Empty(t, orders)
			p.afterAccept(p.byKey["bell:a"], true, true)
			<-time.After(soloPatience)
		}
	})
}

// A topic whose claims bring a little each time is claimed from at intervals, and
// listened on again once it brings nothing.
func TestEventsThatFlowAreGathered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newHandMoved("a")
		p := newPlanner(a)
		st := p.byKey["bell:a"]
		claim := func(brings int) {
			orders, _ := p.plan()
			require.Len(t, orders, 1)
			orders[0].got.Entries = make([][]byte, brings)
			p.settle(orders[0], false)
		}
		listened := func() bool { keys, _ := p.wanted(); return len(keys) == 1 }
		claim(3)
		require.True(t, listened(), "one claim is no flow")
		<-time.After(flowGap)
		st.ready = true // rung
		claim(3)
		require.True(t, listened(), "too far apart")
		for range 3 {
			st.ready = true
			claim(3)
			require.False(t, listened())
			orders, _ := p.plan()
			require.Empty(t, orders, "more is to come together")
			require.Equal(t, flowPause, p.again)
			<-time.After(flowPause)
		}
		claim(0)
		require.True(t, listened())
		<-time.After(flowGap)
		st.ready = true
		claim(64) // all that was asked for
		orders, _ := p.plan()
		require.Len(t, orders, 1, "more is there already")
	})
}

// Where there is room for one event at a time, the topics that have any take turns,
// however many others lie between them, and however often the loop looks at what to
// listen on.
func TestTopicsTakeTurns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var stubs []*handMoved
		for i := range rapid.IntRange(2, 9).Draw(t, "topics") {
			stubs = append(stubs, newHandMoved(fmt.Sprint("t", i)))
		}
		p := newPlanner(stubs...)
		p.free = 1
		var busy []string
		for _, s := range stubs {
			p.byKey[s.Keys.Bell].ready = rapid.Bool().Draw(t, "busy")
			if p.byKey[s.Keys.Bell].ready {
				busy = append(busy, s.Keys.Topic)
			}
		}
		if len(busy) == 0 {
			return
		}
		looks := rapid.IntRange(0, 4).Draw(t, "looks")
		turns := map[string]int{}
		const each = 5
		for range each * len(busy) {
			for range looks {
				p.wanted()
			}
			orders, _ := p.plan()
			require.Len(t, orders, 1)
			turns[orders[0].st.Keys.Topic]++
		}
		for _, topic := range busy {
			require.Equal(t, each, turns[topic])
		}
	})
}

// A full pool waits for a slot, whatever an earlier look had to wait for.
func TestFullPoolDoesNotSpin(t *testing.T) {
	t.Parallel()
	a := newHandMoved("a")
	p := newPlanner(a)
	p.byKey["bell:a"].after = time.Now().Add(time.Hour)
	require.Positive(t, p.launch())
	p.free = 0
	require.Zero(t, p.launch())
	p.free = 64
	p.Serve(nil)
	require.Zero(t, p.launch())
}

// What is heard while a claim is under way may have come after the claim, whose
// reply must not hide it: the token is gone.
func TestWhatIsHeardBesideAClaimCounts(t *testing.T) {
	t.Parallel()
	a := newHandMoved("a")
	p := newPlanner(a)
	st := p.byKey["bell:a"]
	for _, heardMeanwhile := range []bool{true, false} {
		st.ready = true
		orders, _ := p.plan()
		if heardMeanwhile {
			p.hear(t.Context(), heard{key: "bell:a", asked: []key{{st: st, name: "bell:a"}}})
		}
		p.settle(orders[0], false)
		require.Equal(t, heardMeanwhile, st.ready)
	}
}

// The suspect of an at_most_once topic, whose entries the listener pops, runs
// alone too.
func TestSuspectThatWasPoppedRunsAlone(t *testing.T) {
	t.Parallel()
	a, b := newHandMoved("a"), newHandMoved("b")
	a.AtMostOnce = true
	a.Accept = func(b Batch, alone bool) bool {
		require.Equal(t, []string{""}, b.Receipts())
		return !alone
	}
	p := newPlanner(a, b)
	st := p.byKey["queue:a"]
	p.hear(t.Context(), heard{key: "queue:a", element: []byte("e"), asked: []key{{st: st, name: "queue:a", strict: true}}})
	_, alone := p.plan()
	require.True(t, alone)
}

// What the poller listens on: the bells of quiet topics, the lists themselves of
// at_most_once ones that have room, and nothing of those that are ready, blocked
// or set aside.
func TestWantedKeys(t *testing.T) {
	t.Parallel()
	quiet, ready, popped, full, blocked, aside, shared := newHandMoved("quiet"), newHandMoved("ready"), newHandMoved("popped"), newHandMoved("full"), newHandMoved("blocked"), newHandMoved("aside"), newHandMoved("shared")
	popped.AtMostOnce, full.AtMostOnce, shared.AtMostOnce = true, true, true
	full.room = 0
	blocked.blocked = 3 * time.Second
	shared.Keys.Returns = "returns:shared"
	p := newPlanner(quiet, ready, popped, full, blocked, aside, shared)
	for _, st := range p.topics {
		st.ready = st.Keys.Topic == "ready"
		if st.Keys.Topic == "aside" {
			st.aside = time.Now().Add(2 * time.Second)
		}
	}
	firsts := map[string]bool{}
	for range 20 {
		keys, delay := p.wanted()
		strict := map[string]bool{}
		for _, k := range keys {
			strict[k.name] = k.strict
		}
		require.Equal(t, map[string]bool{"bell:quiet": false, "queue:popped": true, "queue:shared": true, "returns:shared": true}, strict)
		require.LessOrEqual(t, delay, 2*time.Second, "what is set aside is looked at again")
		require.Positive(t, delay)
		firsts[keys[0].name] = true
	}
	require.Len(t, firsts, 3, "each comes first now and then")
}

func TestACallCoversWhatItAsksFor(t *testing.T) {
	t.Parallel()
	e := &ear{asked: map[string]bool{"bell:a": false, "bell:b": false, "queue:c": true}}
	list := func(names ...string) (keys []key) {
		for _, name := range names {
			keys = append(keys, key{name: name})
		}
		return keys
	}
	require.True(t, e.covers(list("bell:a", "bell:b", "queue:c")))
	require.True(t, e.covers(list("queue:c")), "a token too many does no harm")
	require.False(t, e.covers(list("bell:a", "bell:b")), "an event of a topic that is not wanted would be lost")
	require.False(t, e.covers(list("queue:c", "bell:new")))
}

// An error of one topic sets it aside, and is logged once, until events show that
// all is well.
func TestSetAsideIsLoggedOnce(t *testing.T) {
	t.Parallel()
	a := newHandMoved("a")
	lines := 0
	p := newPlanner(a)
	p.cfg.Log = slog.New(countHandler{&lines})
	st := p.byKey["bell:a"]
	broken := fmt.Errorf("a topic of its own: %w", errs.TopicDeleting)
	settle := func(o *order) {
		o.st, o.most = st, 10
		p.settle(o, false)
	}
	for range 5 {
		settle(&order{err: broken})
		require.Greater(t, time.Until(st.aside), asideFor/2)
		orders, _ := p.plan()
		require.Empty(t, orders)
		settle(&order{}) // the queue is empty: that shows nothing
		p.Serve([]*Topic{a.Topic})
		st = p.byKey["bell:a"]
	}
	require.Equal(t, 1, lines)
	settle(&order{got: store.Claimed{Entries: [][]byte{{}}}})
	settle(&order{err: broken})
	require.Equal(t, 2, lines)
}

// What one round has asked for is kept for it: the next round, which may be under
// way beside it, claims no more than what is left of the room, of the pool and of
// the topic.
func TestRoundsUnderWayKeepTheirRoom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := newHandMoved("a"), newHandMoved("b")
		a.room = rapid.IntRange(1, 60).Draw(t, "room of a")
		b.room = rapid.IntRange(1, 60).Draw(t, "room of b")
		p := newPlanner(a, b)
		p.free = rapid.IntRange(1, 100).Draw(t, "free")
		sum, of := 0, map[string]int{}
		for range maxRounds {
			orders, _ := p.plan()
			for _, o := range orders {
				sum += o.most
				of[o.st.Keys.Topic] += o.most
				p.reserve(o.st, o.most)
			}
			require.LessOrEqual(t, sum, p.free, "more than the pool has room for")
			require.LessOrEqual(t, of["a"], a.room, "more than the topic has room for")
			require.LessOrEqual(t, of["b"], b.room, "more than the topic has room for")
		}
		require.Equal(t, min(p.free, a.room+b.room), sum, "room is left")
	})
}
