package admin

import (
	"fmt"
	"math"
	"time"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/idl"
)

func toMessage(m eventbus.Message) (*thriftbus.Message, error) {
	raw, err := eventbus.RawOf(m.Value)
	if err != nil {
		return nil, err
	}
	out := &thriftbus.Message{Payload: raw.Payload, Headers: m.Headers}
	if raw.ContentType != "" {
		out.ContentType = &raw.ContentType
	}
	if m.ID != "" {
		out.ID = &m.ID
	}
	if m.Delay != 0 {
		out.DelayMs = new(toMillis(m.Delay)) // rounded up, as the bus does it: nothing comes early
	}
	if !m.DueAt.IsZero() {
		due := idl.UnixMilli(m.DueAt)
		if m.DueAt.After(time.UnixMilli(due)) && due < math.MaxInt64 {
			due++ // likewise
		}
		out.DueAtMs = &due
	}
	return out, nil
}

func fromMessage(m *thriftbus.Message) (eventbus.Message, error) {
	if m == nil || m.Payload == nil {
		return eventbus.Message{}, &eventbus.ArgumentError{Field: "payload", Reason: "it is not set; an event without one has an empty payload that is set"}
	}
	delay, err := fromMillis("delay_ms", deref(m.DelayMs))
	out := eventbus.Message{
		Value: eventbus.Raw{Payload: m.Payload, ContentType: deref(m.ContentType)},
		ID:    deref(m.ID), Headers: m.Headers, Delay: delay,
	}
	if m.DueAtMs != nil {
		out.DueAt = time.UnixMilli(max(*m.DueAtMs, 0)).UTC() // never the zero time, which is none
	}
	return out, err
}

func fromMessages(list []*thriftbus.Message) ([]eventbus.Message, error) {
	out := make([]eventbus.Message, len(list))
	for i, m := range list {
		var err error
		if out[i], err = fromMessage(m); err != nil {
			return nil, fmt.Errorf("event %d of %d: %w", i+1, len(list), err)
		}
	}
	return out, nil
}

func fromEvent(e *thriftbus.Event) *eventbus.Event {
	if e == nil {
		return nil
	}
	out := &eventbus.Event{
		ID: e.ID, Topic: e.Topic, Type: e.Type, Source: e.Source, Time: timeOf(e.TimeMs), ContentType: e.ContentType, Payload: e.Payload,
		Group: e.Group, Handler: e.Handler, Attempt: int(e.Attempt), Deliveries: int(e.Deliveries),
	}
	if len(e.Headers) > 0 {
		out.Headers = e.Headers
	}
	return out
}
