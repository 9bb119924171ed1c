package admin

import (
	"errors"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/idl"
)

func toHandlerSettings(s eventbus.HandlerSettings) *thriftbus.HandlerSettings {
	return &thriftbus.HandlerSettings{
		Enabled: s.Enabled, TimeoutMs: toMillis(s.Timeout), MaxAttempts: idl.Int32(s.MaxAttempts), RetryInitialMs: toMillis(s.RetryInitial),
		RetryMaxMs: toMillis(s.RetryMax), Concurrency: idl.Int32(s.Concurrency), MaxAbandoned: idl.Int32(s.MaxAbandoned),
		BreakerFailures: idl.Int32(s.BreakerFailures), BreakerOpenMs: toMillis(s.BreakerOpen),
	}
}

func fromHandlerSettings(s *thriftbus.HandlerSettings) (out eventbus.HandlerSettings) {
	if s == nil {
		return out
	}
	out = eventbus.HandlerSettings{
		Enabled: s.Enabled, MaxAttempts: int(s.MaxAttempts), Concurrency: int(s.Concurrency), MaxAbandoned: int(s.MaxAbandoned),
		BreakerFailures: int(s.BreakerFailures),
	}
	// A server has checked them.
	out.Timeout, _ = fromMillis("timeout_ms", s.TimeoutMs)
	out.RetryInitial, _ = fromMillis("retry_initial_ms", s.RetryInitialMs)
	out.RetryMax, _ = fromMillis("retry_max_ms", s.RetryMaxMs)
	out.BreakerOpen, _ = fromMillis("breaker_open_ms", s.BreakerOpenMs)
	return out
}

func toHandlerUpdate(u eventbus.HandlerUpdate) *thriftbus.HandlerUpdate {
	out := &thriftbus.HandlerUpdate{
		Enabled: u.Enabled, TimeoutMs: optional(u.Timeout, toMillis), MaxAttempts: optional(u.MaxAttempts, idl.Int32),
		RetryInitialMs: optional(u.RetryInitial, toMillis), RetryMaxMs: optional(u.RetryMax, toMillis),
		Concurrency: optional(u.Concurrency, idl.Int32), MaxAbandoned: optional(u.MaxAbandoned, idl.Int32),
		BreakerFailures: optional(u.BreakerFailures, idl.Int32), BreakerOpenMs: optional(u.BreakerOpen, toMillis),
	}
	if u.IfRevision != 0 {
		out.IfRevision = &u.IfRevision
	}
	return out
}

func fromHandlerUpdate(u *thriftbus.HandlerUpdate) (eventbus.HandlerUpdate, error) {
	u = filled(u)
	number := func(n int32) int { return int(n) }
	timeout, err1 := fromOptionalMillis("timeout_ms", u.TimeoutMs)
	initial, err2 := fromOptionalMillis("retry_initial_ms", u.RetryInitialMs)
	longest, err3 := fromOptionalMillis("retry_max_ms", u.RetryMaxMs)
	open, err4 := fromOptionalMillis("breaker_open_ms", u.BreakerOpenMs)
	return eventbus.HandlerUpdate{
		Enabled: u.Enabled, Timeout: timeout, MaxAttempts: optional(u.MaxAttempts, number), RetryInitial: initial, RetryMax: longest,
		Concurrency: optional(u.Concurrency, number), MaxAbandoned: optional(u.MaxAbandoned, number),
		BreakerFailures: optional(u.BreakerFailures, number), BreakerOpen: open, IfRevision: deref(u.IfRevision),
	}, errors.Join(err1, err2, err3, err4)
}

func toHandler(h eventbus.HandlerInfo) *thriftbus.Handler {
	out := &thriftbus.Handler{
		Topic: h.Topic, Group: h.Group, ID: h.ID, Changed: toHandlerUpdate(h.Changed),
		Consumers: h.Consumers, OpenBreakers: h.OpenBreakers,
	}
	if len(h.Consumers) > 0 {
		out.Settings = toHandlerSettings(h.Settings)
	}
	return out
}

func fromHandler(h *thriftbus.Handler) eventbus.HandlerInfo {
	changed, _ := fromHandlerUpdate(h.Changed) // a server has checked it
	return eventbus.HandlerInfo{
		Topic: h.Topic, Group: h.Group, ID: h.ID, Settings: fromHandlerSettings(h.Settings), Changed: changed,
		Consumers: nilIfEmpty(h.Consumers), OpenBreakers: nilIfEmpty(h.OpenBreakers),
	}
}
