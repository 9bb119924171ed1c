package faults_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/eventbus/internal/link"
	"github.com/seed4933/eventbus/internal/redistest"
)

// appliedWithin is how long a changed setting whose notice is missed may take: the
// longest pause after connections were cut again and again, a sweep, and what a
// slow machine adds.
const appliedWithin = link.MaxPause + 3*time.Second

// A notice of a changed setting is missed: since the process may not subscribe at
// all, since its subscription is cut again and again, or with all its
// connections in that moment. The setting is in force within seconds, with no
// event to bring it along.
func TestMissedNoticeOfASettingIsMadeGood(t *testing.T) {
	t.Parallel()
	for name, miss := range map[string]struct {
		user    string
		changes int
		around  func(w *world, change func())
	}{
		"may not subscribe": {user: "deaf", changes: 4, around: func(_ *world, change func()) { change() }},
		"subscription cut":  {changes: 8, around: whileCutting},
		"all cut":           {changes: 8, around: func(w *world, change func()) { w.killClients(); change(); w.killClients() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, redistest.Options{})
			o := &redis.Options{Addr: w.server.Addr()}
			if miss.user != "" {
				o.Username, o.Password = miss.user, "secret"
				acl := []any{"acl", "setuser", miss.user, "on", ">secret", "~*", "+@all", "resetchannels"}
				require.NoError(t, w.server.Admin().Do(t.Context(), acl...).Err())
			}
			log := newJournal()
			bus := w.busOn(o, eventbus.Config{AutoCreateTopics: true, Logger: log.logger()})
			bus.Handle(topic, handler, w.ledger.handle(0))
			for i := range 20 { // so that looking at one topic after another is too slow
				bus.Handle(fmt.Sprintf("other%d", i), handler, w.ledger.handle(0))
			}
			c := w.run(bus)

			var slowest time.Duration
			for i := range miss.changes {
				timeout := time.Duration(i+1) * time.Minute
				var changed time.Time
				miss.around(w, func() {
					require.Eventually(t, func() bool { // the change itself may be cut
						_, err := w.sender.Handlers().Update(t.Context(), topic, handler, eventbus.HandlerUpdate{Timeout: &timeout})
						changed = time.Now()
						return err == nil
					}, patience, tick)
				})
				require.Eventually(t, func() bool {
					h, err := w.sender.Handlers().Get(context.Background(), topic, handler)
					return err == nil && h.Settings.Timeout == timeout
				}, appliedWithin, tick, "the setting is not applied")
				slowest = max(slowest, time.Since(changed))
			}
			t.Logf("the slowest of %d changes took %v", miss.changes, slowest)
			require.LessOrEqual(t, len(log.lines(slog.LevelInfo)), 2*miss.changes, "%v", log.lines(slog.LevelInfo))
			ids := w.send(5)
			w.ledger.awaitAll(t, ids, appliedWithin) // after the same pause
			c.stop(patience)
		})
	}
}

// whileCutting makes the change while the subscriptions are cut all the time.
func whileCutting(w *world, change func()) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var cutter sync.WaitGroup
	cut := make(chan struct{})
	cutter.Go(func() {
		for first := true; ctx.Err() == nil; first = false {
			_ = w.server.Admin().ClientKillByFilter(ctx, "TYPE", "pubsub").Err()
			if first {
				close(cut)
			}
			_ = busy(ctx, time.Millisecond)
		}
	})
	<-cut
	change()
	stop()
	cutter.Wait()
}
