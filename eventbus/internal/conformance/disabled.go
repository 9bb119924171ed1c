package conformance

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// Handlers that are switched off.
func disabled() []test {
	return []test{
		{"OnlyHandlerLeavesEventsInTheQueue", onlyHandlerDisabledLeavesEventsInTheQueue},
		{"StartsDisabled", handlerStartsDisabled},
		{"ShareOfOneIsPutOff", shareOfADisabledHandlerIsPutOff},
	}
}

func onlyHandlerDisabledLeavesEventsInTheQueue(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{Concurrency: 1})
	p := e.handle(b, "h", nil)
	pass := e.barrier(b)
	e.start(b)
	e.send(0)
	p.next()
	require.NoError(e, e.bus.Handlers().Disable(e.Context(), e.topic, "h"))
	e.inForce("h", func(s eventbus.HandlerSettings) bool { return !s.Enabled })
	sent := e.sendNumbers(5)
	pass()
	p.total(1)
	s := e.stats()
	require.EqualValues(e, 5, s.Waiting)
	require.Zero(e, s.Retrying)
	require.Zero(e, s.InFlight)
	require.True(e, s.Enabled)

	require.NoError(e, e.bus.Handlers().Enable(e.Context(), e.topic, "h"))
	require.Equal(e, sent, ids(p.take(5)))
}

func handlerStartsDisabled(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{})
	p := e.handle(b, "h", nil, eventbus.HandleConfig{Disabled: true})
	pass := e.barrier(b)
	e.start(b)
	e.send(1)
	pass()
	p.total(0)
	require.EqualValues(e, 1, e.stats().Waiting)
	require.NoError(e, e.bus.Handlers().Enable(e.Context(), e.topic, "h"))
	p.next()
	require.NoError(e, e.bus.Handlers().Reset(e.Context(), e.topic, "h"))
	e.inForce("h", func(s eventbus.HandlerSettings) bool { return !s.Enabled })
}

func shareOfADisabledHandlerIsPutOff(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{})
	on := e.handle(b, "on", nil)
	off := e.handle(b, "off", nil, eventbus.HandleConfig{Disabled: true})
	e.start(b)
	id := e.send(1)[0]
	on.next()
	e.eventually("its share", func() bool { return e.count().Retrying == 1 })
	f := e.retrying()[0]
	require.Equal(e, id, f.EventID)
	require.Equal(e, "off", f.Handler)
	require.Equal(e, eventbus.ReasonDisabled, f.Reason)
	require.Zero(e, f.Attempts)
	require.True(e, f.NextAttempt.After(time.Now()))
	off.total(0)

	require.NoError(e, e.bus.Handlers().Enable(e.Context(), e.topic, "off"))
	e.inForce("off", func(s eventbus.HandlerSettings) bool { return s.Enabled })
	require.EqualValues(e, 1, e.replay(eventbus.FailureFilter{Handler: "off", State: eventbus.Retrying}))
	require.Equal(e, 1, off.next().Attempt)
	e.idle()
	on.total(1)
	off.total(1)
}

// breakers: a handler that keeps failing is not called for a while.
func breakers() []test {
	return []test{
		{"PutsOffWithoutUsingAttempts", breakerPutsOffWithoutUsingAttempts},
		{"LeavesEventsInTheQueue", breakerLeavesEventsInTheQueue},
		{"IsToldWhileOpen", breakerIsToldWhileOpen},
		{"IsClosedByEnabling", breakerIsClosedByEnabling},
	}
}

func breakerPutsOffWithoutUsingAttempts(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{Concurrency: 1})
	fine := e.handle(b, "fine", nil)
	down := e.handle(b, "down", func(_ context.Context, event *eventbus.Event) error {
		if string(event.Payload) == `"fails"` {
			return errOnPurpose
		}
		return nil
	}, eventbus.HandleConfig{Breaker: eventbus.BreakerConfig{Failures: 2, Open: 50 * time.Millisecond}, Retry: eventbus.RetryPolicy{MaxAttempts: 1}})
	e.start(b)
	e.send("fails", "fails")
	down.take(2)
	e.dead(2)
	// The breaker is open; whether this one comes before its time is up or after,
	// it is run once, as its first attempt, and the sibling is not held up.
	id := e.send("good")[0]
	require.Equal(e, "good", text(fine.take(3)[2]))
	got := down.next()
	require.Equal(e, id, got.ID)
	require.Equal(e, 1, got.Attempt)
	e.idle()
	fine.total(3)
	down.total(3)

	// With a breaker that stays open the share is put off.
	minutes := 10 * time.Minute
	e.update("down", eventbus.HandlerUpdate{BreakerOpen: &minutes})
	e.inForce("down", func(s eventbus.HandlerSettings) bool { return s.BreakerOpen == minutes })
	e.send("fails", "fails")
	e.dead(4)
	e.send("good")
	e.eventually("the share to be put off", func() bool { return e.count().Retrying == 1 })
	f := e.retrying()[0]
	require.Equal(e, "down", f.Handler)
	require.Equal(e, eventbus.ReasonBreaker, f.Reason)
	require.Zero(e, f.Attempts)
	require.WithinRange(e, f.NextAttempt, f.FailedAt.Add(minutes-time.Minute), f.FailedAt.Add(minutes+time.Minute))
	fine.take(3)
	down.total(5)
}

// text is a payload that is a JSON string, without its quotes.
func text(event *eventbus.Event) string { return string(event.Payload[1 : len(event.Payload)-1]) }

func breakerLeavesEventsInTheQueue(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{Concurrency: 1})
	p := e.handle(b, "down", func(_ context.Context, event *eventbus.Event) error { return errOnPurpose }, eventbus.HandleConfig{
		Breaker: eventbus.BreakerConfig{Failures: 2, Open: 10 * time.Minute}, Retry: eventbus.RetryPolicy{MaxAttempts: 1},
	})
	pass := e.barrier(b)
	e.start(b)
	sent := e.sendNumbers(6)
	require.Equal(e, sent[:2], ids(p.take(2)))
	e.dead(2)
	pass()
	p.total(2)
	s := e.stats()
	require.EqualValues(e, 4, s.Waiting)
	require.Zero(e, s.Retrying)

	// Rejections and snoozes do not count as failures; a breaker with other
	// settings begins anew.
	off := 0
	e.update("down", eventbus.HandlerUpdate{BreakerFailures: &off})
	require.Equal(e, sent[2:], ids(p.take(4)))
	e.dead(6)
}

// Whoever looks from outside sees in which processes a breaker is open.
func breakerIsToldWhileOpen(e *env) {
	e.create(eventbus.TopicConfig{})
	open := func(id string) (told []string, all int) {
		info, err := e.bus.Handlers().Get(e.Context(), e.topic, id)
		require.NoError(e, err)
		return info.OpenBreakers, len(info.Consumers)
	}
	var repaired atomic.Bool
	work := func(context.Context, *eventbus.Event) error {
		if repaired.Load() {
			return nil
		}
		return errOnPurpose
	}
	cfg := eventbus.HandleConfig{
		Breaker: eventbus.BreakerConfig{Failures: 2, Open: time.Millisecond}, Retry: eventbus.RetryPolicy{MaxAttempts: 1},
	}
	first := e.newBus(eventbus.Config{Concurrency: 1})
	p := e.handle(first, "down", work, cfg)
	e.handle(first, "fine", nil, cfg)
	stop := e.start(first)
	e.send(1, 2)
	p.take(2)
	e.eventually("it to be told", func() bool { told, _ := open("down"); return len(told) == 1 })
	told, _ := open("fine")
	require.Empty(e, told)

	second := e.newBus(eventbus.Config{Concurrency: 1})
	e.handle(second, "down", nil, cfg)
	e.handle(second, "fine", nil, cfg)
	e.start(second)
	told, all := open("down")
	require.Len(e, told, 1, "in one process alone")
	require.Equal(e, 2, all)
	consumers, err := e.bus.Consumers(e.Context())
	require.NoError(e, err)
	for _, c := range consumers {
		for _, h := range c.Handlers[e.topic] {
			require.Equal(e, h.ID == "down" && c.ID == told[0], h.OpenBreaker)
		}
	}

	// The trial of whichever event the first process gets next closes it.
	repaired.Store(true)
	e.eventually("its end to be told", func() bool {
		e.send(3)
		told, _ := open("down")
		return len(told) == 0
	})

	// Nothing of it outlives the process.
	repaired.Store(false)
	e.eventually("it to be told again", func() bool {
		e.send(4, 5)
		told, _ := open("down")
		return len(told) == 1
	})
	stop()
	told, all = open("down")
	require.Empty(e, told)
	require.Equal(e, 1, all)
}

// Whoever has repaired what was down has it tried at once: also where a process reads
// the settings only after both changes.
func breakerIsClosedByEnabling(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{Concurrency: 1})
	p := e.handle(b, "down", func(context.Context, *eventbus.Event) error { return errOnPurpose }, eventbus.HandleConfig{
		Breaker: eventbus.BreakerConfig{Failures: 2, Open: time.Hour}, Retry: eventbus.RetryPolicy{MaxAttempts: 1},
	})
	pass := e.barrier(b)
	e.start(b)
	sent := e.sendNumbers(6)
	handlers := e.bus.Handlers()
	for i := range 3 {
		require.Equal(e, sent[2*i:2*i+2], ids(p.take(2)))
		e.dead(2*i + 2)
		pass()
		p.total(int64(2*i + 2))
		if i == 1 { // one after the other
			require.NoError(e, handlers.Disable(e.Context(), e.topic, "down"))
			e.inForce("down", func(s eventbus.HandlerSettings) bool { return !s.Enabled })
			require.NoError(e, handlers.Enable(e.Context(), e.topic, "down"))
			continue
		}
		off, on := false, true
		e.update("down", eventbus.HandlerUpdate{Enabled: &off})
		e.update("down", eventbus.HandlerUpdate{Enabled: &on})
	}
	info, err := handlers.Get(e.Context(), e.topic, "down")
	require.NoError(e, err)
	on := true
	require.Equal(e, eventbus.HandlerUpdate{Enabled: &on}, info.Changed)

	// Enabling what is on changes nothing.
	e.send(6, 7, 8)
	p.take(2)
	e.dead(8)
	require.NoError(e, handlers.Enable(e.Context(), e.topic, "down"))
	timeout := 7 * time.Second
	e.update("down", eventbus.HandlerUpdate{Enabled: &on, Timeout: &timeout})
	e.inForce("down", func(s eventbus.HandlerSettings) bool { return s.Timeout == timeout })
	pass()
	p.total(8)
}
