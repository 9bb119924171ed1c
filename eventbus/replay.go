package eventbus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/name"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/eventbus/internal/wire"
)

// batchSize is how many failures one call to Redis replays or discards.
const batchSize = 200

// FailureFilter picks failures. At least one of IDs, Handler, Before and All must be set;
// with Handler and Before those are picked that match both.
type FailureFilter struct {
	// IDs picks by id, dead or retrying. It goes with no other field.
	IDs []string
	// Handler picks those of one handler.
	Handler string
	// Before picks those that failed last before this time, by Redis's clock, which is
	// after 3 March 1973: an earlier one was given in seconds where milliseconds are meant.
	Before time.Time
	// All picks all.
	All bool
	// State picks dead or retrying failures. Defaults to Dead, without IDs.
	State FailureState
	// Progress is called after each step of a Replay or Discard, with the number
	// that was moved so far.
	Progress func(moved int64)
}

// Validate returns what is wrong with the filter, as Replay and Discard do before
// they touch anything: ErrInvalidArgument, nil when it can be used.
func (filter FailureFilter) Validate() error {
	var bad []error
	if filter.State != "" {
		bad = append(bad, checkState(filter.State))
	}
	byOther := filter.Handler != "" || !filter.Before.IsZero() || filter.All
	switch {
	case len(filter.IDs) > 0 && (byOther || filter.State != ""):
		bad = append(bad, errs.Invalid("filter", nil, "ids go with nothing else"))
	case len(filter.IDs) == 0 && !byOther:
		bad = append(bad, errs.Invalid("filter", nil, "it picks nothing; give ids, a handler, a time before which, or say that all are meant"))
	}
	switch before := filter.Before; {
	case inSeconds(before):
		bad = append(bad, errs.Invalid("Before", before, "%s", wasInSeconds))
	case !before.IsZero() && before.Before(time.UnixMilli(1)):
		bad = append(bad, errs.Invalid("Before", before, "a time after 1970 is right"))
	}
	if filter.Handler != "" {
		bad = append(bad, name.Check("handler id", filter.Handler))
	}
	return errors.Join(bad...)
}

// Replay moves failures back to the queue, addressed to their handler and with
// fresh attempts, which are counted from 1 again, and returns how many. It picks
// what has failed up to the moment when it is called, so that what fails again
// meanwhile is not picked again. It works in small steps, each of which is done
// whole or not at all: an end half way loses nothing, and of two replays at once
// each moves what the other does not. Ids that are gone are left out of the count.
// Where the topic or the group is removed meanwhile, the error says so.
func (f *Failures) Replay(ctx context.Context, topic string, filter FailureFilter) (int64, error) {
	return f.each(ctx, "replay", topic, filter, f.replay)
}

// Discard removes failures for good, and returns how many.
func (f *Failures) Discard(ctx context.Context, topic string, filter FailureFilter) (int64, error) {
	return f.each(ctx, "discard", topic, filter, f.bus.store.Discard)
}

// replay moves one batch of failures, reading their events in bounded parts.
func (f *Failures) replay(ctx context.Context, k *store.Keys, picks []store.Pick) (moved int64, err error) {
	ids := make([]string, len(picks))
	for i, p := range picks {
		ids[i] = p.ID
	}
	for len(ids) > 0 {
		records, err := f.bus.store.ReadFailures(ctx, k, ids)
		if err != nil {
			return moved, err
		}
		these := picks[len(picks)-len(ids):]
		ids = ids[len(records):]
		var there []store.Record
		var entries [][]byte
		for i, r := range records {
			if r.Set == "" || these[i].FailedAt != store.AnyTime && these[i].FailedAt != r.FailedAt {
				continue // it is gone, or has failed anew since it was picked
			}
			e := wire.Decode(r.Entry, newID)
			e.Attempt, e.Deliveries, e.FailedAt = 0, 0, 0
			there = append(there, r)
			entries = append(entries, wire.Append(nil, &e))
		}
		if len(there) == 0 {
			continue
		}
		done, err := f.bus.store.Replay(ctx, k, there, entries)
		moved += int64(len(done))
		if err != nil {
			return moved, err
		}
	}
	return moved, nil
}

// each carries out act on the failures that the filter picks, in batches.
func (f *Failures) each(ctx context.Context, verb, topic string, filter FailureFilter, act func(ctx context.Context, k *store.Keys, picks []store.Pick) (int64, error)) (total int64, err error) {
	doing := func(err error) error {
		if err != nil && total > 0 {
			err = fmt.Errorf("%d done, then: %w", total, errs.Cause(err))
		}
		return f.doing(verb+" failures of", topic)(err)
	}
	if err := filter.Validate(); err != nil {
		return 0, doing(err)
	}
	fallback(&filter.State, Dead)
	k, t, err := f.keys(ctx, topic)
	if err != nil {
		return 0, doing(err)
	}
	step := func(picks []store.Pick) error {
		n, err := act(ctx, k, picks)
		total += n
		if filter.Progress != nil {
			filter.Progress(total)
		}
		return err
	}
	if len(filter.IDs) > 0 {
		for ids := range slices.Chunk(filter.IDs, batchSize) {
			picks := make([]store.Pick, len(ids))
			for i, id := range ids {
				picks[i] = store.Pick{ID: id, FailedAt: store.AnyTime}
			}
			if err := step(picks); err != nil {
				return total, doing(f.ended(ctx, t, err))
			}
		}
		return total, doing(f.unchanged(ctx, t))
	}
	cutoff, err := f.cutoff(ctx)
	if err != nil {
		return 0, doing(err)
	}
	if !filter.Before.IsZero() && filter.Before.Before(time.UnixMilli(cutoff+1)) {
		cutoff = filter.Before.Add(-time.Millisecond).UnixMilli()
	}
	var score int64
	var last string
	for {
		if err := ctx.Err(); err != nil {
			return total, doing(err)
		}
		upto := cutoff
		if filter.State == Retrying {
			upto = 0 // that set's scores are times of next attempts
		}
		records, err := f.bus.store.PageFailures(ctx, k, store.FailureSet(filter.State), score, last, upto, batchSize)
		if err != nil {
			return total, doing(err)
		}
		if len(records) == 0 {
			return total, doing(f.unchanged(ctx, t))
		}
		var picks []store.Pick
		for _, r := range records {
			if r.FailedAt <= cutoff && (filter.Handler == "" || f.failure(k, r).Handler == filter.Handler) {
				picks = append(picks, store.Pick{ID: r.ID, FailedAt: r.FailedAt})
			}
		}
		score, last = records[len(records)-1].Score, records[len(records)-1].ID
		if len(picks) == 0 {
			continue
		}
		if err := step(picks); err != nil {
			return total, doing(f.ended(ctx, t, err))
		}
	}
}

// unchanged returns nil while the topic, as it was read before, and the group are
// there: that no failure is left may also mean that they were removed.
func (f *Failures) unchanged(ctx context.Context, before *store.Topic) error {
	_, now, err := f.keys(ctx, before.Name)
	if err != nil {
		return err
	}
	old, _ := before.Group(f.group)
	group, _ := now.Group(f.group)
	switch {
	case !now.Created.Equal(before.Created):
		return fmt.Errorf("%w: it was deleted meanwhile, and made anew", errs.TopicNotFound)
	case group.Since != old.Since:
		return fmt.Errorf("%w: it was removed meanwhile, and made anew", errs.GroupNotFound)
	}
	return nil
}

// ended says of a step's error what has become of the topic: a step knows its group
// alone.
func (f *Failures) ended(ctx context.Context, before *store.Topic, err error) error {
	if errors.Is(err, errs.GroupNotFound) {
		return cmp.Or(f.unchanged(ctx, before), err)
	}
	return err
}

// cutoff returns Redis's time now, once that millisecond has passed: what fails
// from here on is later than it.
func (f *Failures) cutoff(ctx context.Context) (int64, error) {
	first, err := f.bus.store.Now(ctx)
	if err != nil {
		return 0, err
	}
	for {
		now, err := f.bus.store.Now(ctx)
		if err != nil {
			return 0, err
		}
		if now.UnixMilli() > first.UnixMilli() {
			return first.UnixMilli(), nil
		}
	}
}
