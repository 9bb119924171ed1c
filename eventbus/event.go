package eventbus

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// Event is what a handler gets. A handler must not change it, nor the bytes of
// its payload: the event's other handlers are given the same ones.
type Event struct {
	// ID identifies the event: a UUIDv7 unless the sender gave another one.
	// It stays the same through delay, retry, dead set and replay.
	ID string
	// Topic is the topic that the event was sent to.
	Topic string
	// Type is the CloudEvents "type": the topic, unless a foreign producer wrote
	// another one.
	Type string
	// Source says who sent it (CloudEvents "source"); empty for a bare payload.
	Source string
	// Time is when it was sent, by the sender's clock; zero for a bare payload.
	Time time.Time
	// ContentType is the media type of the payload, "application/json" by default.
	ContentType string
	// Payload holds the bytes as they were sent, never encoded anew.
	Payload []byte
	// Headers are the event's CloudEvents extension attributes, without those
	// of the bus itself. Nil when there are none.
	Headers map[string]string

	// Group and Handler tell for whom this call is made.
	Group   string
	Handler string
	// Attempt counts the runs of this handler on this event, from 1, and from 1 again
	// after a replay. It does not count runs that were put off (Snooze, an open
	// breaker, a stop).
	Attempt int
	// Deliveries counts how often a process died while it held this event, since
	// the event last ran to an end.
	Deliveries int
}

// Unmarshal decodes the JSON payload into v. Its error wraps ErrUnmarshal: a
// handler that returns it sends the event to the dead set at once, since
// another attempt would fail the same way.
func (e *Event) Unmarshal(v any) error {
	if err := json.Unmarshal(e.Payload, v); err != nil {
		return Reject(fmt.Errorf("%w: decode payload of event %s as %T: %w", errs.Unmarshal, e.ID, v, err))
	}
	return nil
}
