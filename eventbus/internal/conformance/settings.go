package conformance

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// Settings of handlers that are changed while processes run.
func settings() []test {
	return []test{
		{"TimeoutChanges", timeoutChangesAtRunTime},
		{"AttemptsChange", attemptsChangeAtRunTime},
		{"ConcurrencyChanges", concurrencyChangesAtRunTime},
		{"BackoffChanges", backoffChangesAtRunTime},
		{"AreKeptForLaterProcesses", settingsAreKeptForLaterProcesses},
		{"AreListed", settingsAreListed},
		{"AreMerged", settingsAreMerged},
		{"HaveARevision", settingsHaveARevision},
		{"AreChecked", settingsAreChecked},
		{"AreWholeMilliseconds", settingsAreWholeMilliseconds},
		{"TakeEffectWithinASecond", settingsTakeEffectWithinASecond},
		{"TakeEffectWithoutANotice", settingsTakeEffectWithoutANotice},
	}
}

func rejects(context.Context, *eventbus.Event) error { return eventbus.Reject(errOnPurpose) }

func (e *env) update(handler string, u eventbus.HandlerUpdate) {
	e.Helper()
	_, err := e.bus.Handlers().Update(e.Context(), e.topic, handler, u)
	require.NoError(e, err)
}

// inForce waits until the one process that runs the handler says that its
// settings are such.
func (e *env) inForce(handler string, such func(s eventbus.HandlerSettings) bool) {
	e.Helper()
	e.eventually("the settings to be in force", func() bool {
		got, err := e.bus.Handlers().Get(e.Context(), e.topic, handler)
		require.NoError(e, err)
		return len(got.Consumers) > 0 && such(got.Settings)
	})
}

func timeoutChangesAtRunTime(e *env) {
	e.create(eventbus.TopicConfig{})
	left := make(chan time.Duration, 100)
	p := e.run("h", func(ctx context.Context, _ *eventbus.Event) error {
		deadline, _ := ctx.Deadline()
		left <- time.Until(deadline)
		return nil
	}, eventbus.HandleConfig{Timeout: time.Hour})
	e.send(1)
	p.next()
	require.Greater(e, <-left, 59*time.Minute)

	minute := time.Minute
	e.update("h", eventbus.HandlerUpdate{Timeout: &minute})
	e.inForce("h", func(s eventbus.HandlerSettings) bool { return s.Timeout == time.Minute })
	e.send(1)
	p.next()
	got := receive(e, left, "the run")
	require.LessOrEqual(e, got, time.Minute)
	require.Greater(e, got, 30*time.Second)

	require.NoError(e, e.bus.Handlers().Reset(e.Context(), e.topic, "h"))
	e.inForce("h", func(s eventbus.HandlerSettings) bool { return s.Timeout == time.Hour })
	e.send(1)
	p.next()
	require.Greater(e, receive(e, left, "the run"), 59*time.Minute)
}

func attemptsChangeAtRunTime(e *env) {
	e.create(eventbus.TopicConfig{})
	p := e.run("h", func(context.Context, *eventbus.Event) error { return eventbus.RetryAfter(0, errOnPurpose) }, once())
	e.send(1)
	require.Equal(e, 1, e.dead(1)[0].Attempts)
	four := 4
	e.update("h", eventbus.HandlerUpdate{MaxAttempts: &four})
	e.inForce("h", func(s eventbus.HandlerSettings) bool { return s.MaxAttempts == 4 })
	id := e.send(2)[0]
	for _, f := range e.dead(2) {
		if f.EventID == id {
			require.Equal(e, 4, f.Attempts)
		}
	}
	e.idle()
	p.total(5)
}

func concurrencyChangesAtRunTime(e *env) {
	e.create(eventbus.TopicConfig{})
	g := newGate()
	b := e.newBus(eventbus.Config{})
	p := e.handle(b, "h", g.pass, eventbus.HandleConfig{Concurrency: 1})
	pass := e.barrier(b)
	e.start(b)
	e.sendNumbers(4)
	p.next()
	pass()
	p.total(1)
	three := 3
	e.update("h", eventbus.HandlerUpdate{Concurrency: &three})
	p.take(2)
	pass()
	p.total(3)
	none := 0
	e.update("h", eventbus.HandlerUpdate{Concurrency: &none}) // no limit
	p.next()
	close(g.open)
	e.idle()
	p.total(4)
}

func backoffChangesAtRunTime(e *env) {
	e.create(eventbus.TopicConfig{})
	p := e.run("h", func(_ context.Context, event *eventbus.Event) error {
		if event.Attempt == 1 {
			return errOnPurpose
		}
		return nil
	}, eventbus.HandleConfig{Retry: eventbus.RetryPolicy{Initial: 300 * 24 * time.Hour, Max: 300 * 24 * time.Hour}})
	short := time.Millisecond
	e.update("h", eventbus.HandlerUpdate{RetryInitial: &short, RetryMax: &short})
	e.inForce("h", func(s eventbus.HandlerSettings) bool { return s.RetryMax == short })
	e.send(1)
	p.take(2)
}

func settingsAreKeptForLaterProcesses(e *env) {
	e.create(eventbus.TopicConfig{})
	two := 2
	e.update("h", eventbus.HandlerUpdate{MaxAttempts: &two}) // before anybody runs it
	for range 2 {
		b := e.newBus(eventbus.Config{})
		p := e.handle(b, "h", func(context.Context, *eventbus.Event) error { return eventbus.RetryAfter(0, errOnPurpose) }, once())
		stop := e.start(b)
		e.send(1)
		require.Equal(e, 2, e.dead(1)[0].Attempts)
		p.total(2)
		stop()
		_, err := e.bus.Failures().Discard(e.Context(), e.topic, eventbus.FailureFilter{All: true})
		require.NoError(e, err)
	}
}

func settingsAreListed(e *env) {
	e.create(eventbus.TopicConfig{})
	_, err := e.bus.Handlers().Get(e.Context(), e.topic, "h")
	require.ErrorIs(e, err, eventbus.ErrHandlerNotFound)

	buses := []*eventbus.Bus{e.newBus(eventbus.Config{}), e.newBus(eventbus.Config{}), e.newBus(eventbus.Config{Group: "other"})}
	for _, b := range buses {
		e.handle(b, "h", nil, eventbus.HandleConfig{
			Timeout: time.Second, Concurrency: 3, Retry: eventbus.RetryPolicy{MaxAttempts: 4, Initial: 5 * time.Second, Max: 6 * time.Second},
			MaxAbandoned: 7, Breaker: eventbus.BreakerConfig{Failures: 8, Open: 9 * time.Second},
		})
	}
	e.handle(buses[0], "another", nil)
	for _, b := range buses {
		e.start(b)
	}
	off := false
	e.update("h", eventbus.HandlerUpdate{Enabled: &off})
	e.update("stored", eventbus.HandlerUpdate{Enabled: &off})
	e.inForce("h", func(s eventbus.HandlerSettings) bool { return !s.Enabled })

	list, err := e.bus.Handlers().List(e.Context(), e.topic)
	require.NoError(e, err)
	require.Len(e, list, 3)
	require.Equal(e, "another", list[0].ID)
	require.True(e, list[0].Settings.Enabled)
	require.Equal(e, eventbus.DefaultTimeout, list[0].Settings.Timeout)
	require.Equal(e, eventbus.DefaultMaxAttempts, list[0].Settings.MaxAttempts)
	require.Len(e, list[0].Consumers, 1)
	require.Equal(e, "h", list[1].ID)
	require.Len(e, list[1].Consumers, 2, "those of the bus's group")
	require.Equal(e, eventbus.HandlerSettings{
		Enabled: false, Timeout: time.Second, MaxAttempts: 4, RetryInitial: 5 * time.Second, RetryMax: 6 * time.Second,
		Concurrency: 3, MaxAbandoned: 7, BreakerFailures: 8, BreakerOpen: 9 * time.Second,
	}, list[1].Settings)
	require.Equal(e, eventbus.HandlerUpdate{Enabled: &off}, list[1].Changed)
	require.Equal(e, "stored", list[2].ID)
	require.Empty(e, list[2].Consumers)
}

func settingsAreMerged(e *env) {
	e.create(eventbus.TopicConfig{})
	one, two, minute := 1, 2, time.Minute
	e.update("h", eventbus.HandlerUpdate{MaxAttempts: &one, Timeout: &minute})
	e.update("h", eventbus.HandlerUpdate{MaxAttempts: &two, Concurrency: &one})
	got, err := e.bus.Handlers().Get(e.Context(), e.topic, "h")
	require.NoError(e, err)
	require.Equal(e, eventbus.HandlerUpdate{MaxAttempts: &two, Timeout: &minute, Concurrency: &one}, got.Changed)
	require.NoError(e, e.bus.Handlers().Reset(e.Context(), e.topic, "h"))
	_, err = e.bus.Handlers().Get(e.Context(), e.topic, "h")
	require.ErrorIs(e, err, eventbus.ErrHandlerNotFound)
}

func settingsHaveARevision(e *env) {
	e.create(eventbus.TopicConfig{})
	one, two := 1, 2
	topic, err := e.bus.Topics().Get(e.Context(), e.topic)
	require.NoError(e, err)
	first := topic.Revision
	revision, err := e.bus.Handlers().Update(e.Context(), e.topic, "h", eventbus.HandlerUpdate{MaxAttempts: &one, IfRevision: first})
	require.NoError(e, err)
	require.Equal(e, first+1, revision)
	_, err = e.bus.Handlers().Update(e.Context(), e.topic, "h", eventbus.HandlerUpdate{MaxAttempts: &two, IfRevision: first})
	require.ErrorIs(e, err, eventbus.ErrConflict)
	got, err := e.bus.Handlers().Get(e.Context(), e.topic, "h")
	require.NoError(e, err)
	require.Equal(e, 1, *got.Changed.MaxAttempts)
}

func settingsAreChecked(e *env) {
	e.create(eventbus.TopicConfig{})
	zero, negative, none := 0, -1, time.Duration(0)
	for name, u := range map[string]eventbus.HandlerUpdate{
		"nothing":         {},
		"attempts":        {MaxAttempts: &zero},
		"concurrency":     {Concurrency: &negative},
		"timeout":         {Timeout: &none},
		"backoff":         {RetryInitial: &none},
		"longest backoff": {RetryMax: &none},
		"abandoned":       {MaxAbandoned: &zero},
		"breaker":         {BreakerFailures: &negative},
		"breaker's time":  {BreakerOpen: &none},
		"revision":        {MaxAttempts: &[]int{1}[0], IfRevision: -1},
	} {
		_, err := e.bus.Handlers().Update(e.Context(), e.topic, "h", u)
		require.ErrorIs(e, err, eventbus.ErrInvalidArgument, name)
	}
	// Also beside what was set before, which stays.
	second, minute, hour := time.Second, time.Minute, time.Hour
	for set, wrong := range map[eventbus.HandlerUpdate]eventbus.HandlerUpdate{
		{RetryMax: &minute}:     {RetryInitial: &hour},
		{RetryInitial: &minute}: {RetryMax: &second},
	} {
		e.update("h", set)
		_, err := e.bus.Handlers().Update(e.Context(), e.topic, "h", wrong)
		require.ErrorIs(e, err, eventbus.ErrInvalidArgument)
		require.ErrorContains(e, err, "that was set before, 1m0s, which ")
		wrong.IfRevision = 1
		_, err = e.bus.Handlers().Update(e.Context(), e.topic, "h", wrong)
		require.ErrorIs(e, err, eventbus.ErrConflict, "what it is wrong beside may not hold")
		got, err := e.bus.Handlers().Get(e.Context(), e.topic, "h")
		require.NoError(e, err)
		require.Equal(e, set, got.Changed)
		e.update("h", eventbus.HandlerUpdate{RetryInitial: &minute, RetryMax: &minute})
		require.NoError(e, e.bus.Handlers().Reset(e.Context(), e.topic, "h"))
	}
	other := e.newBus(eventbus.Config{Group: "other"})
	require.ErrorIs(e, other.Handlers().Disable(e.Context(), e.topic, "h"), eventbus.ErrGroupNotFound)
}

// One change after the other, each in force within a second. The limit of the
// test is longer, for slow machines; what comes with the next sweep or later
// would exceed it in ten changes.
func settingsAreWholeMilliseconds(e *env) {
	e.create(eventbus.TopicConfig{})
	short, odd, whole := time.Nanosecond, time.Second+time.Microsecond, time.Second+time.Millisecond
	e.update("h", eventbus.HandlerUpdate{Timeout: &odd, RetryInitial: &short, BreakerOpen: &odd})
	// Of one length once they are rounded up.
	e.update("h", eventbus.HandlerUpdate{RetryInitial: &whole, RetryMax: &odd})
	got, err := e.bus.Handlers().Get(e.Context(), e.topic, "h")
	require.NoError(e, err)
	require.Equal(e, eventbus.HandlerUpdate{Timeout: &whole, RetryInitial: &whole, RetryMax: &whole, BreakerOpen: &whole}, got.Changed)
}

func settingsTakeEffectWithinASecond(e *env) {
	e.create(eventbus.TopicConfig{})
	p := e.run("h", nil)
	e.send(1)
	p.next()
	began := time.Now()
	for i := range 10 {
		attempts := i + 1
		e.update("h", eventbus.HandlerUpdate{MaxAttempts: &attempts})
		e.inForce("h", func(s eventbus.HandlerSettings) bool { return s.MaxAttempts == attempts })
	}
	require.Less(e, time.Since(began), 5*time.Second)
}

// A notice that was missed during a reconnect is made good by the counter, which
// every process looks at each second.
func settingsTakeEffectWithoutANotice(e *env) {
	e.create(eventbus.TopicConfig{Concurrency: 1})
	g := newGate()
	b := e.newBus(eventbus.Config{})
	p := e.handle(b, "h", g.pass)
	pass := e.barrier(b)
	e.start(b)
	e.sendNumbers(3)
	p.next()
	pass()
	p.total(1)
	require.NoError(e, e.rdb.HSet(e.Context(), e.key("config"), "concurrency", 3).Err())
	require.NoError(e, e.rdb.HIncrBy(e.Context(), e.key("config"), "rev", 1).Err())
	require.NoError(e, e.rdb.Incr(e.Context(), e.namespace+":revision").Err())
	p.take(2)
	close(g.open)
}
