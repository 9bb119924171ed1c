package store

import (
	"context"
	"fmt"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// ErrStale says that the topic's settings have changed since they were read:
// read them again and repeat. Nothing was sent.
var ErrStale = fmt.Errorf("send: %w", errs.Conflict)

// Send puts entries, the first to be handed out first, into the queue of every
// group of the topic: all or none.
func (s *Store) Send(ctx context.Context, t *Topic, entries [][]byte) error {
	doing := fmt.Sprintf("send to topic %q", t.Name)
	if len(t.Groups) == 0 {
		return noGroup(doing)
	}
	keys := make([]string, 1, 1+3*len(t.Groups))
	keys[0] = s.ns.config(t.Name)
	for _, g := range t.Groups {
		k := s.Keys(t, g)
		keys = append(keys, k.Queue, k.Bell, k.Counts)
	}
	args := make([]any, 2, 2+len(entries))
	args[0], args[1] = t.Revision, flag(t.Delivery == AtLeastOnce)
	for _, e := range entries {
		args = append(args, e)
	}
	reply, err := s.eval(ctx, "send", keys, args...).Int64Slice()
	return s.sent(ctx, doing, t, keys, reply, err)
}

func noGroup(doing string) error {
	return errs.Doing(fmt.Errorf("%w; add one, or nobody would ever get the event", errs.NoGroup), doing)
}

// sent reads the reply to a send: a status, and what it is about.
func (s *Store) sent(ctx context.Context, doing string, t *Topic, keys []string, reply []int64, err error) error {
	if err != nil {
		maybe := mayHaveRun(err)
		if err = s.wrap(ctx, doing, err, keys...); maybe {
			err = errs.Doing(fmt.Errorf("no reply came, and the events may have been sent: %w", errs.Cause(err)), doing)
		}
		return err
	}
	switch reply[0] {
	case 1:
		return nil
	case 0:
		return errs.Doing(errs.TopicNotFound, doing)
	case -1:
		return errs.Doing(errs.TopicDeleting, doing)
	case -3:
		return errs.Doing(errs.TopicDisabled, doing)
	case -4:
		return errs.Doing(fmt.Errorf("%w: %d of at most %d events wait in group %q", errs.TopicFull,
			reply[2], t.MaxWaiting, t.Groups[reply[1]-1].Name), doing)
	case -6:
		return errs.Doing(fmt.Errorf("%w: %d of at most %d are pending in group %q", errs.DelayedFull,
			reply[2], t.MaxWaiting, t.Groups[reply[1]-1].Name), doing)
	default:
		return ErrStale
	}
}
