package failuretest_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// Over a large dead set, nothing that an operator does keeps Redis from its other
// clients for long. What a call costs is taken from the server's own accounts:
// the processor time of its main thread, which a loaded machine does not change,
// and its slow log, in which some calls stand that were interrupted.
func TestLargeDeadSetBlocksNobody(t *testing.T) {
	t.Parallel()
	const (
		many    = 200_000
		part    = 30_000 // is listed, replayed, discarded
		perCall = 20 * time.Millisecond
		slow    = 50 * time.Millisecond
	)
	w := setup(t)
	since := time.Now().Add(-24 * time.Hour)
	w.bury(topic, many, since)
	for name, value := range map[string]string{"slowlog-log-slower-than": strconv.FormatInt(slow.Microseconds(), 10), "slowlog-max-len": "1000"} {
		require.NoError(t, w.rdb.ConfigSet(t.Context(), name, value).Err())
	}
	require.NoError(t, w.rdb.Do(t.Context(), "slowlog", "reset").Err())
	stop := w.watchLatency()
	f := w.bus.Failures()
	phase := func(name string, act func() error) {
		t.Helper()
		began, calls, cpu := time.Now(), w.calls(), w.cpu()
		require.NoError(t, act(), name)
		calls, cpu = w.calls()-calls, w.cpu()-cpu
		t.Logf("%s: %v, %d calls, %v of processor time", name, time.Since(began).Round(time.Millisecond), calls, cpu)
		require.Less(t, cpu, slow+time.Duration(calls)*perCall, name)
	}

	phase("count", func() error {
		n, err := f.Count(t.Context(), topic)
		require.EqualValues(t, many, n.Dead)
		return err
	})
	phase("list", func() error {
		q := eventbus.FailureQuery{Limit: 1000}
		for range part / q.Limit {
			page, err := f.List(t.Context(), topic, q)
			if err != nil {
				return err
			}
			require.Len(t, page.Failures, q.Limit)
			q.Cursor = page.Next
		}
		return nil
	})
	phase("get", func() error {
		_, err := f.Get(t.Context(), topic, fmt.Sprintf("failure-%08d", many/2))
		return err
	})
	var n int64
	act := func(do func(context.Context, string, eventbus.FailureFilter) (int64, error), filter eventbus.FailureFilter) func() error {
		return func() (err error) {
			n, err = do(t.Context(), topic, filter)
			return err
		}
	}
	phase("replay", act(f.Replay, eventbus.FailureFilter{Before: since.Add(part / 10 * time.Millisecond)}))
	require.EqualValues(t, part, n)
	phase("replay one", act(f.Replay, eventbus.FailureFilter{IDs: []string{fmt.Sprintf("failure-%08d", many-1)}}))
	require.EqualValues(t, 1, n)
	phase("discard", act(f.Discard, eventbus.FailureFilter{Before: since.Add(2 * part / 10 * time.Millisecond)}))
	require.EqualValues(t, part, n)
	left, err := f.Count(t.Context(), topic)
	require.NoError(t, err)
	require.EqualValues(t, many-2*part-1, left.Dead)
	phase("delete the topic", func() error { return w.bus.Topics().Delete(t.Context(), topic) })

	t.Logf("the longest wait of another client: %v", stop())
	entries, err := w.rdb.SlowLogGet(t.Context(), 1000).Result()
	require.NoError(t, err)
	for _, s := range entries {
		t.Logf("slow: %v %.100q", s.Duration, s.Args)
	}
	require.LessOrEqual(t, int64(len(entries)), w.calls()/20, "calls over %v", slow)
	stats := w.server.CommandStats(t)
	for _, forbidden := range []string{"keys", "lrem", "sort", "flushall", "flushdb"} {
		require.Zero(t, stats[forbidden], forbidden)
	}
}

// calls is how many scripts the server has run.
func (w *world) calls() int64 {
	w.Helper()
	stats := w.server.CommandStats(w)
	return stats["evalsha"] + stats["eval"]
}

// cpu is the processor time that the server's main thread has used.
func (w *world) cpu() (sum time.Duration) {
	w.Helper()
	info, err := w.server.Admin().Info(w.Context(), "cpu").Result()
	require.NoError(w, err)
	found := 0
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_sys_main_thread" || name == "used_cpu_user_main_thread" {
			seconds, err := strconv.ParseFloat(value, 64)
			require.NoError(w, err)
			sum += time.Duration(seconds * float64(time.Second))
			found++
		}
	}
	require.Equal(w, 2, found, "the server does not tell")
	return sum
}

// watchLatency measures what another client waits for. The function that it
// returns ends that and tells the longest wait.
func (w *world) watchLatency() (stop func() time.Duration) {
	rdb := w.server.Client(w)
	quit, result := make(chan struct{}), make(chan time.Duration)
	go func() {
		var longest time.Duration
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				result <- longest
				return
			case <-ticker.C:
			}
			began := time.Now()
			if err := rdb.Ping(context.Background()).Err(); err != nil {
				w.Error(err)
			}
			longest = max(longest, time.Since(began))
		}
	}()
	return func() time.Duration {
		close(quit)
		return <-result
	}
}
