package faults_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/internal/redistest"
)

// Ten times a worker process is killed while it works on part of a thousand
// events. None may be lost, and only what a worker held when it was killed may
// run again.
func TestKilledWorkersLoseNothing(t *testing.T) {
	t.Parallel()
	const (
		kills    = 10
		perRound = 100
		lease    = 2 * time.Second
		work     = 30 * time.Millisecond
	)
	w := setup(t, redistest.Options{})
	begins := make(chan begin, 100*kills*perRound)
	crew := []*worker{w.worker(lease, work, begins), w.worker(lease, work, begins)}
	for _, p := range crew {
		p.awaitReady(t)
	}
	var ids []string
	var held int64
	for range kills {
		ids = append(ids, w.send(perRound)...)
		victim := awaitBegins(t, begins, perRound/4)
		held += w.killed(victim)
		next := w.worker(lease, work, begins)
		next.awaitReady(t)
		for i := range crew {
			if crew[i] == victim {
				crew[i] = next
			}
		}
	}
	w.ledger.awaitAll(t, ids, patience)
	w.awaitEmpty(patience)
	for _, p := range crew {
		p.terminate(t)
	}
	w.requireNothingHeld()
	s, ok := w.stats()
	require.True(t, ok)
	require.Zero(t, s.Dead, "an event was given up though it killed nobody")
	again := int64(w.ledger.runs() - len(ids))
	t.Logf("%d entries were in flight at the kills, %d runs were repeated", held, again)
	require.Positive(t, held, "no kill met an event in flight; the test shows nothing")
	require.LessOrEqual(t, again, held, "more ran twice than was in flight at the kills: %v", w.ledger.twice())
	consumers, err := w.sender.Consumers(t.Context())
	require.NoError(t, err)
	require.Empty(t, consumers, "killed and stopped workers leave the registry")
}

// awaitBegins takes n begins and returns the worker of the last one that still
// runs.
func awaitBegins(t *testing.T, begins <-chan begin, n int) *worker {
	t.Helper()
	limit := time.After(patience)
	for {
		select {
		case b := <-begins:
			n--
			select {
			case <-b.worker.Done():
			default:
				if n <= 0 {
					return b.worker
				}
			}
		case <-limit:
			require.Fail(t, "the events are not handled", "%d more runs were expected", n)
			return nil
		}
	}
}

// A worker process that stands still for longer than its lease counts as dead:
// what it held runs elsewhere. When it goes on it must do so under a new id, and
// leave nothing in flight.
func TestHaltedWorkerIsReplacedAndGoesOn(t *testing.T) {
	t.Parallel()
	const lease = time.Second
	w := setup(t, redistest.Options{})
	begins := make(chan begin, 1000)
	halted := w.worker(lease, 100*time.Millisecond, begins)
	halted.awaitReady(t)
	before, err := w.sender.Consumers(t.Context())
	require.NoError(t, err)
	require.Len(t, before, 1)

	ids := w.send(64)
	require.Same(t, halted, awaitBegins(t, begins, 5))
	halted.Signal(syscall.SIGSTOP)
	other := w.worker(lease, 0, nil)
	other.awaitReady(t)
	require.Eventually(t, func() bool {
		s, ok := w.stats()
		return ok && s.Waiting+s.InFlight == 0
	}, patience, tick, "what the halted worker held is not taken over")
	other.terminate(t)

	halted.Signal(syscall.SIGCONT)
	require.Eventually(t, func() bool {
		now, err := w.sender.Consumers(t.Context())
		return err == nil && len(now) == 1 && now[0].PID == halted.Pid() && now[0].ID != before[0].ID && !now[0].Expired
	}, patience, tick, "the worker that goes on does not take a new id")
	w.awaitEmpty(10 * time.Second)
	w.requireNothingHeld()

	more := w.send(20)
	w.ledger.awaitAll(t, append(ids, more...), 15*time.Second)
	halted.terminate(t)
	w.awaitEmpty(patience)
	w.requireNothingHeld()
}
