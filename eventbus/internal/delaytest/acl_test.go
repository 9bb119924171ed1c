package delaytest_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// user makes a user with all rights but some, and returns how to be it.
func (w *world) user(rules ...string) *redis.Options {
	w.t.Helper()
	all := append([]string{"on", "nopass", "+@all", "resetchannels", "resetkeys"}, rules...)
	require.NoError(w.t, w.server.Admin().ACLSetUser(w.t.Context(), "some", all...).Err())
	return &redis.Options{Addr: w.server.Addr(), Username: "some", Password: "any"}
}

// The user of consumer and sender may not use the channels: the log says at the start
// how to allow it, and once that events may be late; they are, by a sweep at most.
func TestRefusedChannelsCostASweepAtMost(t *testing.T) {
	t.Parallel()
	w := setup(t, redistest.Options{})
	log, heard := &journal{}, &journal{}
	o := w.user("~*", "&eventbus:*")
	w.consume(o, eventbus.Config{Logger: log.logger()})
	require.Eventually(t, func() bool { return len(log.with("&redisson_delay_queue_channel:*")) > 0 }, patience, tick)
	w.sender = w.bus(o, eventbus.Config{Logger: heard.logger()})
	var ids []string
	for range 30 {
		ids = append(ids, w.after(100*time.Millisecond))
		until(t, time.Now().Add(50*time.Millisecond))
	}
	w.awaitAll(t, ids, patience)
	w.awaitIdle()
	w.requireOnce(t, ids)
	t.Logf("the latest came %v late", w.worst())
	require.Less(t, w.worst(), sweep+slack)
	require.Len(t, log.with("not announced"), 1, "%v", log.lines)
	require.Len(t, heard.with("&redisson_delay_queue_channel:*"), 1, "%v", heard.lines)
}

// The user may not use the keys of one topic's delayed events: sending delayed events
// there is an error of a type, all else goes on, and the consumer says so once.
func TestRefusedKeysStopTheirTopicAlone(t *testing.T) {
	t.Parallel()
	const bad = "bad"
	w := setup(t, redistest.Options{})
	require.NoError(t, w.sender.Topics().Create(t.Context(), bad, eventbus.TopicConfig{}))
	kept, err := w.sender.Send(t.Context(), bad, 1, eventbus.WithDelay(time.Millisecond), eventbus.WithID("kept"))
	require.NoError(t, err)
	log := &journal{}
	o := w.user("~eventbus*", "~redisson*{"+topic+"}*", "&*")
	bus := w.consume(o, eventbus.Config{Logger: log.logger()}, bad, topic)
	w.sender = w.bus(o, eventbus.Config{})
	_, err = w.sender.Send(t.Context(), bad, 2, eventbus.WithDelay(time.Second))
	require.ErrorIs(t, err, eventbus.ErrUnavailable)
	require.ErrorContains(t, err, "ACL")
	at, err := w.sender.Send(t.Context(), bad, "now")
	require.NoError(t, err, "what is not delayed goes there as ever")
	ids := []string{at}
	for range 20 {
		ids = append(ids, w.after(200*time.Millisecond))
		until(t, time.Now().Add(100*time.Millisecond))
	}
	until(t, time.Now().Add(sweep))
	ids = append(ids, w.after(200*time.Millisecond))
	w.awaitAll(t, ids, patience)
	w.requireOnce(t, ids)
	require.Less(t, w.worst(), slack, "the others come on time")
	require.Len(t, log.with("not handed out"), 1, "%v", log.lines)
	require.Contains(t, log.with("not handed out")[0], bad)
	require.NoError(t, bus.Health(t.Context()))

	require.NoError(t, w.server.Admin().ACLSetUser(t.Context(), "some", "~*").Err())
	w.awaitAll(t, append(ids, kept), sweep+slack)
}

// A user who lacks the keys of delayed events is told what to allow, by everything
// that needs them; with that, and no more, everything works.
func TestRefusalSaysWhatToAllow(t *testing.T) {
	t.Parallel()
	const commands = "-@all +@read +@write +@pubsub +@scripting +@connection -@dangerous +info +time"
	w := setup(t, redistest.Options{})
	o := w.user(append(strings.Fields(commands), "~eventbus:*", "&eventbus:*")...)
	bus := w.bus(o, eventbus.Config{})
	ctx := t.Context()
	use := map[string]func() error{
		"send": func() error {
			_, err := bus.Send(ctx, topic, 1, eventbus.WithDelay(time.Hour), eventbus.WithID("x"))
			return err
		},
		"list":   func() error { _, err := bus.Delayed().List(ctx, topic, eventbus.DelayedQuery{}); return err },
		"stats":  func() error { _, err := bus.Stats(ctx, topic); return err },
		"cancel": func() error { _, err := bus.Delayed().Cancel(ctx, topic, "x"); return err },
		"delete": func() error { return bus.Topics().Delete(ctx, topic) },
	}
	for _, name := range []string{"send", "list", "stats", "cancel", "delete"} {
		err := use[name]()
		require.ErrorIs(t, err, eventbus.ErrUnavailable, name)
		require.ErrorContains(t, err, "~eventbus:* ~redisson_delay_queue* &eventbus:* &redisson_delay_queue_channel:*", name)
	}
	rules := regexp.MustCompile(`[~&][^ ,]+`).FindAllString(use["delete"]().Error(), -1)
	require.NoError(t, w.server.Admin().ACLSetUser(ctx, "some", append([]string{"resetkeys", "resetchannels"}, rules...)...).Err())
	require.NoError(t, use["delete"](), "it was begun")
	require.NoError(t, bus.Topics().Create(ctx, topic, eventbus.TopicConfig{RedissonOrderList: true}))
	for _, name := range []string{"send", "list", "stats", "cancel"} {
		require.NoError(t, use[name](), name)
	}
	log := &journal{}
	w.consume(o, eventbus.Config{Logger: log.logger()})
	w.sender = bus
	ids := []string{w.after(50 * time.Millisecond), w.after(0)}
	w.awaitAll(t, ids, patience)
	w.awaitIdle()
	require.Empty(t, log.with("NOPERM"))
	require.NoError(t, bus.Topics().Delete(ctx, topic))
}
