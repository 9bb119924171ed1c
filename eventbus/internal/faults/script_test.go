package faults_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// The server forgets all scripts again and again while events are sent, handled,
// fail and are retried. No caller of Send sees an error.
func TestFlushedScriptsReachNobody(t *testing.T) {
	t.Parallel()
	const rounds, perRound = 30, 40
	w := setup(t, redistest.Options{})
	log := newJournal()
	fails := eventbus.HandleFunc(func(_ context.Context, e *eventbus.Event) error {
		if w.ledger.begin(e.ID) == 1 {
			return eventbus.RetryAfter(50*time.Millisecond, errPlain)
		}
		w.ledger.end(e.ID)
		return nil
	})
	c := w.consume(w.server.Addr(), eventbus.Config{Logger: log.logger()}, fails)
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	var ids []string
	for range rounds {
		require.NoError(t, w.server.Admin().ScriptFlush(t.Context()).Err())
		for range perRound / 10 {
			ids = append(ids, w.send(10)...) // demands that no error comes
		}
		<-ticker.C
	}
	w.ledger.awaitAll(t, ids, patience)
	w.awaitEmpty(patience)
	require.Empty(t, log.lines(slog.LevelWarn))
	require.NoError(t, c.Health(t.Context()))
	c.stop(patience)
	require.Equal(t, 2*len(ids), w.ledger.runs(), "each event fails once and then succeeds once")
	w.requireNothingHeld()
}
