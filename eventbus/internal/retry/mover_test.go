package retry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/link"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

const batch = 200 // of one call

// fakeStore keeps retry sets in memory, by the clock of the test's bubble.
type fakeStore struct {
	mu    sync.Mutex
	due   map[string][]time.Time // by retry key, sorted
	moved map[string][]time.Time // when each was moved
	calls int                    // of both methods
	fail  map[string]error       // by retry key; what MoveDue returns
}

func newFakeStore() *fakeStore {
	return &fakeStore{due: map[string][]time.Time{}, moved: map[string][]time.Time{}, fail: map[string]error{}}
}

func (s *fakeStore) add(k *store.Keys, after ...time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range after {
		s.due[k.Retry] = append(s.due[k.Retry], time.Now().Add(d))
	}
	slices.SortFunc(s.due[k.Retry], time.Time.Compare)
}

func (s *fakeStore) MoveDue(_ context.Context, k *store.Keys) (moved int, next time.Duration, orphans []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if err := s.fail[k.Retry]; err != nil {
		return 0, 0, nil, err
	}
	due := s.due[k.Retry]
	for moved < len(due) && moved < batch && !due[moved].After(time.Now()) {
		moved++
		s.moved[k.Retry] = append(s.moved[k.Retry], time.Now())
	}
	s.due[k.Retry] = due[moved:]
	if moved == len(due) {
		return moved, -1, nil, nil
	}
	return moved, max(0, time.Until(due[moved])), nil, nil
}

func (s *fakeStore) AnyExists(_ context.Context, keys []string) (n int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	for _, key := range keys {
		if len(s.due[key]) > 0 {
			n++
		}
	}
	return n, nil
}

func (s *fakeStore) setFail(k *store.Keys, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail[k.Retry] = err
}

// times are the times of the moves of a topic, after the beginning.
func (s *fakeStore) times(k *store.Keys, began time.Time) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []time.Duration
	for _, at := range s.moved[k.Retry] {
		list = append(list, at.Sub(began))
	}
	return list
}

func (s *fakeStore) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func topic(name string) *store.Keys {
	return &store.Keys{Topic: name, Group: "g", Retry: "retry:" + name}
}

// world is a mover that runs, beside a sweep each second, in a bubble.
type world struct {
	*Mover
	fake  *fakeStore
	link  *link.Link
	log   *lines
	began time.Time
}

// lines counts the lines of a log.
type lines struct{ n atomic.Int64 }

func (l *lines) Write(b []byte) (int, error) {
	l.n.Add(1)
	return len(b), nil
}

func newWorld(t *testing.T) *world {
	w := &world{fake: newFakeStore(), log: &lines{}, began: time.Now()}
	log := slog.New(slog.NewTextHandler(w.log, nil))
	w.link = link.New(log)
	w.Mover = NewMover(w.fake, w.link, log)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { w.Run(ctx) })
	all.Go(func() {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				_ = w.Sweep(ctx)
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
	return w
}

// pass lets the bubble's clock go on.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// record is a failure that this process has written.
func (w *world) record(k *store.Keys, after time.Duration) {
	w.fake.add(k, after)
	w.Note(k, after)
}

func TestMoverMovesWhenDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, k := newWorld(t), topic("orders")
		w.Serve([]*store.Keys{k})
		// Each as it is due, whatever was recorded before it.
		for _, s := range []time.Duration{60, 2, 1} {
			w.record(k, s*time.Second)
		}
		pass(2 * time.Minute)
		require.Equal(t, []time.Duration{time.Second, 2 * time.Second, time.Minute}, w.fake.times(k, w.began))
	})
}

func TestMoverMovesAtOnceWhatIsOverdueAtStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, k := newWorld(t), topic("orders")
		w.fake.add(k, -time.Hour, -time.Minute, 10*time.Second)
		w.Serve([]*store.Keys{k})
		pass(time.Minute)
		require.Equal(t, []time.Duration{0, 0, 10 * time.Second}, w.fake.times(k, w.began))
	})
}

func TestMoverMovesMoreThanOneBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, k := newWorld(t), topic("orders")
		w.Serve([]*store.Keys{k})
		w.fake.add(k, slices.Repeat([]time.Duration{5 * time.Second}, 8000)...)
		w.Note(k, 5*time.Second)
		pass(5 * time.Second)
		require.Len(t, w.fake.times(k, w.began), 8000)
		require.Less(t, w.fake.count(), 8000/batch+20)
	})
}

// What other processes record, and leave behind when they end, is late by one
// sweep at most: also where this one waits for something later in the same topic
// or in another one.
func TestMoverFindsWhatOthersLeaveBehind(t *testing.T) {
	t.Parallel()
	for name, knows := range map[string][]string{
		"and knows nothing":           nil,
		"and waits in the same topic": {"orders"},
		"and waits in another topic":  {"mail"},
		"and waits in both":           {"orders", "mail"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				topics := map[string]*store.Keys{"orders": topic("orders"), "mail": topic("mail")}
				w.Serve([]*store.Keys{topics["orders"], topics["mail"]})
				for _, known := range knows {
					w.record(topics[known], time.Hour)
				}
				pass(10 * time.Second)
				w.fake.add(topics["orders"], 3*time.Second)
				pass(5 * time.Second)
				got := w.fake.times(topics["orders"], w.began)
				require.Len(t, got, 1)
				require.GreaterOrEqual(t, got[0], 13*time.Second)
				require.LessOrEqual(t, got[0], 14*time.Second)
			})
		})
	}
}

// Somebody empties a set that the mover knows of, for instance by a replay, and
// something is left behind in another one.
func TestMoverIsNotMisledByASetThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, gone, other := newWorld(t), topic("gone"), topic("other")
		w.Serve([]*store.Keys{gone, other})
		w.record(gone, time.Hour)
		pass(time.Second)
		w.fake.mu.Lock()
		delete(w.fake.due, gone.Retry)
		w.fake.mu.Unlock()
		w.fake.add(other, 0)
		pass(2 * time.Second)
		require.Len(t, w.fake.times(other, w.began), 1)
	})
}

// While nothing is to be retried, a sweep is one call, whatever the number of
// topics; while something is, it stays bounded.
func TestMoverSweepsCheaply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		topics := make([]*store.Keys, 1000)
		for i := range topics {
			topics[i] = topic(fmt.Sprint(i))
		}
		w.Serve(topics)
		pass(10 * time.Second)
		before := w.fake.count()
		pass(100 * time.Second)
		require.LessOrEqual(t, w.fake.count()-before, 101)

		w.record(topics[0], time.Hour)
		before = w.fake.count()
		pass(100 * time.Second)
		require.LessOrEqual(t, w.fake.count()-before, 100*(sweepLooks+2))

		// And it comes round.
		w.fake.add(topics[999], 0)
		pass(1000/sweepLooks*time.Second + 2*time.Second)
		require.Len(t, w.fake.times(topics[999], w.began), 1)
	})
}

func TestMoverWithoutTopicsIsQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, k := newWorld(t), topic("orders")
		w.record(k, 0) // not served: it is not this process's
		pass(time.Minute)
		require.Zero(t, w.fake.count())

		w.Serve([]*store.Keys{k})
		pass(time.Second)
		require.Len(t, w.fake.times(k, w.began), 1)
		w.Serve(nil)
		w.record(k, 0)
		before := w.fake.count()
		pass(time.Minute)
		require.Equal(t, before, w.fake.count())
	})
}

func TestMoverLooksAtAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, a, b := newWorld(t), topic("a"), topic("b")
		w.Serve([]*store.Keys{a, b})
		w.record(a, time.Hour)
		pass(100 * time.Millisecond)
		w.fake.add(a, 0)
		w.fake.add(b, 0)
		w.LookAll()
		pass(time.Millisecond)
		require.Len(t, w.fake.times(a, w.began), 1)
		require.Len(t, w.fake.times(b, w.began), 1)
	})
}

func TestMoverLeavesAnErrorOfATopicToThatTopic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, bad, good := newWorld(t), topic("bad"), topic("good")
		w.fake.setFail(bad, fmt.Errorf("move: %w", errs.GroupNotFound))
		w.Serve([]*store.Keys{bad, good})
		w.record(bad, time.Second)
		w.record(good, time.Second)
		pass(time.Second)
		require.Equal(t, []time.Duration{time.Second}, w.fake.times(good, w.began))
		_, err := w.link.Err()
		require.NoError(t, err, "the link works")
		before := w.fake.count()
		pass(100 * time.Second)
		require.Less(t, w.fake.count()-before, 250, "and it is no hot loop")
		require.EqualValues(t, 1, w.log.n.Load(), "nor a flood in the log")

		w.fake.setFail(bad, nil)
		pass(2 * afterTopicError)
		require.Len(t, w.fake.times(bad, w.began), 1)
	})
}

func TestMoverWaitsWhileRedisDoesNotServe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, k := newWorld(t), topic("orders")
		w.Serve([]*store.Keys{k})
		pass(time.Second)
		w.fake.setFail(k, errors.New("connection refused"))
		w.record(k, time.Second)
		pass(time.Second)
		_, err := w.link.Err()
		require.Error(t, err, "others are told")
		require.NotEmpty(t, w.link.Probes())
		pass(time.Minute)
		require.Empty(t, w.fake.times(k, w.began))

		w.fake.setFail(k, nil)
		w.link.Up()
		pass(time.Millisecond)
		require.Len(t, w.fake.times(k, w.began), 1)
	})
}

// Whatever is recorded, by this process or others, is moved once, never before it
// is due, and late by no more than a sweep; what this process records itself is
// not late at all.
func TestMoverIsPunctual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		type failure struct {
			topic  int
			at     time.Duration // recorded
			after  time.Duration // due
			others bool
		}
		failures := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) failure {
			return failure{
				topic:  rapid.IntRange(0, 3).Draw(t, "topic"),
				at:     time.Duration(rapid.IntRange(0, 20_000).Draw(t, "at")) * time.Millisecond,
				after:  time.Duration(rapid.IntRange(-10, 30_000).Draw(t, "after")) * time.Millisecond,
				others: rapid.Bool().Draw(t, "others"),
			}
		}), 1, 30).Draw(rt, "failures")
		slices.SortStableFunc(failures, func(a, b failure) int { return int(a.at - b.at) })
		var late []string
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			topics := make([]*store.Keys, 4)
			for i := range topics {
				topics[i] = topic(fmt.Sprint(i))
			}
			w.Serve(topics)
			for _, f := range failures {
				if wait := f.at - time.Since(w.began); wait > 0 {
					pass(wait)
				}
				if f.others {
					w.fake.add(topics[f.topic], f.after)
				} else {
					w.record(topics[f.topic], f.after)
				}
			}
			pass(time.Minute)
			for i, k := range topics {
				var want []failure
				for _, f := range failures {
					if f.topic == i {
						want = append(want, f)
					}
				}
				slices.SortStableFunc(want, func(a, b failure) int { return int(max(a.at, a.at+a.after) - max(b.at, b.at+b.after)) })
				got := w.fake.times(k, w.began)
				if len(got) != len(want) {
					late = append(late, fmt.Sprintf("topic %d: %d of %d were moved", i, len(got), len(want)))
					continue
				}
				for j, f := range want {
					due, slack := max(f.at, f.at+f.after), time.Duration(0)
					if f.others {
						slack = time.Second
					}
					if got[j] < due || got[j] > due+slack {
						late = append(late, fmt.Sprintf("topic %d: due %v, moved %v, of others %v", i, due, got[j], f.others))
					}
				}
			}
		})
		require.Empty(rt, late)
	})
}
