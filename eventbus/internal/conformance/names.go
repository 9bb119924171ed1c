package conformance

import (
	"strings"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed4933/eventbus/eventbus"
)

// One rule for names, the same everywhere.
func names() []test {
	return []test{
		{"WithinTheRuleWorkEndToEnd", namesWithinTheRuleWorkEndToEnd},
		{"WithinTheRuleAreKeptApart", namesWithinTheRuleAreKeptApart},
		{"OutsideTheRuleAreRefusedEverywhere", namesOutsideTheRuleAreRefusedEverywhere},
	}
}

// good draws names within the rule.
func good() *rapid.Generator[string] {
	letters := rapid.OneOf(
		rapid.RuneFrom([]rune("abcXYZ019._-:/")),
		rapid.RuneFrom([]rune("äßéøЖДωλאבعربहिन्दी日本語한국어ﬃǅʰ٣०")),
	)
	letters = letters.Filter(func(r rune) bool { return r != 'ि' && r != '्' && r != 'ी' }) // marks are no letters
	short := rapid.StringOfN(letters, 1, 20, 255)
	return rapid.OneOf(short, rapid.StringOfN(letters, 1, 255, 255), rapid.SampledFrom([]string{
		"a", ".", "..", "-", ":", "/", "//", "a:b", "a/b/c", "config", "topics", "a:config", "queue:default", "-flag",
		strings.Repeat("n", 255),
	}))
}

// namesWithinTheRuleWorkEndToEnd sends an event through topics, groups and
// handlers of all kinds of names.
func namesWithinTheRuleWorkEndToEnd(e *env) {
	const n = 25
	draw := func(i int) string { return good().Example(i) }
	b := e.newBus(eventbus.Config{Namespace: e.namespace + draw(1), Group: draw(2)})
	probes := map[string]*probe{}
	for i := range n {
		topic, id := draw(3+2*i), draw(4+2*i)
		if probes[topic] != nil {
			continue
		}
		require.NoError(e, b.Topics().Create(e.Context(), topic, eventbus.TopicConfig{}), "%q", topic)
		probes[topic] = e.handleTopic(b, topic, id, rejects)
	}
	e.bus = b // for the namespace
	e.start(b)
	for topic, p := range probes {
		id, err := b.Send(e.Context(), topic, topic)
		require.NoError(e, err, "%q", topic)
		got := p.next()
		require.Equal(e, id, got.ID)
		require.Equal(e, topic, got.Topic)
		require.Equal(e, topic, got.Type)
		require.Equal(e, p.id, got.Handler)
		e.topic = topic
		f := e.dead(1)[0]
		require.Equal(e, p.id, f.Handler)
		require.EqualValues(e, 1, e.replay(eventbus.FailureFilter{Handler: p.id}), "%q", p.id)
		require.Equal(e, id, p.next().ID)
		e.dead(1)
		require.NoError(e, b.Handlers().Disable(e.Context(), topic, p.id))
		e.inForce(p.id, func(s eventbus.HandlerSettings) bool { return !s.Enabled })
		require.NoError(e, b.Topics().Delete(e.Context(), topic))
	}
	listed, err := b.Topics().List(e.Context())
	require.NoError(e, err)
	require.Empty(e, listed)
}

// Whatever two names within the rule are, topics of these names hold their own.
func namesWithinTheRuleAreKeptApart(e *env) {
	rapid.Check(e.T, func(t *rapid.T) {
		a, b := good().Draw(t, "a"), good().Draw(t, "b")
		if a == b {
			return
		}
		for _, topic := range []string{a, b} {
			require.NoError(t, e.bus.Topics().Create(e.Context(), topic, eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: "default"}, {Name: a}}}))
		}
		_, err := e.bus.Send(e.Context(), a, 1)
		require.NoError(t, err)
		require.NoError(t, e.bus.Topics().RemoveGroup(e.Context(), b, a))
		require.NoError(t, e.bus.Topics().Delete(e.Context(), b))
		all, err := e.bus.Stats(e.Context(), a)
		require.NoError(t, err)
		require.NotEmpty(t, all)
		for _, s := range all {
			require.EqualValues(t, 1, s.Waiting)
		}
		require.NoError(t, e.bus.Topics().Delete(e.Context(), a))
	})
}

// bad draws names outside the rule.
func bad() *rapid.Generator[string] {
	char := rapid.OneOf(
		rapid.SampledFrom([]rune("{}[]()<>*?|\\\"'`!@#$%^&+=~,; \t\r\n\x00\x1b\x7f")),
		rapid.SampledFrom([]rune{0x00a0, 0x200b, 0x202e, 0x2028, 0xfeff, 0xfffd, '€', '😀', 0x0301}),
	)
	spoiled := rapid.Custom(func(t *rapid.T) string {
		before := rapid.StringMatching(`[a-z:/.]{0,5}`).Draw(t, "before")
		after := rapid.StringMatching(`[a-z:/.]{0,5}`).Draw(t, "after")
		return before + string(char.Draw(t, "char")) + after
	})
	return rapid.OneOf(spoiled, rapid.SampledFrom([]string{"", "\xff", "a\xc3", "\xed\xa0\x80", strings.Repeat("n", 256), strings.Repeat("ä", 128)}))
}

func namesOutsideTheRuleAreRefusedEverywhere(e *env) {
	e.create(eventbus.TopicConfig{})
	ctx, b := e.Context(), e.bus
	running := e.newBus(eventbus.Config{})
	operations := map[string]func(name string) error{
		"New, namespace": func(name string) error {
			return second(eventbus.New(e.rdb, eventbus.Config{Namespace: name, Group: "g"}))
		},
		"New, group": func(name string) error { return second(eventbus.New(e.rdb, eventbus.Config{Group: name})) },
		"TryHandle, topic": func(name string) error {
			return running.TryHandle(name, "h", eventbus.HandleFunc(rejects))
		},
		"TryHandle, id": func(name string) error {
			return running.TryHandle(e.topic, name, eventbus.HandleFunc(rejects))
		},
		"Send":          func(name string) error { return second(b.Send(ctx, name, 1)) },
		"SendBatch":     func(name string) error { return second(b.SendBatch(ctx, name, numbers(1))) },
		"Topics.Create": func(name string) error { return b.Topics().Create(ctx, name, eventbus.TopicConfig{}) },
		"Topics.Create, group": func(name string) error {
			return b.Topics().Create(ctx, "fine", eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: name}}})
		},
		"Topics.Get":     func(name string) error { return second(b.Topics().Get(ctx, name)) },
		"Topics.Update":  func(name string) error { return second(b.Topics().Update(ctx, name, eventbus.TopicUpdate{})) },
		"Topics.Enable":  func(name string) error { return b.Topics().Enable(ctx, name) },
		"Topics.Disable": func(name string) error { return b.Topics().Disable(ctx, name) },
		"Topics.Delete":  func(name string) error { return b.Topics().Delete(ctx, name) },
		"AddGroup, topic": func(name string) error {
			return b.Topics().AddGroup(ctx, name, eventbus.GroupConfig{Name: "g"})
		},
		"AddGroup, group": func(name string) error {
			return b.Topics().AddGroup(ctx, e.topic, eventbus.GroupConfig{Name: name})
		},
		"RemoveGroup, topic": func(name string) error { return b.Topics().RemoveGroup(ctx, name, "g") },
		"RemoveGroup, group": func(name string) error { return b.Topics().RemoveGroup(ctx, e.topic, name) },
		"Handlers.List":      func(name string) error { return second(b.Handlers().List(ctx, name)) },
		"Handlers.Get":       func(name string) error { return second(b.Handlers().Get(ctx, name, "h")) },
		"Handlers.Get, id":   func(name string) error { return second(b.Handlers().Get(ctx, e.topic, name)) },
		"Handlers.Enable":    func(name string) error { return b.Handlers().Enable(ctx, name, "h") },
		"Handlers.Disable, id": func(name string) error {
			return b.Handlers().Disable(ctx, e.topic, name)
		},
		"Handlers.Reset":     func(name string) error { return b.Handlers().Reset(ctx, name, "h") },
		"Handlers.Reset, id": func(name string) error { return b.Handlers().Reset(ctx, e.topic, name) },
		"Failures.List": func(name string) error {
			return second(b.Failures().List(ctx, name, eventbus.FailureQuery{}))
		},
		"Failures.Get":   func(name string) error { return second(b.Failures().Get(ctx, name, "id")) },
		"Failures.Count": func(name string) error { return second(b.Failures().Count(ctx, name)) },
		"Failures.Replay": func(name string) error {
			return second(b.Failures().Replay(ctx, name, eventbus.FailureFilter{All: true}))
		},
		"Failures.Discard": func(name string) error {
			return second(b.Failures().Discard(ctx, name, eventbus.FailureFilter{All: true}))
		},
		"Stats":      func(name string) error { return second(b.Stats(ctx, name)) },
		"GroupStats": func(name string) error { return second(b.GroupStats(ctx, name)) },
	}
	before := len(e.keys(e.namespace))
	rapid.Check(e.T, func(t *rapid.T) {
		name := bad().Draw(t, "name")
		for operation, call := range operations {
			if name == "" && strings.HasPrefix(operation, "New,") {
				continue // the default
			}
			err := call(name)
			require.ErrorIs(t, err, eventbus.ErrInvalidArgument, "%s with the name %q", operation, name)
			var argument *eventbus.ArgumentError
			require.ErrorAs(t, err, &argument)
			require.NotEmpty(t, argument.Reason)
		}
	})
	require.Len(e, e.keys(e.namespace), before, "nothing was stored")
}
