// Package idl turns what the bus knows into what the IDL describes, as far as both
// the admin service and the handlers that other processes host need it.
package idl

import (
	"math"
	"time"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// Event is an event as the IDL has it; nil for nil. The payload's bytes are shared,
// not copied.
func Event(e *eventbus.Event) *thriftbus.Event {
	if e == nil {
		return nil
	}
	return &thriftbus.Event{
		ID: e.ID, Topic: e.Topic, Type: e.Type, Source: e.Source, TimeMs: Millis(e.Time), ContentType: e.ContentType, Payload: e.Payload,
		Headers: e.Headers, Group: e.Group, Handler: e.Handler, Attempt: Int32(e.Attempt), Deliveries: Int32(e.Deliveries),
	}
}

// Millis is a time in milliseconds since 1970: 0 where there is none.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return UnixMilli(t)
}

// UnixMilli is a time in milliseconds since 1970; of one that they cannot tell, the
// nearest.
func UnixMilli(t time.Time) int64 {
	switch {
	case t.After(time.UnixMilli(math.MaxInt64)):
		return math.MaxInt64
	case t.Before(time.UnixMilli(math.MinInt64)):
		return math.MinInt64
	}
	return t.UnixMilli()
}

// Int32 is a number on the wire. One that it cannot carry is the nearest that it can,
// which a server refuses where the number itself would be refused.
func Int32(n int) int32 { return int32(max(math.MinInt32, min(n, math.MaxInt32))) }
