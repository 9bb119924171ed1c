package eventbus

import (
	"context"
	"fmt"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/eventbus/internal/wire"
)

// Stats is the figures of one topic and group, read one after another, so that
// an event that moves meanwhile may be counted twice or not at all.
type Stats struct {
	Topic    string
	Group    string
	Enabled  bool
	Waiting  int64
	InFlight int64
	Delayed  int64
	Retrying int64
	Dead     int64
	// OldestAge is how long ago the event was sent that is handed out next, by its
	// sender's clock and with its delay; 0 when none waits or its time is not known.
	OldestAge time.Duration
	// NextDue is when the next delayed event is due, by Redis's clock; zero when none is.
	NextDue time.Time
	// Unreadable is how many delayed events were set aside: see Delayed.Unreadable.
	Unreadable int64
	// Totals since the group was made. A rate is the difference of two readings.
	Sent      int64 // events that Send took, delayed ones included
	Done      int64 // events that all their handlers have handled
	Failed    int64 // attempts that failed
	Cancelled int64 // delayed events that were cancelled, of several of one id each
	PutOff    int64 // shares of events that were put off without an attempt
	Died      int64 // failures that went to the dead set
	Replayed  int64
	Discarded int64
	Dropped   int64 // dead failures dropped at the topic's limits
	// ReadAt is when they were read, by Redis's clock.
	ReadAt time.Time
}

// Stats returns the figures of a topic, for each of its groups.
func (b *Bus) Stats(ctx context.Context, topic string) ([]Stats, error) {
	doing := func(err error) error {
		return errs.Doing(err, fmt.Sprintf("read figures of topic %s", errs.Quote(topic)))
	}
	t, err := b.Topics().read(ctx, topic)
	if err != nil {
		return nil, doing(err)
	}
	list := make([]Stats, 0, len(t.Groups))
	for _, g := range t.Groups {
		k := b.store.Keys(t, g)
		f, err := b.store.Figures(ctx, &k)
		if err != nil {
			return nil, doing(fmt.Errorf("group %q: %w", g.Name, errs.Cause(err)))
		}
		list = append(list, statsOf(t, &k, f))
	}
	return list, nil
}

// GroupStats returns the figures of a topic for the bus's own group:
// ErrGroupNotFound when the topic does not have it.
func (b *Bus) GroupStats(ctx context.Context, topic string) (Stats, error) {
	doing := func(err error) error {
		return errs.Doing(err, fmt.Sprintf("read figures of topic %s, group %q", errs.Quote(topic), b.cfg.Group))
	}
	k, t, err := b.Failures().keys(ctx, topic)
	if err != nil {
		return Stats{}, doing(err)
	}
	f, err := b.store.Figures(ctx, k)
	if err != nil {
		return Stats{}, doing(err)
	}
	return statsOf(t, k, f), nil
}

func statsOf(t *store.Topic, k *store.Keys, f store.Figures) Stats {
	s := Stats{
		Topic: k.Topic, Group: k.Group, Enabled: t.Enabled,
		Waiting: f.Waiting, InFlight: f.InFlight, Delayed: f.Delayed, Retrying: f.Retry, Dead: f.Dead,
		Sent: f.Totals["sent"], Done: f.Totals["done"], Failed: f.Totals["retry"] + f.Totals["dead"], PutOff: f.Totals["later"], Died: f.Totals["dead"],
		Replayed: f.Totals["replayed"], Discarded: f.Totals["discarded"], Cancelled: f.Totals["cancelled"], Dropped: f.Totals["dropped"],
		ReadAt: f.Now, NextDue: f.NextDue, Unreadable: f.Unreadable,
	}
	if f.Oldest != nil && t.Wire == store.WireCloudEvents {
		if e := wire.Decode(f.Oldest, newID); !e.Time.IsZero() {
			s.OldestAge = max(0, f.Now.Sub(e.Time))
		}
	}
	return s
}
