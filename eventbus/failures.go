package eventbus

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/name"
	"github.com/seed4933/eventbus/eventbus/internal/record"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/eventbus/internal/wire"
)

// FailureState says whether a failure will be tried again by itself.
type FailureState string

const (
	// Retrying failures have a next attempt; also those that were put off.
	Retrying FailureState = "retry"
	// Dead failures were given up, and wait to be replayed or discarded.
	Dead FailureState = "dead"
)

// Failure is one event that one handler did not handle.
type Failure struct {
	ID    string
	State FailureState
	Topic string
	Group string
	// Handler is the handler that failed; "" when the process died while it ran
	// the event, for all handlers.
	Handler string
	EventID string
	// Reason says why it is where it is.
	Reason FailureReason
	// Error is the last error's text, cut at 4 KiB.
	Error string
	// Attempts is how many failed, since the last replay where there was one.
	Attempts int
	// FirstFailedAt and FailedAt are the times of the first of those attempts and of
	// the last; the first is zero for what was only put off.
	FirstFailedAt time.Time
	FailedAt      time.Time
	// NextAttempt is when it is tried again, zero for a dead failure.
	NextAttempt time.Time
	// Size is the size of the kept event in bytes.
	Size int
	// Event is the event itself; only Get fills it in.
	Event *Event
}

// FailureReason says why a failure waits for a retry, or is dead.
type FailureReason string

const (
	// ReasonFailed: the last attempt failed, another will come.
	ReasonFailed FailureReason = "failed"
	// ReasonExhausted: dead, all attempts are used up.
	ReasonExhausted FailureReason = "exhausted"
	// ReasonRejected: dead, the handler said so with Reject, or the event could
	// not be decoded.
	ReasonRejected FailureReason = "rejected"
	// ReasonKilled: dead, each process that ran it died.
	ReasonKilled FailureReason = "killed"
	// ReasonSnoozed: the handler asked with Snooze to be run later.
	ReasonSnoozed FailureReason = "snoozed"
	// ReasonBreaker: put off, the handler's circuit breaker was open.
	ReasonBreaker FailureReason = "breaker"
	// ReasonAbandoned: put off, too many of the handler's runs had ignored their
	// timeout and not returned.
	ReasonAbandoned FailureReason = "abandoned"
	// ReasonDisabled: put off, the handler was disabled.
	ReasonDisabled FailureReason = "disabled"
	// ReasonNoHandler: put off, the process that took it has no such handler.
	ReasonNoHandler FailureReason = "no_handler"
)

// Failures administers the failures of a group, that of the bus unless InGroup names
// another: what handlers could not do, some of it to be tried again, the rest dead.
type Failures struct {
	bus   *Bus
	group string
}

// Failures returns the administration of failures.
func (b *Bus) Failures() *Failures { return &Failures{bus: b, group: b.cfg.Group} }

// InGroup returns the administration of another group's failures.
func (f *Failures) InGroup(group string) *Failures { return &Failures{bus: f.bus, group: group} }

// FailureQuery asks for one page of failures.
type FailureQuery struct {
	// State is which to list. Defaults to Dead.
	State FailureState
	// Handler lists those of one handler; "" those of all.
	Handler string
	// Limit is the greatest length of the page. Defaults to 100, at most 1000. A
	// page for one handler may be shorter although more follow.
	Limit int
	// Cursor is the Next of the page before; "" for the first.
	Cursor string
}

// FailurePage is one page of failures: dead ones by the time of their death,
// retrying ones by their next attempt.
type FailurePage struct {
	Failures []Failure
	// Next is the cursor of the next page; "" when this is the last.
	Next string
}

const (
	defaultPage = 100
	maxPage     = 1000
)

// doing says of an error what was being done with a topic's failures.
func (f *Failures) doing(what, topic string) func(err error) error {
	return func(err error) error {
		return errs.Doing(err, fmt.Sprintf("%s topic %s, group %s", what, errs.Quote(topic), errs.Quote(f.group)))
	}
}

func (f *Failures) reading(topic, id string) func(err error) error {
	return f.doing(fmt.Sprintf("read failure %s of", errs.Quote(id)), topic)
}

// List returns a page of the failures of a topic, without their events.
func (f *Failures) List(ctx context.Context, topic string, q FailureQuery) (FailurePage, error) {
	doing := f.doing("list failures of", topic)
	fallback(&q.State, Dead)
	fallback(&q.Limit, defaultPage)
	var bad []error
	within(&bad, "limit", q.Limit, 1, maxPage)
	bad = append(bad, checkState(q.State))
	if q.Handler != "" {
		bad = append(bad, name.Check("handler id", q.Handler))
	}
	score, id, err := parseCursor(q.Cursor)
	if err := errors.Join(append(bad, err)...); err != nil {
		return FailurePage{}, doing(err)
	}
	k, _, err := f.keys(ctx, topic)
	if err != nil {
		return FailurePage{}, doing(err)
	}
	var page FailurePage
	for left := q.Limit; left > 0; {
		most := min(left, readAtOnce)
		records, err := f.bus.store.PageFailures(ctx, k, store.FailureSet(q.State), score, id, 0, most)
		if err != nil {
			return FailurePage{}, doing(err)
		}
		for _, r := range records {
			failure := f.failure(k, r)
			if q.Handler == "" || q.Handler == failure.Handler {
				page.Failures = append(page.Failures, failure)
			}
			score, id = r.Score, r.ID
		}
		if len(records) < most {
			return page, nil
		}
		left -= most
	}
	page.Next = formatCursor(score, id)
	return page, nil
}

// readAtOnce is how many failures one call to Redis reads: the record of each has up to
// 24 KB, in which an error of 4 KiB can stand as JSON.
const readAtOnce = 100

// Find returns one failure as List does, without reading its event:
// ErrFailureNotFound. Its Size tells what Get will bring.
func (f *Failures) Find(ctx context.Context, topic, id string) (Failure, error) {
	doing := f.reading(topic, id)
	k, _, err := f.keys(ctx, topic)
	if err != nil {
		return Failure{}, doing(err)
	}
	r, err := f.bus.store.FindFailure(ctx, k, id)
	if err != nil {
		return Failure{}, doing(err)
	}
	return f.failure(k, r), nil
}

// Get returns one failure with its event: ErrFailureNotFound.
func (f *Failures) Get(ctx context.Context, topic, id string) (Failure, error) {
	doing := f.reading(topic, id)
	k, _, err := f.keys(ctx, topic)
	if err != nil {
		return Failure{}, doing(err)
	}
	records, err := f.bus.store.ReadFailures(ctx, k, []string{id})
	if err != nil {
		return Failure{}, doing(err)
	}
	if records[0].Set == "" {
		return Failure{}, doing(errs.FailureNotFound)
	}
	failure := f.failure(k, records[0])
	e := wire.Decode(records[0].Entry, newID)
	failure.Event = f.bus.event(topic, e.Handler, &e)
	failure.Event.Group, failure.Event.Attempt = f.group, failure.Attempts
	return failure, nil
}

// FailureCount counts a topic's failures.
type FailureCount struct{ Retrying, Dead int64 }

// Count counts the failures of a topic.
func (f *Failures) Count(ctx context.Context, topic string) (FailureCount, error) {
	doing := f.doing("count failures of", topic)
	k, _, err := f.keys(ctx, topic)
	if err != nil {
		return FailureCount{}, doing(err)
	}
	retry, dead, err := f.bus.store.CountFailures(ctx, k)
	return FailureCount{Retrying: retry, Dead: dead}, doing(err)
}

func checkState(s FailureState) error {
	if s == Dead || s == Retrying {
		return nil
	}
	return errs.Invalid("state", string(s), "%q or %q is right", Dead, Retrying)
}

// keys reads a topic, and returns the keys of the group in it: ErrTopicNotFound,
// ErrGroupNotFound.
func (f *Failures) keys(ctx context.Context, topic string) (*store.Keys, *store.Topic, error) {
	t, err := f.bus.Topics().read(ctx, topic)
	if err != nil {
		return nil, nil, err
	}
	g, err := groupOf(t, f.group)
	if err != nil {
		return nil, nil, err
	}
	k := f.bus.store.Keys(t, g)
	return &k, t, nil
}

func (f *Failures) failure(k *store.Keys, r store.Record) Failure {
	failure := Failure{
		ID: r.ID, State: FailureState(r.Set), Topic: k.Topic, Group: k.Group, Size: r.Size,
		FailedAt: time.UnixMilli(r.FailedAt).UTC(),
	}
	if r.Set == store.RetrySet {
		failure.NextAttempt = time.UnixMilli(r.Score).UTC()
	}
	m, err := record.Unmarshal(r.Meta)
	if err != nil {
		failure.Error = err.Error()
		return failure
	}
	failure.Handler, failure.EventID, failure.Reason, failure.Error, failure.Attempts = m.Handler, m.Event, FailureReason(m.Reason), m.Error, m.Attempts
	if m.FirstAt > 0 {
		failure.FirstFailedAt = time.UnixMilli(m.FirstAt).UTC()
	}
	return failure
}

// A cursor is the score and id of the last failure of a page.
func formatCursor(score int64, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(score, 10) + " " + id))
}

func parseCursor(text string) (score int64, id string, err error) {
	if text == "" {
		return 0, "", nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	number, id, ok := strings.Cut(string(b), " ")
	if err == nil && ok {
		score, err = strconv.ParseInt(number, 10, 64)
	}
	if err != nil || !ok {
		return 0, "", errs.Invalid("cursor", text, "it is not one that a list has returned")
	}
	return score, id, nil
}
