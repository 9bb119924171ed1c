package failuretest_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// places are those of a topic's keys that can be spoiled, and what each is: a
// name that may be somebody else's by mistake.
var places = []string{"config", "queue", "bell", "inflight", "holders", "failures", "retry", "dead", "counts"}

// A key of another type in the place of any of a topic's keys stops that topic at
// most: the log says so clearly and once, the other topics go on, and so does the
// topic itself, having lost nothing, when the key is removed.
func TestKeyOfAnotherTypeStopsItsTopicOnly(t *testing.T) {
	t.Parallel()
	const each = 40
	w := setup(t, append(slices.Clone(places), "good")...)
	log := &journal{}
	c := w.consumer(eventbus.Config{Logger: log.logger(), Concurrency: 64})
	ran := map[string]*ledger{}
	for _, name := range append(slices.Clone(places), "good") {
		l := newLedger()
		ran[name] = l
		// Each third event fails for good, each other third once: all of a topic's
		// keys are needed.
		c.Handle(name, handler, eventbus.HandleFunc(func(_ context.Context, e *eventbus.Event) error {
			l.note(e.ID)
			switch {
			case e.Payload[len(e.Payload)-1]%3 == 0:
				return eventbus.Reject(errOnPurpose)
			case e.Payload[len(e.Payload)-1]%3 == 1 && e.Attempt == 1:
				return eventbus.RetryAfter(0, errOnPurpose)
			}
			return nil
		}))
	}
	c.start()
	consumers, err := w.bus.Consumers(t.Context())
	require.NoError(t, err)
	require.Len(t, consumers, 1)

	config, err := w.rdb.HGetAll(t.Context(), key("config", "config")).Result()
	require.NoError(t, err)
	spoiled := map[string]string{}
	for _, place := range places {
		k := key(place, place)
		switch place {
		case "config":
		case "inflight":
			k = key(place, "inflight:default:"+consumers[0].ID)
		default:
			k = key(place, place+":default")
		}
		spoiled[place] = k
		if place == "config" {
			continue // its events must be sent first
		}
		if place == "queue" {
			require.NoError(t, w.rdb.HSet(t.Context(), k, "somebody", "else's").Err())
			continue
		}
		require.NoError(t, w.rdb.Set(t.Context(), k, "somebody else's", 0).Err())
	}
	total := map[string]int64{}
	send := func(name string) {
		t.Helper()
		for i := range each {
			_, err := w.bus.Send(t.Context(), name, i)
			if name == "queue" || name == "bell" {
				require.ErrorIs(t, err, eventbus.ErrWrongType, name)
				continue
			}
			require.NoError(t, err, name)
			total[name]++
		}
	}
	for _, place := range places {
		send(place)
		if place == "config" {
			w.idle(place)
			require.NoError(t, w.rdb.Set(t.Context(), spoiled[place], "somebody else's", 0).Err())
			_, err := w.bus.Send(t.Context(), place, 1)
			require.ErrorIs(t, err, eventbus.ErrWrongType)
		}
	}
	// The good topic goes on for longer than a spoiled one is left alone, all the
	// way: handled, retried, dead, and with changed settings.
	began := time.Now()
	for round := 0; round < 3 || time.Since(began) < 12*time.Second; round++ {
		send("good")
		w.idle("good")
		require.NoError(t, w.bus.Topics().Disable(t.Context(), "good"))
		require.NoError(t, w.bus.Topics().Enable(t.Context(), "good"))
		attempts := 5 + round%5
		_, err := w.bus.Handlers().Update(t.Context(), "good", handler, eventbus.HandlerUpdate{MaxAttempts: &attempts})
		require.NoError(t, err)
		w.within(10*time.Second, "the handler's changed settings", func() bool {
			info, err := w.bus.Handlers().Get(t.Context(), "good", handler)
			require.NoError(t, err)
			return info.Settings.MaxAttempts == attempts
		})
		require.NoError(t, c.Health(t.Context()))
	}
	for _, place := range places {
		lines := slices.DeleteFunc(log.with(" topic="+place+" "), func(l string) bool { return strings.HasPrefix(l, "WARN failures went") })
		if place == "counts" {
			require.Empty(t, lines, "nothing depends on the counts")
			continue
		}
		require.NotEmpty(t, lines, "the log says nothing of topic %s: %q", place, log.with(""))
		require.True(t, slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "another type") }), "%q", lines)
		require.LessOrEqual(t, len(lines), 4, "the log repeats itself:\n%s", strings.Join(lines, "\n"))
	}

	_, err = w.rdb.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
		for _, place := range places {
			p.Del(t.Context(), spoiled[place])
		}
		p.HSet(t.Context(), spoiled["config"], config)
		return nil
	})
	require.NoError(t, err)
	for _, place := range places {
		for i := range each {
			_, err := w.bus.Send(t.Context(), place, i)
			require.NoError(t, err)
			total[place]++
		}
	}
	for name, n := range total {
		w.eventually("topic "+name+" to recover", func() bool {
			s := w.stats(name)
			return s.Waiting+s.InFlight+s.Retrying == 0
		})
		l := ran[name]
		l.mu.Lock()
		require.EqualValues(t, n, len(l.runs), "events of topic %s that ran", name)
		l.mu.Unlock()
		w.requireWholeFailures(name)
	}
}
