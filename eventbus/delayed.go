package eventbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/name"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/eventbus/internal/wire"
)

// Delayed administers the events that wait for their time. They lie where
// Redisson's RDelayedQueue keeps them, so that Java services share them: what
// these have offered is listed, too.
type Delayed struct {
	bus   *Bus
	group string
}

// Delayed returns the administration of delayed events.
func (b *Bus) Delayed() *Delayed { return &Delayed{bus: b, group: b.cfg.Group} }

// InGroup returns the administration of another group's delayed events. Cancel
// cancels in all groups, whichever it is called on.
func (d *Delayed) InGroup(group string) *Delayed { return &Delayed{bus: d.bus, group: group} }

// DelayedEvent is one event that waits for its time.
type DelayedEvent struct {
	// ID is the event's id; "" where what is kept does not tell one: bare payloads,
	// which are all of a raw topic's, and what others offered.
	ID    string
	DueAt time.Time // by Redis's clock
	Size  int       // of what is kept, in bytes
}

// DelayedQuery asks for one page of delayed events.
type DelayedQuery struct {
	// Limit is the greatest length of the page, which may be shorter although more
	// follow. Defaults to 100, at most 1000.
	Limit int
	// Cursor is the Next of the page before; "" for the first.
	Cursor string
}

// DelayedPage is one page of delayed events, in the order in which they are due.
type DelayedPage struct {
	Events []DelayedEvent
	// Next is the cursor of the next page; "" when this is the last.
	Next string
}

// List returns a page of the topic's delayed events in the bus's group. How many
// there are, and when the next is due, Stats tells.
func (d *Delayed) List(ctx context.Context, topic string, q DelayedQuery) (DelayedPage, error) {
	doing := func(err error) error {
		return errs.Doing(err, fmt.Sprintf("list delayed events of topic %s, group %s", errs.Quote(topic), errs.Quote(d.group)))
	}
	fallback(&q.Limit, defaultPage)
	var bad []error
	within(&bad, "limit", q.Limit, 1, maxPage)
	if err := errors.Join(bad...); err != nil {
		return DelayedPage{}, doing(err)
	}
	t, keys, err := d.keys(ctx, topic)
	if err != nil {
		return DelayedPage{}, doing(err)
	}
	pending, more, err := d.bus.store.Pending(ctx, &keys, q.Cursor, q.Limit)
	if err != nil {
		return DelayedPage{}, doing(err)
	}
	page := DelayedPage{Events: make([]DelayedEvent, len(pending))}
	for i := range pending {
		entry, size := pending[i].Entry()
		page.Events[i] = DelayedEvent{DueAt: pending[i].Due, Size: size}
		if t.Wire != store.WireRaw {
			page.Events[i].ID = wire.PeekID(entry, size)
		}
	}
	if more && len(pending) > 0 {
		page.Next = pending[len(pending)-1].Cursor()
	}
	return page, nil
}

// Cancel cancels a delayed event, in every group in which it still waits, and
// returns these groups. What it returns was not handed out there and will not be.
// ErrNotDelayed says that the event waits in no group (any more). ErrUnavailable may
// mean that the reply was lost, and says so: the event may have been cancelled. Only
// events that a bus has sent can be cancelled, while the topic or group through which
// they were sent stands (Topics.Delete); where several bear the id, all of them are,
// up to about a thousand.
func (d *Delayed) Cancel(ctx context.Context, topic, id string) (groups []string, err error) {
	doing := func(err error) error {
		return errs.Doing(err, fmt.Sprintf("cancel event %s of topic %s", errs.Quote(id), errs.Quote(topic)))
	}
	if err := errors.Join(name.Check("topic", topic), checkID(id)); err != nil {
		return nil, doing(err)
	}
	if id == "" {
		return nil, doing(errs.Invalid("id", id, "it is empty; 1 to 255 bytes are right"))
	}
	if err := d.bus.ready(ctx); err != nil {
		return nil, doing(err)
	}
	t, err := d.bus.store.Topic(ctx, topic)
	if err != nil {
		return nil, doing(err)
	}
	if groups, err = d.bus.store.Cancel(ctx, t, id); err != nil {
		return nil, doing(err)
	}
	if len(groups) == 0 {
		return nil, doing(errs.NotDelayed)
	}
	return groups, nil
}

// UnreadableEvents are members of the delayed set that are none of Redisson's, so
// that nobody can tell what was to be handed out. They were set aside when their
// time came, and stand in a list.
type UnreadableEvents struct {
	Total int64
	// Members are the first of them, byte for byte, at most as many as were asked for.
	Members [][]byte
	// List is the key of the list: what is not needed any more can be removed there.
	List string
}

// Unreadable returns what was set aside of the topic's delayed events in the bus's
// group, and the first most members, up to 1000.
func (d *Delayed) Unreadable(ctx context.Context, topic string, most int) (UnreadableEvents, error) {
	doing := func(err error) error {
		return errs.Doing(err, fmt.Sprintf("list unreadable delayed events of topic %s, group %s", errs.Quote(topic), errs.Quote(d.group)))
	}
	var bad []error
	within(&bad, "most", most, 1, maxPage)
	if err := errors.Join(bad...); err != nil {
		return UnreadableEvents{}, doing(err)
	}
	t, keys, err := d.keys(ctx, topic)
	if err != nil {
		return UnreadableEvents{}, doing(err)
	}
	u := UnreadableEvents{List: keys.Unreadable}
	u.Total, u.Members, err = d.bus.store.Unreadable(ctx, &keys, t.Delivery, most)
	return u, doing(err)
}

func (d *Delayed) keys(ctx context.Context, topic string) (*store.Topic, store.Keys, error) {
	if err := name.Check("topic", topic); err != nil {
		return nil, store.Keys{}, err
	}
	if err := d.bus.ready(ctx); err != nil {
		return nil, store.Keys{}, err
	}
	t, err := d.bus.store.Topic(ctx, topic)
	if err != nil {
		return nil, store.Keys{}, err
	}
	g, err := groupOf(t, d.group)
	if err != nil {
		return nil, store.Keys{}, err
	}
	return t, d.bus.store.Keys(t, g), nil
}
