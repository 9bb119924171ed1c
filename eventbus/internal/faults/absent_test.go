package faults_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// Events that wait for a handler which no process has any more rest: however many
// they are, they do not go round and round. When a process has it again, and asks
// for them, each is handled.
func TestEventsForAnAbsentHandlerRest(t *testing.T) {
	t.Parallel()
	const (
		events    = 2000
		seconds   = 10
		perSecond = 60 // commands, those that scripts call among them
	)
	w := setup(t, redistest.Options{})
	first := w.bus(w.server.Addr(), eventbus.Config{})
	first.Handle(topic, handler, w.ledger.handle(0))
	first.Handle(topic, "absent", eventbus.HandleFunc(func(context.Context, *eventbus.Event) error {
		return errors.New("not today")
	}), eventbus.HandleConfig{Retry: eventbus.RetryPolicy{MaxAttempts: 1000, Initial: time.Second, Max: time.Second}})
	c := w.run(first)
	ids := w.send(events)
	w.ledger.awaitAll(t, ids, patience)
	c.stop(patience)

	w.consume(w.server.Addr(), eventbus.Config{}, w.ledger.handle(0)) // it has the other handler alone
	require.Eventually(t, func() bool {
		s, ok := w.stats()
		return ok && s.Waiting+s.InFlight == 0 && s.Retrying == events
	}, patience, tick)
	// What is put off shortly at first comes once more; then it rests.
	last, quiet := w.server.TotalCommands(t), 0
	require.Eventually(t, func() bool {
		total := w.server.TotalCommands(t)
		quiet++
		if total-last >= perSecond {
			quiet = 0
		}
		last = total
		return quiet == seconds
	}, patience, time.Second)

	got := newLedger()
	third := w.bus(w.server.Addr(), eventbus.Config{})
	third.Handle(topic, handler, w.ledger.handle(0))
	third.Handle(topic, "absent", got.handle(0))
	w.run(third)
	n, err := w.sender.Failures().Replay(t.Context(), topic, eventbus.FailureFilter{Handler: "absent", State: eventbus.Retrying})
	require.NoError(t, err)
	require.EqualValues(t, events, n)
	got.awaitAll(t, ids, patience)
	w.awaitEmpty(patience)
	got.requireOnce(t, ids)
}
