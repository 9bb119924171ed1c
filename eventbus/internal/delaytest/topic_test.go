package delaytest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// Members that are none of Redisson's lie among good ones: they are set aside once,
// the log says so once, and the good ones come once and on time.
func TestUnreadableMembersStopNobody(t *testing.T) {
	t.Parallel()
	w := setup(t, redistest.Options{})
	log := &journal{}
	w.consume(w.server.Options(), eventbus.Config{Logger: log.logger()})
	w.consume(w.server.Options(), eventbus.Config{})
	due := w.now().Add(time.Second)
	var ids, junk []string
	for i := range 40 {
		at := due.Add(time.Duration(i) * 25 * time.Millisecond).Truncate(time.Millisecond)
		ids = append(ids, w.at(at, 5)...)
		member := fmt.Sprintf("junk %d\x00\xff%s", i, strings.Repeat("x", i*i))
		junk = append(junk, member)
		require.NoError(t, w.server.Admin().ZAdd(t.Context(), delayedSet(), redis.Z{Score: float64(at.UnixMilli()), Member: member}).Err())
	}
	w.awaitAll(t, ids, patience)
	w.awaitIdle()
	w.requireOnce(t, ids)
	require.Less(t, w.worst(), sweep+slack)
	u, err := w.sender.Delayed().Unreadable(t.Context(), topic, 1000)
	require.NoError(t, err)
	require.EqualValues(t, len(junk), u.Total)
	var members []string
	for _, m := range u.Members {
		members = append(members, string(m))
	}
	require.ElementsMatch(t, junk, members)
	require.LessOrEqual(t, len(log.with("cannot be read")), 1)
}

// Thousands are cancelled while several processes hand them out: each is either
// cancelled or delivered.
func TestCancelRacesWithTheHandingOut(t *testing.T) {
	t.Parallel()
	const blocks, each, hands = 30, 100, 4
	w := setup(t, redistest.Options{})
	crew := []*process{w.start(workerChild), w.start(workerChild)}
	for _, p := range crew {
		p.awaitReady(t)
	}
	w.consume(w.server.Options(), eventbus.Config{})
	var ids []string
	cancelled := make([]bool, blocks*each)
	for block := range blocks {
		due := w.now().Add(150 * time.Millisecond)
		ids = append(ids, w.at(due, each)...)
		until(t, due.Add(-rand.N(30*time.Millisecond))) // just before they are due
		var cancelling sync.WaitGroup
		for hand := range hands {
			cancelling.Go(func() {
				for i := block*each + hand; i < (block+1)*each; i += hands {
					groups, err := w.sender.Delayed().Cancel(context.Background(), topic, ids[i])
					if err != nil && !errors.Is(err, eventbus.ErrNotDelayed) {
						t.Errorf("cancel %s: %v", ids[i], err)
					}
					cancelled[i] = len(groups) > 0
				}
			})
		}
		cancelling.Wait()
	}
	w.awaitIdle()
	var left []string
	for i, id := range ids {
		if !cancelled[i] {
			left = append(left, id)
		}
	}
	w.awaitAll(t, left, patience)
	for _, p := range crew {
		p.terminate(t)
	}
	t.Logf("%d cancelled, %d delivered", len(ids)-len(left), len(left))
	require.NotEmpty(t, left, "none was delivered; the test shows nothing")
	require.Less(t, len(left), len(ids), "none was cancelled; the test shows nothing")
	w.requireOnce(t, left)
}

// A topic is off while its events become due: none comes, all are kept, and they come
// when it is on again.
func TestDueEventsOfADisabledTopicWait(t *testing.T) {
	t.Parallel()
	w := setup(t, redistest.Options{})
	w.consume(w.server.Options(), eventbus.Config{})
	due := w.now().Add(time.Second)
	ids := w.at(due, 1000)
	for range 3 {
		require.NoError(t, w.sender.Topics().Disable(t.Context(), topic))
		until(t, due)
		require.Zero(t, w.count())
		_, err := w.sender.Send(t.Context(), topic, 1, eventbus.WithDelay(time.Second))
		require.ErrorIs(t, err, eventbus.ErrTopicDisabled)
		until(t, due.Add(300*time.Millisecond))
		require.Zero(t, w.count())
		require.EqualValues(t, 1000, w.stats().Delayed)
		due = due.Add(500 * time.Millisecond)
	}
	require.NoError(t, w.sender.Topics().Enable(t.Context(), topic))
	w.awaitAll(t, ids, sweep+slack)
	w.awaitIdle()
	w.requireOnce(t, ids)
}

// A topic, and a group, are removed while events of theirs are delayed and a consumer
// runs: nothing is left, and nothing comes back when they would have been due.
func TestRemovalTakesDelayedEventsAlong(t *testing.T) {
	t.Parallel()
	w := setup(t, redistest.Options{})
	other := w.twoGroups()
	w.consume(w.server.Options(), eventbus.Config{})
	w.run(w.server.Options(), eventbus.Config{Group: "other"}, other)
	keys := func(pattern string) []string {
		found, err := w.server.Admin().Keys(t.Context(), pattern).Result()
		require.NoError(t, err)
		return found
	}
	due := w.now().Add(1500 * time.Millisecond)
	ids := w.at(due, 300)
	require.NoError(t, w.server.Admin().ZAdd(t.Context(), delayedSet(), redis.Z{Score: 1, Member: "junk"}).Err())
	require.NoError(t, w.sender.Topics().RemoveGroup(t.Context(), topic, "other"))
	require.Empty(t, keys("*other*"))
	w.awaitAll(t, ids, patience)
	require.Zero(t, other.count())

	due = w.now().Add(1500 * time.Millisecond)
	w.at(due, 300)
	require.NoError(t, w.sender.Topics().Delete(t.Context(), topic))
	gone := func() []string { return keys("*{" + topic + "}*") }
	require.Empty(t, gone())
	until(t, due.Add(500*time.Millisecond))
	require.Empty(t, gone(), "it has come back")

	// One of the same name begins anew, and the running processes of both groups join it.
	require.NoError(t, w.sender.Topics().Create(t.Context(), topic, eventbus.TopicConfig{}))
	require.Eventually(t, func() bool {
		now, err := w.sender.Topics().Get(t.Context(), topic)
		return err == nil && len(now.Groups) == 2
	}, patience, tick)
	last := w.after(200 * time.Millisecond)
	ids = append(ids, last)
	w.awaitAll(t, ids, patience)
	other.awaitAll(t, []string{last}, patience)
	until(t, due.Add(sweep))
	w.awaitIdle()
	w.requireOnce(t, ids)
	require.Equal(t, map[string]int{last: 1}, other.runs)
}
