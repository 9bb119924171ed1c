package faults_test

import (
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// A block below one second is cut to 0, which is for ever, and one that outlives
// the client's read deadline pops into a connection that nobody reads. The
// server here looks at its timeouts once a second only, so that it ends a block
// late; the client must wait for that, and block again on the same connection.
func TestBlockEndsBeforeItsReaderGivesUp(t *testing.T) {
	t.Parallel()
	w := setup(t, redistest.Options{Extra: []string{"hz 1", "dynamic-hz no"}})
	delivery := eventbus.AtMostOnce // there a lost element is a lost event
	_, err := w.sender.Topics().Update(t.Context(), topic, eventbus.TopicUpdate{Delivery: &delivery})
	require.NoError(t, err)
	m := watch(t, w.server)
	log := newJournal()
	c := w.consume(w.server.Addr(), eventbus.Config{Logger: log.logger()}, w.ledger.handle(0))

	queue := "eventbus:{" + topic + "}:queue:default"
	onQueue := func(b command) bool { return b.name == "blpop" && slices.Contains(b.args, queue) }
	require.Eventually(t, func() bool { return len(m.seen(t, onQueue)) >= 2 }, patience, tick, "the poller does not block again")
	blocks := m.seen(t, named("blpop"))
	for _, b := range blocks {
		seconds, err := strconv.Atoi(b.arg(-1))
		require.NoError(t, err, "the timeout is whole seconds: %s", b)
		require.GreaterOrEqual(t, seconds, 1, "%s", b)
	}
	last := blocks[len(blocks)-2:]
	require.Equal(t, last[0].from, last[1].from, "the connection was given up while the server still blocked on it")
	require.NoError(t, c.Health(t.Context()))
	require.Empty(t, log.lines(slog.LevelWarn))

	ids := w.send(5)
	w.ledger.awaitAll(t, ids, 2*time.Second)
	w.ledger.requireOnce(t, ids)
	c.stop(patience)
}

// Each time the poller has nothing to do and blocks anew, also around settings
// that change and topics that come and go, its block has a time of a second at
// least.
func TestNoBlockIsForEver(t *testing.T) {
	t.Parallel()
	w := setup(t, redistest.Options{})
	m := watch(t, w.server)
	c := w.consume(w.server.Addr(), eventbus.Config{}, w.ledger.handle(0))
	for range 10 {
		require.NoError(t, w.sender.Topics().Disable(t.Context(), topic))
		require.NoError(t, w.sender.Topics().Enable(t.Context(), topic))
		w.ledger.awaitAll(t, w.send(3), patience)
	}
	c.stop(patience)
	blocks := m.seen(t, named("blpop"))
	require.NotEmpty(t, blocks)
	for _, b := range blocks {
		seconds, err := strconv.Atoi(b.arg(-1))
		require.NoError(t, err, "the timeout is whole seconds: %s", b)
		require.GreaterOrEqual(t, seconds, 1, "%s", b)
	}
}
