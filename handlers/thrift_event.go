package handlers

import (
	"math"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// wireEvent is the event as the IDL has it. The payload's bytes are shared, not
// copied.
func wireEvent(event *eventbus.Event) *thriftbus.Event {
	wire := &thriftbus.Event{
		ID: event.ID, Topic: event.Topic, Type: event.Type, Source: event.Source,
		ContentType: event.ContentType, Payload: event.Payload, Headers: event.Headers,
		Group: event.Group, Handler: event.Handler,
		Attempt: narrow(event.Attempt), Deliveries: narrow(event.Deliveries),
	}
	if !event.Time.IsZero() {
		wire.TimeMs = event.Time.UnixMilli()
	}
	return wire
}

func narrow(n int) int32 { return int32(max(math.MinInt32, min(n, math.MaxInt32))) }

// size is how many bytes a call takes at most. It is known before anything is
// written, so that what is too large for a frame costs no connection.
func (t *Thrift) size(event *eventbus.Event) int {
	const (
		most      = 256 // of all that has a fixed length, in any protocol
		perString = 5   // the length of a string, in any protocol
	)
	size := most + len(t.cfg.Service) + len(t.cfg.Token) +
		len(event.ID) + len(event.Topic) + len(event.Type) + len(event.Source) + len(event.ContentType) +
		len(event.Payload) + len(event.Group) + len(event.Handler)
	for name, value := range event.Headers {
		size += 2*perString + len(name) + len(value)
	}
	return size
}
