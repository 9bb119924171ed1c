package admin

import (
	"fmt"
	"math"
	"time"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

func toMessage(m eventbus.Message) (*thriftbus.Message, error) {
	raw, ok := m.Value.(eventbus.Raw)
	if !ok {
		return nil, &eventbus.ArgumentError{Field: "Value", Value: fmt.Sprintf("%T", m.Value), Reason: "through the admin service only a Raw can be sent"}
	}
	out := &thriftbus.Message{Payload: raw.Payload, Headers: m.Headers}
	if raw.ContentType != "" {
		out.ContentType = &raw.ContentType
	}
	if m.ID != "" {
		out.ID = &m.ID
	}
	if m.Delay != 0 {
		out.DelayMs = new(span(m.Delay)) // rounded up, as the bus does it: nothing comes early
	}
	if !m.DueAt.IsZero() {
		due := unixMilli(m.DueAt)
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
	delay, err := spanOf("delay_ms", deref(m.DelayMs))
	out := eventbus.Message{
		Value: eventbus.Raw{Payload: m.Payload, ContentType: deref(m.ContentType)},
		ID:    deref(m.ID), Headers: m.Headers, Delay: max(delay, 0),
	}
	if m.DueAtMs != nil {
		out.DueAt = time.UnixMilli(*m.DueAtMs).UTC()
	}
	if m.DelayMs != nil && m.DueAtMs != nil && err == nil {
		err = &eventbus.ArgumentError{Field: "due_at_ms", Value: fmt.Sprint(*m.DueAtMs), Reason: "delay_ms is set too; set one of them"}
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
