package delaytest_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// A hundred thousand events are due in the same millisecond, most of them as Java
// offers them: all come once, and nothing breaks over their number.
func TestMassesOfOneMillisecond(t *testing.T) {
	t.Parallel()
	const n, sent = 100_000, 5000
	w := setup(t, redistest.Options{})
	log := &journal{}
	due := w.now().Add(8 * time.Second).Truncate(time.Millisecond)
	ids := append(w.at(due, sent), w.offer(due, n-sent)...)
	require.EqualValues(t, n, w.stats().Delayed, "the machine is too slow for this test")
	w.consume(w.server.Options(), eventbus.Config{Concurrency: 64, Logger: log.logger()})
	w.awaitAll(t, ids, patience)
	w.awaitIdle()
	w.requireOnce(t, ids)
	require.Empty(t, log.with("ERROR"))
	require.Empty(t, log.with("WARN"))
	t.Logf("the last came %v late", w.worst())
}

// offer delays events as Redisson does, without an index or an announcement.
func (w *world) offer(due time.Time, n int) (ids []string) {
	w.t.Helper()
	for n > 0 {
		members := make([]redis.Z, min(n, 5000))
		n -= len(members)
		for i := range members {
			m := w.message(due)
			ids = append(ids, m.ID)
			entry := fmt.Appendf(nil, `{"specversion":"1.0","id":"%s","source":"java","type":"%s","data":%d}`, m.ID, topic, due.UnixMicro())
			member := append([]byte{8}, binary.LittleEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, rand.Uint64()), uint64(len(entry)))...)
			members[i] = redis.Z{Score: float64(due.UnixMilli()), Member: append(member, entry...)}
		}
		require.NoError(w.t, w.server.Admin().ZAdd(w.t.Context(), delayedSet(), members...).Err())
	}
	return ids
}

// Tens of thousands are overdue when the workers start, which are killed again and
// again while they hand them out. None is lost, and the workers hold a bounded part of them.
func TestOverdueMassesOutliveTheirWorkers(t *testing.T) {
	t.Parallel()
	const n, kills, padding = 30_000, 6, 1000
	w := setup(t, redistest.Options{})
	due := w.now().Add(100 * time.Millisecond)
	var ids []string
	pad := strings.Repeat("0", padding)
	for len(ids) < n {
		batch := make([]eventbus.Message, 1000)
		for i := range batch {
			batch[i] = w.message(due)
			batch[i].Value = json.RawMessage(fmt.Sprintf("%d.%s", due.UnixMicro(), pad))
			batch[i].Delay = time.Second
			ids = append(ids, batch[i].ID)
		}
		_, err := w.sender.SendBatch(t.Context(), topic, batch)
		require.NoError(t, err)
	}
	require.EqualValues(t, n, w.stats().Delayed, "nobody moves them")
	require.Eventually(t, func() bool { s := w.stats(); return s.ReadAt.After(s.NextDue.Add(time.Second)) }, patience, tick)

	heap := 0
	all := func(p *process) {
		p.mu.Lock()
		defer p.mu.Unlock()
		heap = max(heap, p.heap)
	}
	one, two := w.start(workerChild), w.start(workerChild)
	for range kills {
		before := w.count()
		require.Eventually(t, func() bool { return w.count() > before+rand.IntN(2000) || w.count() == n }, patience, time.Millisecond)
		one.kill()
		all(one)
		one, two = two, w.start(workerChild)
	}
	w.awaitAll(t, ids, patience)
	w.awaitIdle()
	one.terminate(t)
	two.terminate(t)
	all(one)
	all(two)
	w.requireNoneEarly(t)
	require.Equal(t, n, w.count())
	// Beside those in flight, what had ended and was not yet written runs again.
	t.Logf("%d runs were repeated; the heap was at most %d MB", w.repeated(), heap>>20)
	require.Less(t, w.repeated(), n/5)
	require.Positive(t, heap)
	require.Less(t, heap, n*padding/2, "the workers hold what is overdue in memory")
}

// Five processes wait for the same five thousand: each comes once.
func TestSeveralWorkersShareWhatIsDue(t *testing.T) {
	t.Parallel()
	const n, workers = 5000, 5
	w := setup(t, redistest.Options{})
	var crew []*process
	for range workers {
		crew = append(crew, w.start(workerChild))
	}
	for _, p := range crew {
		p.awaitReady(t)
	}
	var ids []string
	due := w.now().Add(time.Second)
	for i := range 5 { // together, and then in rows
		ids = append(ids, w.at(due.Add(time.Duration(i*i)*50*time.Millisecond), n/5)...)
	}
	w.awaitAll(t, ids, patience)
	w.awaitIdle()
	for _, p := range crew {
		p.terminate(t)
	}
	w.requireOnce(t, ids)
	t.Logf("the last came %v late", w.worst())
}

// The incident: all consumers are restarted, events become due meanwhile, and nobody
// sends any more. They come as soon as a consumer is there again.
func TestOverdueEventsComeAfterARestartThoughNobodySends(t *testing.T) {
	t.Parallel()
	w := setup(t, redistest.Options{})
	crew := []*process{w.start(workerChild), w.start(workerChild)}
	for _, p := range crew {
		p.awaitReady(t)
	}
	due := w.now().Add(2 * time.Second)
	ids := w.at(due, 500)
	require.EqualValues(t, 500, w.stats().Delayed, "the machine is too slow for this test")
	crew[0].terminate(t)
	crew[1].kill()
	until(t, due.Add(time.Second))
	require.Zero(t, w.count())
	p := w.start(workerChild)
	p.awaitReady(t)
	w.awaitAll(t, ids, slack) // not even a sweep
	w.awaitIdle()
	p.terminate(t)
	w.requireOnce(t, ids)
}
