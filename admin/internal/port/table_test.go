package port

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// enter lets a connection into the table, and brings it into a state.
func enter(t *testing.T, table *table, s state) *entry {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() {
		_ = ours.Close()
		_ = theirs.Close()
	})
	e := table.add(ours)
	require.NotNil(t, e)
	if s != silent {
		require.True(t, e.move(s))
	}
	return e
}

// left tells which connections have left their table.
func left(entries ...*entry) []bool {
	out := make([]bool, len(entries))
	for i, e := range entries {
		select {
		case <-e.gone:
			out[i] = true
		default:
		}
	}
	return out
}

func TestTable_EvictsWhoCanBeMissed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in    []state
		after time.Duration
		goes  int
	}{
		"an idle one before one that has just come":  {[]state{silent, calling, writing, reading, idle, idle}, 0, 4},
		"one silent for too long before an idle one": {[]state{idle, silent, silent, calling}, silentGrace, 1},
		"who sends slowly before who takes slowly":   {[]state{silent, calling, writing, reading}, 0, 3},
		"who takes slowly before one that has come":  {[]state{silent, calling, writing, calling}, 0, 2},
		"a call that waits before one that has come": {[]state{silent, calling, waiting, waiting}, 0, 2},
		"one that has come before a call":            {[]state{calling, calling, silent, calling}, 0, 2},
		"the first of those who come in a crowd":     {[]state{idle, silent, silent, silent}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				table := newTable(len(c.in))
				entries := make([]*entry, len(c.in))
				for i, s := range c.in {
					entries[i] = enter(t, table, s)
				}
				<-time.After(c.after) // by the clock of the bubble
				enter(t, table, silent)
				want := make([]bool, len(c.in))
				want[c.goes] = true
				require.Equal(t, want, left(entries...))
			})
		})
	}
}

// All places are taken by clients that are idle, and half as many come at once: each of
// them is answered.
func TestServer_Crowd(t *testing.T) {
	t.Parallel()
	const places = 32
	b := setup(t, brief(func(l *Limits) { l.MaxConnections = places }))
	for range places {
		require.NoError(t, adminOver(kinds()[0].over(dial(t, b.addr))).Ping(t.Context()))
	}
	for range 10 {
		crowd := make([]net.Conn, places/2)
		for i := range crowd {
			crowd[i] = dial(t, b.addr)
		}
		var calls sync.WaitGroup
		for i := range crowd {
			calls.Go(func() { assert.NoError(t, adminOver(kinds()[0].over(crowd[i])).Ping(t.Context())) })
		}
		calls.Wait()
	}
}

// All places are taken by calls whose answers wait for memory: others get theirs.
func TestServer_CallsThatWaitForMemory(t *testing.T) {
	t.Parallel()
	const places = 4
	b := setup(t, brief(func(l *Limits) { l.MaxConnections = places }))
	for _, most := range []int64{b.server.budget.lane, b.server.budget.common} {
		a := b.server.budget.open(nil, &pace{})
		t.Cleanup(a.close)
		require.NoError(t, a.take(most-grain, time.Now().Add(patience)))
	}
	for range places {
		conn := dial(t, b.addr)
		go func() { _, _ = adminOver(kinds()[0].over(conn)).GetTopic(context.Background(), "size 15000000") }()
	}
	b.waitFor(t, map[state]int{waiting: places})
	for range 3 * places {
		stillServes(t, b.addr)
	}
}
