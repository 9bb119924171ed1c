package consume

import (
	"fmt"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/dispatch"
	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/finish"
	"github.com/seed4933/eventbus/eventbus/internal/outcome"
	"github.com/seed4933/eventbus/eventbus/internal/record"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/eventbus/internal/wire"
)

// Finish turns the results of an entry's handlers into what becomes of it: what
// succeeded is done, and only what did not goes on, for its handler alone.
func (it *item) Finish(results []dispatch.Result) {
	var parts []store.Part
	unfinished := 0
	for _, r := range results {
		if r.Status == dispatch.Unfinished {
			unfinished++
		}
	}
	if unfinished == len(results) {
		it.end([]store.Part{{Kind: store.BackFirst, Entry: it.backAsItWas()}})
		return
	}
	for i, r := range results {
		h := it.handlers[i]
		switch r.Status {
		case dispatch.Succeeded:
		case dispatch.Unfinished:
			e := it.addressed(h.ID)
			parts = append(parts, store.Part{Kind: store.BackFirst, Entry: wire.Append(nil, &e)})
		case dispatch.PutOff:
			parts = append(parts, it.postponed(h, r))
		default:
			parts = append(parts, it.failed(h, r))
		}
	}
	it.end(parts)
}

// addressed is the entry for one handler alone.
func (it *item) addressed(handler string) wire.Entry {
	e := it.entry
	e.Handler = handler
	return e
}

func (it *item) postponed(h *handler, r dispatch.Result) store.Part {
	switch r.Reason {
	case dispatch.Snoozed:
		e := it.addressed(h.ID)
		e.Deliveries = 0 // it has run, and its process lives
		return it.part(store.Later, e, record.Snoozed, r.Err.Error(), max(r.Wait, leastSnooze))
	case dispatch.BreakerOpen:
		return it.putOff(h.ID, record.Open, "not run: the handler's circuit breaker is open", r.Wait, breakerSpread)
	case dispatch.AtAbandonedCap:
		return it.putOff(h.ID, record.Abandoned, "not run: too many runs of the handler ignored their timeout and have not returned", 0, shutPause)
	default:
		return it.putOff(h.ID, record.Disabled, "not run: the handler is disabled", 0, shutPause)
	}
}

// failed is a part for a failed attempt: to the retry set while there are
// attempts left, else to the dead set.
func (it *item) failed(h *handler, r dispatch.Result) store.Part {
	e := it.addressed(h.ID)
	e.Attempt++
	e.Deliveries = 0
	if e.FailedAt == 0 {
		e.FailedAt = time.Now().UnixMilli()
	}
	it.consumer.cfg.Log.Debug("a handler failed", "topic", it.topic.name, "handler", h.ID, "event", e.ID, "attempt", e.Attempt, "err", r.Err)
	delay := r.Delay
	switch {
	case r.Kind == outcome.Dead:
		return it.part(store.Dead, e, record.Rejected, text(r.Err), 0)
	case e.Attempt >= h.settings.Load().MaxAttempts:
		return it.part(store.Dead, e, record.Exhausted, text(r.Err), 0)
	case r.Kind != outcome.Later:
		delay = it.consumer.backoff(h, e.Attempt)
	}
	return it.part(store.Retry, e, record.Failed, text(r.Err), delay)
}

// text is what is kept of an error: of a panic the stack too.
func text(err error) string {
	if p, ok := err.(*dispatch.PanicError); ok {
		return fmt.Sprintf("%v\n\n%s", err, p.Stack)
	}
	return err.Error()
}

// part makes a failure's record around an entry addressed to its handler.
func (it *item) part(kind store.PartKind, e wire.Entry, reason record.Reason, text string, delay time.Duration) store.Part {
	return failure(kind, e, reason, text, delay, it.consumer.cfg.NewID)
}

func failure(kind store.PartKind, e wire.Entry, reason record.Reason, text string, delay time.Duration, newID func() string) store.Part {
	if !isFailureID(e.Failure) {
		e.Failure = newID()
	}
	meta := record.Failure{
		Event: e.ID, Handler: e.Handler, Reason: reason, Error: text,
		Attempts: e.Attempt, Deliveries: e.Deliveries, FirstAt: e.FailedAt,
	}
	return store.Part{Kind: kind, ID: e.Failure, Meta: meta.Marshal(), Entry: wire.Append(nil, &e), Delay: min(delay, maxDelay)}
}

// isFailureID tells whether an id may be that of a failure. It comes back with
// the entry, and others who write to the queue can put anything in its place: one
// with a "|" could name another failure's field in Redis.
func isFailureID(id string) bool {
	const longest = 100
	if id == "" || len(id) > longest {
		return false
	}
	for _, c := range []byte(id) {
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// maxDelay caps what a handler may ask for: ten years. Scores stay far below
// the 2^53 up to which they are exact.
const maxDelay = 10 * 365 * 24 * time.Hour

// rescue is what becomes of an entry whose consumer died: it is delivered once
// more, next of all, or it is dead.
func (c *Consumer) rescue(t *store.Topic, receipt string, raw []byte) store.Part {
	e := decode(t, store.CameBack(receipt), raw, c.cfg.NewID)
	e.Deliveries++
	if e.Deliveries >= maxDeliveries {
		if e.FailedAt == 0 {
			e.FailedAt = time.Now().UnixMilli()
		}
		return failure(store.Dead, e, record.Killed, errs.KilledProcess.Error(), 0, c.cfg.NewID)
	}
	return store.Part{Kind: store.BackFirst, Entry: wire.Append(nil, &e)}
}

// written notes when what was put into the retry set is due.
func (c *Consumer) written(items []finish.Item) {
	for _, it := range items {
		for _, p := range it.Ended.Parts {
			switch p.Kind {
			case store.Retry, store.Later:
				c.mover.Note(it.Keys, p.Delay)
			case store.Dead:
				c.deaths.note(it.Keys.Topic, p.Meta)
			}
		}
	}
	c.alive()
	c.poller.Nudge()
}
