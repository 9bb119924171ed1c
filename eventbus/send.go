package eventbus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/name"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/eventbus/internal/wire"
)

// MaxBatch is the greatest number of events in one SendBatch.
const MaxBatch = 1000

// Message is one event of a SendBatch.
type Message struct {
	// Value is marshalled as JSON, unless it is a Raw.
	Value any
	// ID defaults to a new UUIDv7.
	ID string
	// Headers are CloudEvents extension attributes: names of a to z and 0 to 9,
	// at most 20 characters, none that the bus or CloudEvents itself uses.
	Headers map[string]string
	// Delay is how long after Redis has taken it the event is handed out, in whole
	// milliseconds, rounded up; at most MaxDelay. 0 and less is at once. Delay and
	// DueAt together are an error.
	//
	// A delayed event goes to the groups that the topic has when it is sent: one that
	// is added before it is due does not get it.
	Delay time.Duration
	// DueAt is when the event is handed out, by Redis's clock; at most MaxDelay from
	// now. A time in the past is at once; so is the zero time where Delay is 0. One from
	// 1970 to 3 March 1973 is an error: it was given in seconds where milliseconds are
	// meant.
	DueAt time.Time
}

// MaxDelay is how far off an event may be due: ten years.
const MaxDelay = store.MaxDelay

// SendOption changes one Send.
type SendOption func(*Message)

// WithID sends the event under an id of the caller's, 1 to 255 bytes of UTF-8
// without control characters. The bus does not look whether it was used before.
func WithID(id string) SendOption { return func(m *Message) { m.ID = id } }

// WithHeader adds a header to the event. See Message.Headers for the rule.
func WithHeader(name, value string) SendOption {
	return func(m *Message) {
		if m.Headers == nil {
			m.Headers = map[string]string{}
		}
		m.Headers[name] = value
	}
}

// WithDelay hands the event out d later, in the groups that the topic has now. See
// Message.Delay.
func WithDelay(d time.Duration) SendOption { return func(m *Message) { m.Delay = d } }

// WithDueAt hands the event out at a time, by Redis's clock; at once for one in the
// past, and for the zero time. WithDelay beside it is an error. See Message.DueAt.
func WithDueAt(t time.Time) SendOption { return func(m *Message) { m.DueAt = t } }

// Send sends one event to every group of the topic, and returns its id. When it
// returns nil, the event is in Redis, for every group: with delivery
// at_least_once it is then not lost.
//
// Errors: ErrTopicNotFound, ErrTopicDisabled, ErrTopicDeleting, ErrTopicFull,
// ErrNoGroup, ErrMarshal, ErrPayloadTooLarge, ErrInvalidArgument, ErrClosed,
// ErrConflict (settings that keep changing), ErrWrongType, ErrRedisTooOld,
// ErrLayoutMismatch: nothing was sent. ErrUnavailable, or ctx's error: the message says when the event may have
// been sent; sending it again under the same id is then the caller's choice.
//
// Sends to one topic that are under way at the same time share calls to Redis.
func (b *Bus) Send(ctx context.Context, topic string, value any, opts ...SendOption) (id string, err error) {
	m := Message{Value: value}
	for _, o := range opts {
		o(&m)
	}
	ids, err := b.SendBatch(ctx, topic, []Message{m})
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// SendBatch sends up to MaxBatch (1000) events in one step: all of them, in
// their order, to every group, or none. Their payloads may have 64 MiB in all.
// It returns their ids. Errors are those of Send.
func (b *Bus) SendBatch(ctx context.Context, topic string, messages []Message) (ids []string, err error) {
	doing := func(err error) error { return errs.Doing(err, fmt.Sprintf("send to topic %s", errs.Quote(topic))) }
	if len(messages) > MaxBatch {
		return nil, doing(errs.Invalid("messages", len(messages), "a batch has at most %d events; send several", MaxBatch))
	}
	of := func(i int, err error) error {
		if len(messages) > 1 {
			err = fmt.Errorf("event %d of %d: %w", i+1, len(messages), err)
		}
		return doing(err)
	}
	// Values come first, as they do where they are marshalled far from the bus, by a
	// client of package admin.
	entries := make([]wire.Entry, len(messages))
	for i, m := range messages {
		raw, err := RawOf(m.Value)
		if err != nil {
			return nil, of(i, err)
		}
		entries[i].Data, entries[i].ContentType = raw.Payload, raw.ContentType
	}
	if err := name.Check("topic", topic); err != nil {
		return nil, doing(err)
	}
	if len(messages) == 0 {
		return nil, nil
	}
	ids = make([]string, len(messages))
	var due []store.Due // nil while all are due at once
	now, total := time.Now().UTC(), 0
	for i, m := range messages {
		if err := b.complete(&entries[i], topic, m, now); err != nil {
			return nil, of(i, err)
		}
		ids[i] = entries[i].ID
		total += len(entries[i].Data)
		if d := (store.Due{After: m.Delay, At: m.DueAt}); !d.Now() {
			if due == nil {
				due = make([]store.Due, len(messages))
			}
			due[i] = d
		}
	}
	if total > MaxPayloadLimit {
		return nil, doing(tooLarge(total, MaxPayloadLimit, "the batch's payloads have", "send several batches"))
	}
	if err := b.ready(ctx); err != nil {
		return nil, doing(err)
	}
	if err := b.sender.SendDelayed(ctx, topic, entries, due); err != nil {
		return nil, doing(err)
	}
	return ids, nil
}

// complete checks one message, and makes an entry of it that has its payload. What the
// caller may change after a Send that its context has ended is copied: the call may
// still be under way.
func (b *Bus) complete(e *wire.Entry, topic string, m Message, now time.Time) error {
	if len(e.Data) > b.cfg.MaxPayload {
		return tooLarge(len(e.Data), b.cfg.MaxPayload, "the payload has", "send a reference to it, or raise the limit (Config.MaxPayload; max_payload in a settings file)")
	}
	switch m.Value.(type) {
	case Raw, json.RawMessage:
		e.Data = slices.Clone(e.Data)
	}
	e.ID, e.Type, e.Source, e.Time, e.Headers = m.ID, topic, b.cfg.Source, now, maps.Clone(m.Headers)
	if e.ID == "" {
		e.ID = newID()
		if m.Delay > 0 || !m.DueAt.IsZero() {
			e.Time = wire.TimeOf(e.ID) // which pending entries need not repeat
		}
	}
	return errors.Join(checkID(e.ID), checkContentType(e.ContentType), wire.CheckHeaders(m.Headers), checkDue(m, now))
}

// checkDue refuses what lies far off by this process's clock. By Redis's, that which
// is near the limit may be refused too.
func checkDue(m Message, now time.Time) error {
	switch {
	case m.Delay != 0 && !m.DueAt.IsZero():
		return errs.Invalid("DueAt", m.DueAt, "a delay is set too; set one of them")
	case m.Delay > MaxDelay:
		return errs.Invalid("Delay", m.Delay, "at most %v, ten years, are right", MaxDelay)
	case m.DueAt.Sub(now) > MaxDelay+24*time.Hour:
		return errs.Invalid("DueAt", m.DueAt, "it is more than ten years from now")
	case inSeconds(m.DueAt):
		return errs.Invalid("DueAt", m.DueAt, "%s", wasInSeconds)
	}
	return nil
}

// inSeconds tells of a time that it was given in seconds where milliseconds are meant:
// whoever does so with a time of today gets one of January 1970.
func inSeconds(t time.Time) bool {
	return t.After(time.UnixMilli(0)) && !t.After(time.UnixMilli(99_999_999_999))
}

const wasInSeconds = "it seems to have been given in seconds, and taken for milliseconds; a time before 3 March 1973 is not right"

func tooLarge(size, most int, what, instead string) error {
	return fmt.Errorf("%w: %w: %s %d bytes, at most %d are allowed; %s", errs.PayloadTooLarge, errs.InvalidArgument, what, size, most, instead)
}

func checkID(id string) error {
	return checkText("id", id)
}

func checkContentType(text string) error {
	if text == "" {
		return nil
	}
	return checkText("content type", text)
}

// checkText allows 1 to 255 bytes of UTF-8 without control characters.
func checkText(field, text string) error {
	if len(text) > 255 {
		return errs.Invalid(field, text, "it has %d bytes; 1 to 255 are right", len(text))
	}
	if !utf8.ValidString(text) {
		return errs.Invalid(field, text, "it is not valid UTF-8")
	}
	for i, r := range text {
		if r < 0x20 || r == 0x7f {
			return errs.Invalid(field, text, "it has the control character %q at byte %d", r, i)
		}
	}
	return nil
}
