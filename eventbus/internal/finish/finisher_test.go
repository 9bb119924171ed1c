package finish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed4933/eventbus/eventbus/internal/link"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// What ends while a call is under way shares the next one, and an event that ends
// on an idle bus is written at once.
func TestWhatEndsDuringACallSharesTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		redis := &fake{hold: make(chan struct{})}
		b := setup(t, redis)
		b.run(t.Context())
		k := topic("a")
		b.Add(done(k, "r0"))
		synctest.Wait() // the call is under way
		for _, r := range receipts(1, 100) {
			b.Add(done(k, r))
		}
		require.False(t, b.Idle())
		close(redis.hold)
		b.Close()
		require.Zero(t, <-b.left)
		require.True(t, b.Idle())
		calls := redis.all()
		require.Len(t, calls, 2)
		require.Equal(t, receipts(0, 1), calls[0].receipts)
		require.Equal(t, receipts(1, 100), calls[1].receipts)
	})
}

// A call is of one topic and one consumer, and bounded in number and in bytes.
func TestBatchesAreOfOneHolderAndBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keys := []*store.Keys{topic("a"), topic("b")}
		large := make([]byte, 1<<20)
		var items []Item
		for i := range rapid.IntRange(1, 700).Draw(t, "items") {
			it := done(rapid.SampledFrom(keys).Draw(t, "topic"), fmt.Sprint(i))
			it.Consumer = rapid.SampledFrom([]string{"c", "c", "c", "d"}).Draw(t, "consumer")
			if rapid.IntRange(0, 50).Draw(t, "large") == 0 {
				it.Ended.Parts = []store.Part{{Kind: store.Dead, Entry: large}}
			}
			items = append(items, it)
		}
		var order []Item
		for rest := items; len(rest) > 0; {
			var batch []Item
			batch, rest = split(rest)
			require.NotEmpty(t, batch)
			require.LessOrEqual(t, len(batch), maxBatch)
			size := 0
			for _, it := range batch {
				require.Same(t, batch[0].Keys, it.Keys)
				require.Equal(t, batch[0].Consumer, it.Consumer)
				for _, p := range it.Ended.Parts {
					size += len(p.Entry)
				}
			}
			require.LessOrEqual(t, size, maxBatchBytes+2*len(large))
			order = append(order, batch...)
		}
		require.Len(t, order, len(items))
		for _, k := range keys {
			for _, consumer := range []string{"c", "d"} {
				var want, got []string
				mine := func(it Item) bool { return it.Keys == k && it.Consumer == consumer }
				for i := range items {
					if mine(items[i]) {
						want = append(want, items[i].Ended.Receipt)
					}
					if mine(order[i]) {
						got = append(got, order[i].Ended.Receipt)
					}
				}
				require.Equal(t, want, got, "each holder's order stays")
			}
		}
	})
}

// While Redis does not serve, one batch waits with the link; nothing is tried, and
// nothing lost.
func TestAnOutageIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		redis := &fake{}
		down := errors.New("connection refused")
		redis.set(func(*store.Keys, []store.Ended) error { return down })
		b := setup(t, redis)
		b.run(t.Context())
		b.Add(done(topic("a"), "r0"))
		synctest.Wait()
		_, err := b.link.Err()
		require.ErrorIs(t, err, down)
		require.Len(t, redis.all(), 1)
		<-time.After(time.Hour)
		require.Len(t, redis.all(), 1, "whoever keeps the lease tries")
		b.link.Up()
		synctest.Wait()
		require.Len(t, redis.all(), 2)
		redis.set(nil)
		b.link.Up()
		b.Close()
		require.Zero(t, <-b.left)
		require.Equal(t, []string{"r0"}, redis.written())
	})
}

// What Redis refuses to write of one topic is tried again at growing intervals,
// and said once. The other topics, and what is simply done, go on meanwhile.
func TestARefusedTopicHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad, good := topic("bad"), topic("good")
		redis := &fake{}
		redis.set(func(k *store.Keys, ended []store.Ended) error {
			if k.Topic == "bad" && slices.ContainsFunc(ended, func(e store.Ended) bool { return len(e.Parts) > 0 }) {
				return errTopic
			}
			return nil
		})
		b := setup(t, redis)
		b.run(t.Context())
		b.Add(failed(bad, "f0"))
		b.Add(done(bad, "d0"))
		b.Add(failed(good, "g0"))
		synctest.Wait()
		require.ElementsMatch(t, []string{"d0", "g0"}, redis.written())
		require.True(t, b.Idle(), "nothing is under way")
		require.False(t, b.Stuck(bad), "so few are no reason to stop")
		for i := range 100 {
			b.Add(failed(bad, fmt.Sprint("f", i+1)))
			b.Add(failed(good, fmt.Sprint("g", i+1)))
			<-time.After(time.Second)
		}
		tries := 0
		for _, c := range redis.all() {
			if c.err != nil {
				tries++
			}
		}
		require.GreaterOrEqual(t, tries, int(100*time.Second/link.MaxPause), "it is tried again and again")
		require.LessOrEqual(t, tries, 60, "at growing intervals, whatever else fails meanwhile")
		require.Equal(t, 1, b.log.count(), "%q", b.log.said)
		require.Len(t, redis.written(), 102)

		redis.set(nil)
		<-time.After(link.MaxPause)
		synctest.Wait()
		require.Len(t, redis.written(), 203)
		b.Close()
		require.Zero(t, <-b.left)
		// Healed and broken again, it is said again.
		require.Equal(t, 1, b.log.count())
	})
}

func TestStuckTellsWhenTooMuchStandsAside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad, good := topic("bad"), topic("good")
		again := *bad // as read anew, after a change of settings
		redis := &fake{}
		redis.set(func(k *store.Keys, _ []store.Ended) error {
			if k.Topic == "bad" {
				return errTopic
			}
			return nil
		})
		b := setup(t, redis)
		b.run(t.Context())
		for i := range maxStuck {
			require.False(t, b.Stuck(bad))
			b.Add(failed(bad, fmt.Sprint("r", i)))
			synctest.Wait()
		}
		require.True(t, b.Stuck(bad))
		require.True(t, b.Stuck(&again))
		require.False(t, b.Stuck(good))
		redis.set(nil)
		<-time.After(link.MaxPause)
		synctest.Wait()
		require.False(t, b.Stuck(bad))
		b.Close()
		require.Zero(t, <-b.left)
		require.Len(t, redis.written(), maxStuck)
	})
}

// A stop does not wait for ever: what is left when its context ends is counted,
// to be run again elsewhere.
func TestRunCountsWhatItLeaves(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]error{"outage": errors.New("away"), "refused": errTopic} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				redis := &fake{}
				redis.set(func(k *store.Keys, _ []store.Ended) error {
					if k.Topic == "bad" {
						return refuse
					}
					return nil
				})
				b := setup(t, redis)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				b.run(ctx)
				for i := range 10 {
					b.Add(failed(topic("good"), fmt.Sprint("g", i)))
				}
				synctest.Wait()
				for i := range 5 {
					b.Add(failed(topic("bad"), fmt.Sprint("r", i)))
				}
				synctest.Wait()
				b.Add(failed(topic("bad"), "r5"))
				b.Close()
				<-time.After(time.Minute)
				cancel()
				require.Equal(t, 6, <-b.left)
				require.Len(t, redis.written(), 10)
			})
		})
	}
}

// Whoever hears that something was written finds the finisher idle: a poller that
// runs suspects one by one asks at that moment and not again.
func TestWrittenComesOnceItCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		redis := &fake{}
		redis.set(func(k *store.Keys, _ []store.Ended) error {
			if k.Topic == "bad" {
				return errTopic
			}
			return nil
		})
		b := setup(t, redis)
		var told atomic.Int64
		b.cfg.Written = func([]Item) {
			require.True(t, b.Idle())
			told.Add(1)
		}
		b.run(t.Context())
		for i, k := range []*store.Keys{topic("good"), topic("bad"), topic("good")} {
			b.Add(failed(k, fmt.Sprint("r", i)))
			<-time.After(gatherFor)
			synctest.Wait()
			require.EqualValues(t, i+1, told.Load())
		}
		redis.set(nil)
		b.Close()
		require.Zero(t, <-b.left)
	})
}

// While Redis takes nothing, Add takes so many and then blocks: memory is bounded,
// and the slots of the handlers fill up.
func TestAddBlocksWhileTooMuchIsPending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		redis := &fake{hold: make(chan struct{})}
		b := setup(t, redis)
		b.run(t.Context())
		k := topic("a")
		const many = 3 * maxPending
		added := 0
		go func() {
			for i := range many {
				b.Add(done(k, fmt.Sprint(i)))
				added++
			}
			b.Close()
		}()
		synctest.Wait()
		require.LessOrEqual(t, added, 2*maxPending)
		require.GreaterOrEqual(t, added, maxPending)
		close(redis.hold)
		require.Zero(t, <-b.left)
		require.Equal(t, many, len(redis.written()))
	})
}

// Once Run has ended nobody writes any more, and Add must not wait for that.
func TestAddAfterTheEndDoesNotBlock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		redis := &fake{}
		redis.set(func(*store.Keys, []store.Ended) error { return errors.New("away") })
		b := setup(t, redis)
		ctx, cancel := context.WithCancel(t.Context())
		b.run(ctx)
		cancel()
		<-b.left
		for i := range 2 * maxPending {
			b.Add(done(topic("a"), fmt.Sprint(i)))
		}
	})
}

// Whatever Redis refuses and when: what was added is written exactly once, or
// counted as left.
func TestEachEventIsWrittenOnceOrLeft(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		keys := []*store.Keys{topic("a"), topic("b"), topic("c")}
		steps := rapid.SliceOfN(rapid.IntRange(0, 11), 1, 80).Draw(rt, "steps")
		closes := rapid.Bool().Draw(rt, "close")
		synctest.Test(t, func(t *testing.T) {
			redis := &fake{}
			var mu sync.Mutex
			bad := map[string]error{} // by topic; "" is Redis itself
			set := func(name string, err error) {
				mu.Lock()
				defer mu.Unlock()
				bad[name] = err
			}
			redis.set(func(k *store.Keys, _ []store.Ended) error {
				mu.Lock()
				defer mu.Unlock()
				return cmp.Or(bad[""], bad[k.Topic])
			})
			b := setup(t, redis)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b.run(ctx)
			added := 0
			for _, step := range steps {
				switch k := keys[step%3]; step / 3 {
				case 0, 1:
					add := done
					if step/3 == 1 {
						add = failed
					}
					b.Add(add(k, fmt.Sprint(added)))
					added++
				case 2: // a topic breaks or is healed
					mu.Lock()
					broken := bad[k.Topic] != nil
					mu.Unlock()
					if broken {
						set(k.Topic, nil)
					} else {
						set(k.Topic, errTopic)
					}
				default: // Redis goes away or comes back, time passes
					switch step % 3 {
					case 0:
						set("", errors.New("away"))
					case 1:
						set("", nil)
						b.link.Up()
					default:
						<-time.After(link.MaxPause)
					}
				}
			}
			synctest.Wait()
			if closes {
				for _, name := range []string{"", "a", "b", "c"} {
					set(name, nil)
				}
				b.link.Up()
				b.Close()
				require.Zero(t, <-b.left)
				require.Len(t, redis.written(), added)
			} else {
				cancel()
				require.Equal(t, added-len(redis.written()), <-b.left)
			}
			got := redis.written()
			slices.Sort(got)
			require.Len(t, slices.Compact(got), len(got), "an event was written twice: %s", strings.Join(got, " "))
		})
	})
}
