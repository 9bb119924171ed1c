package eventbustest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/eventbus/internal/wire"
)

// Sent returns the events that were sent to a topic, by whomever, in the order
// of their times: those that are delayed, that wait, that are handled, that failed
// or are done. It sees those done that a bus of this package has handled. Nothing is
// kept of a delayed event that was cancelled, so that it is not among them:
// eventbus.Stats counts those. An event that is not handled at the moment has no
// Handler and no Attempt. A topic that does not exist has none.
//
// On a topic with WireRaw, whose events have no ids, one that is being handled
// may stand there twice.
func (b *Bus) Sent(t testing.TB, topic string) []*eventbus.Event {
	t.Helper()
	events, err := b.sent(context.Background(), topic)
	if err != nil {
		t.Fatalf("eventbustest: look for what was sent to topic %q: %v", topic, err)
	}
	return events
}

// RequireSent waits until an event was sent to the topic that match accepts, be it
// delayed, and returns the first of those; a nil match accepts every one.
func (b *Bus) RequireSent(t testing.TB, topic string, match func(event *eventbus.Event) bool) *eventbus.Event {
	t.Helper()
	var sent, found []*eventbus.Event
	b.server.poll(t, func() bool {
		t.Helper()
		sent = b.Sent(t, topic)
		found = matching(sent, match)
		return len(found) > 0
	}, func() string {
		return fmt.Sprintf("no event that matches was sent to topic %q; %s", topic, describe(sent))
	})
	return found[0]
}

// RequireNotSent fails the test when an event was sent to the topic that match
// accepts, be it delayed; nil accepts every one. It does not wait: call WaitIdle before, where
// handlers send.
func (b *Bus) RequireNotSent(t testing.TB, topic string, match func(event *eventbus.Event) bool) {
	t.Helper()
	if found := matching(b.Sent(t, topic), match); len(found) > 0 {
		t.Fatalf("eventbustest: an event was sent to topic %q that should not have been; %s", topic, describe(found))
	}
}

func matching(events []*eventbus.Event, match func(event *eventbus.Event) bool) []*eventbus.Event {
	if match == nil {
		return events
	}
	return slices.DeleteFunc(slices.Clone(events), func(e *eventbus.Event) bool { return !match(e) })
}

// describe lists events for a message, a few of them.
func describe(events []*eventbus.Event) string {
	const most = 10
	var text strings.Builder
	fmt.Fprintf(&text, "there are %d", len(events))
	for i, e := range events {
		if i == most {
			text.WriteString("\n\t…")
			break
		}
		fmt.Fprintf(&text, "\n\t%s %.200q", e.ID, e.Payload)
	}
	return text.String()
}

// sent looks for events in all places of one group: the bus's own, or if the
// topic does not have it, the first. It looks along the way that events take, so
// that it meets those that move meanwhile.
func (b *Bus) sent(ctx context.Context, name string) ([]*eventbus.Event, error) {
	topic, err := b.store.Topic(ctx, name)
	if errors.Is(err, errs.TopicNotFound) || err == nil && len(topic.Groups) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	group, ok := topic.Group(b.group)
	if !ok {
		group = topic.Groups[0]
	}
	keys := b.store.Keys(topic, group)
	found := map[string]*eventbus.Event{}
	add := func(raw []byte, envelope bool) {
		e := wire.Decode(raw, newID)
		if topic.Wire == store.WireRaw && !envelope {
			e = wire.Bare(raw, newID)
		}
		if found[e.ID] == nil {
			found[e.ID] = asEvent(name, group.Name, &e)
		}
	}
	if err := b.pending(ctx, &keys, add); err != nil {
		return nil, err
	}
	if err := b.waiting(ctx, &keys, add); err != nil {
		return nil, err
	}
	if err := b.held(ctx, &keys, add); err != nil {
		return nil, err
	}
	if err := b.failed(ctx, &keys, add); err != nil {
		return nil, err
	}
	for _, e := range b.server.runs.seen(place{name, group.Name}) {
		found[e.ID] = e
	}
	events := make([]*eventbus.Event, 0, len(found))
	for _, e := range found {
		events = append(events, e)
	}
	slices.SortFunc(events, func(a, b *eventbus.Event) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.ID, b.ID)) })
	return events, nil
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

func asEvent(topic, group string, e *wire.Entry) *eventbus.Event {
	event := &eventbus.Event{
		ID: e.ID, Topic: topic, Type: e.Type, Source: e.Source, Time: e.Time, ContentType: e.ContentType,
		Payload: e.Data, Headers: e.Headers, Group: group,
	}
	if event.Type == "" {
		event.Type = topic
	}
	return event
}

func (b *Bus) waiting(ctx context.Context, k *store.Keys, add func(raw []byte, envelope bool)) error {
	lists := []string{k.Queue}
	if k.Shared() {
		lists = append(lists, k.Returns)
	}
	for _, list := range lists {
		entries, err := b.server.rdb.LRange(ctx, list, 0, -1).Result()
		if err != nil {
			return err
		}
		for _, entry := range entries {
			add([]byte(entry), list == k.Returns && k.Shared())
		}
	}
	return nil
}

func (b *Bus) held(ctx context.Context, k *store.Keys, add func(raw []byte, envelope bool)) error {
	holders, err := b.store.Holders(ctx, k)
	if err != nil {
		return err
	}
	for _, consumer := range holders {
		receipts, err := b.store.Held(ctx, k, consumer)
		if err != nil {
			return err
		}
		err = b.store.ReadHeld(ctx, k, consumer, receipts, func(receipts []string, entries [][]byte) error {
			for i, entry := range entries {
				add(entry, store.CameBack(receipts[i]))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *Bus) failed(ctx context.Context, k *store.Keys, add func(raw []byte, envelope bool)) error {
	const page = 200
	for _, set := range []store.FailureSet{store.RetrySet, store.DeadSet} {
		var score int64
		var last string
		for {
			records, err := b.store.PageFailures(ctx, k, set, score, last, 0, page)
			if err != nil {
				return err
			}
			if len(records) == 0 {
				break
			}
			score, last = records[len(records)-1].Score, records[len(records)-1].ID
			ids := make([]string, len(records))
			for i, r := range records {
				ids[i] = r.ID
			}
			for len(ids) > 0 {
				read, err := b.store.ReadFailures(ctx, k, ids)
				if err != nil {
					return err
				}
				for _, r := range read {
					if r.Set != "" {
						add(r.Entry, true)
					}
				}
				ids = ids[len(read):]
			}
		}
	}
	return nil
}
