package conformance

import (
	"context"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// What befalls the server without ending it.
func server() []test {
	return []test{
		{"ForgetsItsScripts", serverForgetsItsScripts},
		{"HoldsAnotherLayout", serverHoldsAnotherLayout},
		{"NamespacesAreApart", namespacesAreApart},
	}
}

// No error reaches anybody when the script cache is emptied again and again. The
// other tests that run at this time see it too.
func serverForgetsItsScripts(e *env) {
	e.create(eventbus.TopicConfig{})
	p := e.run("h", func(_ context.Context, event *eventbus.Event) error {
		if event.Attempt == 1 {
			return eventbus.RetryAfter(0, errOnPurpose)
		}
		return nil
	})
	flush := func(ctx context.Context, node *redis.Client) error { return node.ScriptFlush(ctx).Err() }
	for range 20 {
		switch c := e.rdb.(type) {
		case *redis.ClusterClient:
			require.NoError(e, c.ForEachMaster(e.Context(), flush))
		case *redis.Client:
			require.NoError(e, flush(e.Context(), c))
		}
		e.send(1)
		p.take(2)
	}
	e.idle()
	p.total(40)
	require.Zero(e, e.count())
}

func serverHoldsAnotherLayout(e *env) {
	key := e.namespace + ":layout"
	require.NoError(e, e.rdb.Set(e.Context(), key, "999", 0).Err())
	b := e.newBus(eventbus.Config{})
	e.handle(b, "h", nil)
	for name, err := range map[string]error{
		"Ready":  b.Ready(e.Context()),
		"Create": b.Topics().Create(e.Context(), e.topic, eventbus.TopicConfig{}),
		"Send":   second(b.Send(e.Context(), e.topic, 1)),
		"Run":    e.runError(b),
	} {
		require.ErrorIs(e, err, eventbus.ErrLayoutMismatch, name)
		require.ErrorContains(e, err, "999", name)
	}
	require.Equal(e, []string{key}, e.keys(e.namespace), "nothing was touched")
}

func namespacesAreApart(e *env) {
	e.create(eventbus.TopicConfig{})
	other := e.newBus(eventbus.Config{Namespace: e.namespace + "-other"})
	require.NoError(e, other.Topics().Create(e.Context(), e.topic, eventbus.TopicConfig{}))
	p := e.run("h", nil)
	_, err := other.Send(e.Context(), e.topic, "other")
	require.NoError(e, err)
	e.send("own")
	require.Equal(e, "own", text(p.next()))
	e.idle()
	p.total(1)
	s, err := other.GroupStats(e.Context(), e.topic)
	require.NoError(e, err)
	require.EqualValues(e, 1, s.Waiting)
	require.NoError(e, other.Topics().Delete(e.Context(), e.topic))
	require.EqualValues(e, 1, e.stats().Done)
}
