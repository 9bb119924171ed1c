package eventbustest

import (
	"context"
	"fmt"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// pending looks for events that wait for their time, those of Java services
// included. Members that nobody can read are none.
func (b *Bus) pending(ctx context.Context, k *store.Keys, add func(raw []byte, envelope bool)) error {
	members, err := b.server.rdb.ZRange(ctx, k.Delayed, 0, -1).Result()
	if err != nil {
		return err
	}
	for _, member := range members {
		p := store.Pending{Head: []byte(member), Size: len(member)}
		if entry, size := p.Entry(); size < p.Size {
			add(entry, false)
		}
	}
	return nil
}

// nextDelayed tells when the next delayed event is due that Drain waits for, zero
// when there is none, and lists the places that have any.
func (s *server) nextDelayed(ctx context.Context, served []*served) (next time.Time, left []string, err error) {
	for _, at := range served {
		if !at.topic.Enabled || !at.can() {
			continue
		}
		f, err := at.store.Figures(ctx, &at.keys)
		if err != nil {
			return time.Time{}, nil, err
		}
		// Somebody else may have given a member any time; what is further off than
		// events may be, nobody waits for.
		if f.Delayed == 0 || f.NextDue.Sub(s.clock.Now()) > store.MaxDelay+time.Hour {
			continue
		}
		if next.IsZero() || f.NextDue.Before(next) {
			next = f.NextDue
		}
		left = append(left, fmt.Sprintf("\n\ttopic %q, group %q: %s delayed", at.topic.Name, at.keys.Group, number(f.Delayed, "event is", "events are")))
	}
	return next, left, nil
}

// delays says for a message what is delayed in the bus's group, and what helps; ""
// where nothing is.
func (b *Bus) delays(name string) string {
	at, err := lookUp(context.Background(), b.store, place{name, b.group})
	if err != nil || at == nil {
		return "" // what failed says why
	}
	f, err := b.store.Figures(context.Background(), &at.keys)
	if err != nil || f.Delayed == 0 {
		return ""
	}
	which := "due"
	if f.Delayed > 1 {
		which = "the next due"
	}
	wait := max(0, f.NextDue.Sub(b.Clock.Now())).Round(time.Second)
	return fmt.Sprintf("; %s delayed, %s in %v: Clock.Advance", number(f.Delayed, "event is", "events are"), which, wait)
}
