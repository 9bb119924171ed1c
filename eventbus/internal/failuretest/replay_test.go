package failuretest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/eventbus/internal/record"
	"github.com/seed4933/eventbus/eventbus/internal/wire"
	"github.com/seed4933/eventbus/internal/redistest"
)

const replayerChild = "replayer"

// runReplayer is a process that replays all that is dead.
func runReplayer() {
	bus := childBus(eventbus.Config{})
	fatal(bus.Ready(context.Background()))
	fmt.Println("ready")
	_, err := bus.Failures().Replay(context.Background(), topic, eventbus.FailureFilter{All: true})
	fatal(err)
	<-time.After(time.Hour) // it is killed
}

// bury writes n dead failures, ten in each millisecond, as a consumer would have.
// Every third is of another handler. It returns the ids of their events.
func (w *world) bury(name string, n int, since time.Time) []string {
	w.Helper()
	// One record and one entry for each handler, in which only the number changes:
	// large sets are written quickly.
	const number = "########"
	var records, entries [2][]string
	for i, h := range []string{handler, "other"} {
		meta := record.Failure{Event: "event-" + number, Handler: h, Reason: record.Exhausted, Error: errOnPurpose.Error(), Attempts: 10, FirstAt: since.UnixMilli()}
		entry := wire.Entry{ID: meta.Event, Source: "test", Type: name, Time: since, Data: []byte(`{"n":1}`), Handler: h, Attempt: 10, Failure: "failure-" + number}
		records[i] = strings.Split(string(meta.Marshal()), number)
		entries[i] = strings.Split(string(wire.Append(nil, &entry)), number)
	}
	ids := make([]string, 0, n)
	for len(ids) < n {
		var fields []any
		var index []redis.Z
		for range min(500, n-len(ids)) {
			i, h := len(ids), 0
			if i%3 == 0 {
				h = 1
			}
			this := strconv.Itoa(100_000_000 + i)[1:]
			ids = append(ids, "event-"+this)
			id, died := "failure-"+this, since.UnixMilli()+int64(i/10)
			fields = append(fields, id, strconv.FormatInt(died, 10)+strings.Join(records[h], this), id+"|e", strings.Join(entries[h], this))
			index = append(index, redis.Z{Score: float64(died), Member: id})
		}
		_, err := w.rdb.Pipelined(w.Context(), func(p redis.Pipeliner) error {
			p.HSet(w.Context(), key(name, "failures:default"), fields...)
			p.ZAdd(w.Context(), key(name, "dead:default"), index...)
			return nil
		})
		require.NoError(w, err)
	}
	return ids
}

// waiting lists the ids of the events in a topic's queue.
func (w *world) waiting(name string) []string {
	w.Helper()
	entries, err := w.rdb.LRange(w.Context(), key(name, "queue:default"), 0, -1).Result()
	require.NoError(w, err)
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = wire.Decode([]byte(e), func() string { return "not an envelope" }).ID
	}
	return ids
}

// What fails again during a replay of all is not picked again: the replay ends,
// and each failure runs once more.
func TestReplayOfWhatAlwaysFailsEnds(t *testing.T) {
	t.Parallel()
	const many = 500
	w := setup(t)
	ran := newLedger()
	w.handle(topic, ran.fail, once())
	ids := w.send(topic, many)
	w.eventually("all to be dead", func() bool { return w.stats(topic).Dead == many })
	for again := 1; again <= 3; again++ {
		n, err := w.bus.Failures().Replay(t.Context(), topic, eventbus.FailureFilter{All: true})
		require.NoError(t, err)
		require.EqualValues(t, many, n)
		s := w.idle(topic)
		require.EqualValues(t, many, s.Dead)
		require.Equal(t, (again+1)*many, ran.total())
	}
	var want []string
	for range 4 {
		want = append(want, ids...)
	}
	requireSame(t, want, ran.times())
	w.requireWholeFailures(topic)
}

// A replay that is killed has moved each failure or left it, whatever the moment.
func TestKilledReplaysLoseNothing(t *testing.T) {
	t.Parallel()
	const many, kills = 10_000, 20
	w := setup(t)
	ids := w.bury(topic, many, time.Now().Add(-time.Hour))
	moved := func() int64 {
		n, err := w.rdb.LLen(t.Context(), key(topic, "queue:default")).Result()
		require.NoError(t, err)
		return n
	}
	// The way to the server is long, so that the kills come between the steps too.
	proxy := redistest.NewProxy(t, w.server.Addr())
	proxy.Delay(3 * time.Millisecond)
	for range kills {
		p := redistest.RunSelf(t, replayerChild, "ADDR="+proxy.Addr())
		<-p.Lines()
		enough := moved() + rand.Int64N(400)
		w.eventually("the replay to go on", func() bool { return moved() >= enough })
		p.Kill()
		w.eventually("what it had sent to be carried out", func() bool { return proxy.Connections() == 0 })
	}
	dead := w.failures(topic, eventbus.Dead)
	t.Logf("after %d kills %d of %d are moved", kills, many-len(dead), many)
	require.NotEmpty(t, dead, "the kills came too late to show anything")
	all := w.waiting(topic)
	require.NotEmpty(t, all)
	for _, f := range dead {
		all = append(all, f.EventID)
	}
	requireSame(t, ids, all)
	w.requireWholeFailures(topic)

	n, err := w.bus.Failures().Replay(t.Context(), topic, eventbus.FailureFilter{All: true})
	require.NoError(t, err)
	require.EqualValues(t, len(dead), n)
	ran := newLedger()
	c := w.consumer(eventbus.Config{})
	c.Handle(topic, handler, eventbus.HandleFunc(ran.succeed))
	c.Handle(topic, "other", eventbus.HandleFunc(ran.succeed))
	c.start()
	w.idle(topic)
	requireSame(t, ids, ran.times())
}

// Replays, and a discard, that are under way at once share the failures: none is
// moved twice, and none is both moved and discarded.
func TestReplaysAtOnceDoubleNothing(t *testing.T) {
	t.Parallel()
	const many, atOnce = 5000, 4
	w := setup(t)
	ids := w.bury(topic, many, time.Now().Add(-time.Hour))
	var moved, discarded int64
	var mu sync.Mutex
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range atOnce + 1 {
		bus := w.newBus(eventbus.Config{})
		require.NoError(t, bus.Ready(t.Context()))
		all.Go(func() {
			<-begin
			filter := eventbus.FailureFilter{All: true}
			act, sum := bus.Failures().Replay, &moved
			if i == atOnce {
				filter = eventbus.FailureFilter{Handler: "other"}
				act, sum = bus.Failures().Discard, &discarded
			}
			n, err := act(context.Background(), topic, filter)
			mu.Lock()
			defer mu.Unlock()
			*sum += n
			if err != nil {
				t.Error(err)
			}
		})
	}
	close(begin)
	all.Wait()
	t.Logf("%d replayed, %d discarded", moved, discarded)
	require.EqualValues(t, many, moved+discarded)
	left := w.waiting(topic)
	require.EqualValues(t, moved, len(left))
	seen := map[string]bool{}
	for _, id := range left {
		require.False(t, seen[id], "%s is doubled", id)
		seen[id] = true
	}
	require.Subset(t, ids, left[:min(10, len(left))])
	require.Empty(t, w.failures(topic, eventbus.Dead))
	w.requireWholeFailures(topic)
	s := w.stats(topic)
	require.Equal(t, moved, s.Replayed)
	require.Equal(t, discarded, s.Discarded)
}

// Replays at once, of failures that fail again and again meanwhile: nothing runs
// more often than it was replayed.
func TestReplaysOfWhatFailsMeanwhileCount(t *testing.T) {
	t.Parallel()
	const many, rounds = 300, 5
	w := setup(t)
	ran := newLedger()
	w.handle(topic, ran.fail, once())
	w.send(topic, many)
	w.eventually("all to be dead", func() bool { return w.stats(topic).Dead == many })
	var moved int64
	for range rounds {
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				n, err := w.bus.Failures().Replay(context.Background(), topic, eventbus.FailureFilter{All: true})
				mu.Lock()
				defer mu.Unlock()
				moved += n
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		w.idle(topic)
	}
	require.EqualValues(t, many+moved, ran.total())
	require.EqualValues(t, many, w.stats(topic).Dead)
	w.requireWholeFailures(topic)
}

// The limits of a topic take record and index together, and count what they
// take.
func TestLimitsTrimRecordsToo(t *testing.T) {
	t.Parallel()
	const many, limit = 1000, 100
	w := setup(t)
	w.create("few", eventbus.TopicConfig{DeadLimit: limit})
	w.create("young", eventbus.TopicConfig{DeadAge: time.Hour})
	c := w.consumer(eventbus.Config{})
	for _, name := range []string{"few", "young"} {
		c.Handle(name, handler, eventbus.HandleFunc(func(context.Context, *eventbus.Event) error { return errOnPurpose }), once())
	}
	w.bury("young", many, time.Now().Add(-2*time.Hour))
	w.send("few", many)
	w.send("young", 10)
	c.start()
	w.eventually("all to have failed", func() bool { return w.stats("few").Died == many && w.stats("young").Died == 10 })
	s := w.stats("few")
	require.EqualValues(t, limit, s.Dead)
	require.EqualValues(t, many-limit, s.Dropped)
	w.requireWholeFailures("few")
	w.eventually("the old ones to be dropped", func() bool { return w.stats("young").Dead == 10 })
	require.EqualValues(t, many, w.stats("young").Dropped)
	for _, f := range w.failures("young", eventbus.Dead) {
		require.True(t, strings.HasPrefix(f.EventID, "e") && !strings.HasPrefix(f.EventID, "event-"), f.EventID)
	}
	w.requireWholeFailures("young")
}
