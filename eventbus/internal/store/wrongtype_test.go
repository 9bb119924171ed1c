package store_test

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// spoil puts a string where the bus keeps something else; restore puts back what
// stood there.
func (b *bed) spoil(key string) (restore func()) {
	b.Helper()
	return b.spoilWith(key, func(key string) error { return b.rdb.Set(b.Context(), key, "somebody else's", 0).Err() })
}

func (b *bed) spoilWith(key string, put func(key string) error) (restore func()) {
	b.Helper()
	aside := key + "-aside-of-" + b.ns + "-"
	there, err := b.rdb.Exists(b.Context(), key).Result()
	require.NoError(b, err)
	if there == 1 {
		require.NoError(b, b.rdb.Rename(b.Context(), key, aside).Err())
	}
	require.NoError(b, put(key))
	return func() {
		b.Helper()
		require.NoError(b, b.rdb.Del(b.Context(), key).Err())
		if there == 1 {
			require.NoError(b, b.rdb.Rename(b.Context(), aside, key).Err())
		}
	}
}

// move is one call of a script that moves something, in a world that is filled
// anew for it.
type move struct {
	name string
	// keys are the script's, in its order.
	keys func(k *store.Keys) []string
	call func(ctx context.Context, b *bed) error
}

func moves() []move {
	finish := func(parts ...store.Part) func(ctx context.Context, b *bed) error {
		return func(ctx context.Context, b *bed) error {
			_, _, err := b.store.Finish(ctx, &b.keys, consumer, 1, []store.Ended{
				{Receipt: "1-1"}, {Receipt: "1-2", Parts: parts}, {Receipt: "1-3", Parts: parts},
			})
			return err
		}
	}
	finished := func(k *store.Keys) []string {
		return []string{k.Config, k.Inflight(consumer), k.Failures, k.Retry, k.Dead, k.Returns, k.Bell}
	}
	return []move{
		{"send", func(k *store.Keys) []string { return []string{k.Config, k.Queue, k.Bell} }, func(ctx context.Context, b *bed) error {
			return b.store.Send(ctx, b.topic, raw([]string{"1", "2"}))
		}},
		{"claim", func(k *store.Keys) []string {
			return []string{k.Config, k.Queue, k.Bell, k.Inflight(consumer), k.Holders, k.Returns}
		}, func(ctx context.Context, b *bed) error {
			_, err := b.store.Claim(ctx, &b.keys, consumer, 7, 10, 10)
			return err
		}},
		{"take", func(k *store.Keys) []string { return []string{k.Config, k.Queue, k.Returns} }, func(ctx context.Context, b *bed) error {
			_, err := b.store.Take(ctx, &b.keys, 10)
			return err
		}},
		{"finish done", func(k *store.Keys) []string { return []string{k.Inflight(consumer)} }, func(ctx context.Context, b *bed) error {
			_, _, err := b.store.Finish(ctx, &b.keys, consumer, 0, done("1-1", "1-2"))
			return err
		}},
		{"finish back", finished, finish(store.Part{Kind: store.BackFirst, Entry: []byte("back")})},
		{"finish last", finished, finish(store.Part{Kind: store.BackLast, Entry: []byte("back")})},
		{"finish retry", finished, finish(failure(store.Retry, "new", 0))},
		{"finish dead", finished, finish(failure(store.Dead, "new", 0))},
		{"finish all", finished, finish(failure(store.Dead, "new", 0), failure(store.Retry, "new", 0), store.Part{Kind: store.BackFirst, Entry: []byte("back")})},
		{"move due", func(k *store.Keys) []string { return []string{k.Config, k.Retry, k.Failures, k.Returns, k.Bell} }, func(ctx context.Context, b *bed) error {
			_, _, _, err := b.store.MoveDue(ctx, &b.keys)
			return err
		}},
		{"delay", func(k *store.Keys) []string {
			return []string{k.Config, k.Queue, k.Bell, k.Delayed, k.DelayIndex, k.DelayOrder}
		}, func(ctx context.Context, b *bed) error {
			_, err := b.store.SendDelayed(ctx, b.topic, []store.Delayed{later("new", time.Hour), later("now", 0)})
			return err
		}},
		{"transfer", func(k *store.Keys) []string {
			return []string{k.Config, k.Queue, k.Bell, k.Delayed, k.DelayIndex, k.DelayOrder, k.Unreadable}
		}, func(ctx context.Context, b *bed) error {
			_, err := b.store.Transfer(ctx, &b.keys, store.AtLeastOnce)
			return err
		}},
		{"cancel", func(k *store.Keys) []string { return []string{k.Delayed, k.DelayIndex, k.DelayOrder} }, func(ctx context.Context, b *bed) error {
			_, err := b.store.Cancel(ctx, b.topic, "l1")
			return err
		}},
		{"replay", func(k *store.Keys) []string {
			return []string{k.Config, k.Retry, k.Dead, k.Failures, k.Returns, k.Bell}
		}, func(ctx context.Context, b *bed) error {
			_, err := b.store.Replay(ctx, &b.keys, b.stocked, raw([]string{"a", "b", "c"}))
			return err
		}},
		{"discard", func(k *store.Keys) []string { return []string{k.Retry, k.Dead, k.Failures} }, func(ctx context.Context, b *bed) error {
			_, err := b.store.Discard(ctx, &b.keys, picks("d1", "r1", "d2"))
			return err
		}},
		{"expire by number", func(k *store.Keys) []string { return []string{k.Dead, k.Failures} }, func(ctx context.Context, b *bed) error {
			_, err := b.store.Expire(ctx, &b.keys, &store.Topic{DeadLimit: 1})
			return err
		}},
		{"expire by age", func(k *store.Keys) []string { return []string{k.Dead, k.Failures} }, func(ctx context.Context, b *bed) error {
			_, err := b.store.Expire(ctx, &b.keys, &store.Topic{DeadAge: time.Millisecond})
			return err
		}},
		{"unhold", func(k *store.Keys) []string { return []string{k.Inflight("idle"), k.Holders} }, func(ctx context.Context, b *bed) error {
			return b.store.Unhold(ctx, &b.keys, "idle")
		}},
	}
}

// stock fills every place of a shared topic: three entries in flight under the
// receipts 1-1 to 1-3, two waiting, one that came back, failures r1, d1 and d2,
// and a holder that holds nothing.
func (b *bed) stock() {
	b.Helper()
	b.shared()
	b.fail(store.Dead, "d1", "d2")
	b.fail(store.Retry, "r1")
	b.score(b.keys.Dead, "d1", 1)
	b.score(b.keys.Dead, "d2", 2)
	b.score(b.keys.Retry, "r1", 1)
	b.claim = 0
	b.send("f1", "f2", "f3", "w1", "w2")
	b.claimed(3)
	b.returns("back")
	b.delay(later("l1", time.Hour), later("l2", time.Hour))
	b.put(1, "junk", b.zset(b.keys.Delayed)[1]) // l2 is due
	require.NoError(b, b.rdb.RPush(b.Context(), b.keys.DelayOrder, "gone").Err())
	require.NoError(b, b.rdb.RPush(b.Context(), b.keys.Unreadable, "older junk").Err())
	require.NoError(b, b.rdb.SAdd(b.Context(), b.keys.Holders, "idle").Err())
	var err error
	b.stocked, err = b.store.ReadFailures(b.Context(), &b.keys, []string{"d1", "r1", "d2"})
	require.NoError(b, err)
}

func wrongTypes() []test {
	tests := []test{
		{name: "keys of the namespace", run: wrongTypesOfTheNamespace},
		{name: "enrolling", run: wrongTypesEnrolling},
		{name: "lists and figures", run: wrongTypesOfReads},
		{name: "several", run: wrongTypesOfSeveral},
	}
	for _, m := range moves() {
		tests = append(tests, test{name: m.name, run: func(b *bed) { b.requireWholeOrNothing(m) }})
	}
	return tests
}

// requireWholeOrNothing demands that a move, which finds a key of another type in
// the place of any of its keys, reports that and leaves everything as it was;
// that it works as soon as the key is removed; and that spoiled counts, by which
// nothing is moved, do not stop it.
func (b *bed) requireWholeOrNothing(m move) {
	b.stock()
	for i, key := range m.keys(&b.keys) {
		restore := b.spoil(key)
		before := b.dump()
		err := m.call(b.Context(), b)
		require.ErrorIs(b, err, errs.WrongType, "key %d, %s", i+1, key)
		require.ErrorContains(b, err, errs.WrongType.Error()+": "+key+": ")
		require.Equal(b, before, b.dump(), "key %d, %s", i+1, key)
		restore()
	}
	b.spoil(b.keys.Counts)
	before := b.dump()
	require.NoError(b, m.call(b.Context(), b))
	require.NotEqual(b, before, b.dump(), "the move moves something")
}

// A key of another type in the place of one that all topics share is reported, and
// nothing is half done: a topic that a Create refuses is not there.
func wrongTypesOfTheNamespace(b *bed) {
	b.stock()
	require.NoError(b, b.store.Enroll(b.Context(), consumer, time.Minute, []byte("{}")))
	for _, c := range []struct {
		name, key string
		call      func() error
	}{
		{"create", "topics", func() error { return b.store.CreateTopic(b.Context(), &store.Topic{Name: "new"}) }},
		{"create", "revision", func() error { return b.store.CreateTopic(b.Context(), &store.Topic{Name: "new"}) }},
		{"list", "topics", func() error { _, err := b.store.Topics(b.Context()); return err }},
		{"revision", "revision", func() error { _, err := b.store.Revision(b.Context()); return err }},
		{"renew", "consumers", func() error { _, _, err := b.store.Renew(b.Context(), consumer, time.Minute); return err }},
		{"give up", "consumers", func() error { return b.store.GiveUp(b.Context(), consumer) }},
		{"forget", "consumers", func() error { return b.store.Forget(b.Context(), consumer) }},
		{"enrolled", "consumers", func() error { _, err := b.store.Enrolled(b.Context(), []string{consumer}); return err }},
		{"consumers", "consumers", func() error { _, err := b.store.Consumers(b.Context()); return err }},
		{"consumers", "consumers:runs", func() error { _, err := b.store.Consumers(b.Context()); return err }},
		{"describe", "consumers:runs", func() error { return b.store.Describe(b.Context(), consumer, []byte("{}")) }},
		{"runs", "consumers:runs", func() error { _, err := b.store.Runs(b.Context(), consumer); return err }},
		{"enroll", "consumers:runs", func() error { return b.store.Enroll(b.Context(), "new", time.Minute, nil) }},
	} {
		restore := b.spoilWith(b.ns+":"+c.key, func(key string) error { return b.rdb.RPush(b.Context(), key, "somebody else's").Err() })
		before := b.dump()
		err := c.call()
		require.ErrorIs(b, err, errs.WrongType, "%s with %s", c.name, c.key)
		require.ErrorContains(b, err, b.ns+":"+c.key, "it names the key")
		require.Equal(b, before, b.dump(), "%s with %s", c.name, c.key)
		restore()
	}
	require.NoError(b, b.store.CreateTopic(b.Context(), &store.Topic{Name: "new"}))
}

// A consumer that cannot enroll leaves nothing of itself.
func wrongTypesEnrolling(b *bed) {
	defer b.spoil(b.ns + ":consumers")()
	before := b.dump()
	require.ErrorIs(b, b.store.Enroll(b.Context(), "new", time.Minute, []byte("{}")), errs.WrongType)
	require.ErrorIs(b, b.store.Leave(b.Context(), "new"), errs.WrongType)
	require.Equal(b, before, b.dump())
}

// What only reads names the key, too.
func wrongTypesOfReads(b *bed) {
	b.stock()
	k := &b.keys
	for name, c := range map[string]struct {
		keys []string
		call func() error
	}{
		"figures": {[]string{k.Queue, k.Returns, k.Retry, k.Dead, k.Delayed, k.Unreadable, k.Holders}, func() error {
			_, err := b.store.Figures(b.Context(), k)
			return err
		}},
		"count":      {[]string{k.Retry, k.Dead}, func() error { _, _, err := b.store.CountFailures(b.Context(), k); return err }},
		"pending":    {[]string{k.Delayed}, func() error { _, _, err := b.store.Pending(b.Context(), k, "", 10); return err }},
		"unreadable": {[]string{k.Unreadable}, func() error { _, _, err := b.store.Unreadable(b.Context(), k, store.AtLeastOnce, 10); return err }},
		"page": {[]string{k.Dead, k.Failures}, func() error {
			_, err := b.store.PageFailures(b.Context(), k, store.DeadSet, 0, "", 0, 10)
			return err
		}},
		"find": {[]string{k.Failures, k.Dead}, func() error {
			_, err := b.store.FindFailure(b.Context(), k, "d1")
			return err
		}},
		"read": {[]string{k.Failures, k.Dead}, func() error {
			_, err := b.store.ReadFailures(b.Context(), k, []string{"d1"})
			return err
		}},
		"ring": {[]string{k.Queue, k.Bell, k.Config}, func() error { _, _, err := b.store.Ring(b.Context(), k); return err }},
		"held": {[]string{k.Inflight(consumer)}, func() error { _, err := b.store.Held(b.Context(), k, consumer); return err }},
	} {
		for _, key := range c.keys {
			restore := b.spoil(key)
			err := c.call()
			require.ErrorIs(b, err, errs.WrongType, "%s with %s", name, key)
			require.ErrorContains(b, err, errs.WrongType.Error()+": "+key+": ", name)
			restore()
		}
	}
}

// Several keys of other types are all named, but not without bound.
func wrongTypesOfSeveral(b *bed) {
	b.stock()
	k := &b.keys
	for _, key := range []string{k.Queue, k.Bell, k.Delayed, k.DelayIndex, k.DelayOrder} {
		defer b.spoil(key)()
	}
	_, err := b.store.Transfer(b.Context(), k, store.AtLeastOnce)
	require.ErrorContains(b, err, errs.WrongType.Error()+": "+k.Queue+", "+k.Bell+", "+k.Delayed+": ")
}
