package store

import (
	"context"
	"fmt"
	"time"
)

// Part is one thing that is left of an entry when it ends.
type Part struct {
	Kind  PartKind
	Entry []byte // what goes to the queue, now or later

	// for Retry, Later and Dead
	ID    string
	Meta  []byte // a JSON object
	Delay time.Duration
}

// PartKind says where a Part goes.
type PartKind int

const (
	BackFirst PartKind = iota // to the queue, to be handed out next
	BackLast                  // to the queue, behind all that waits
	Retry                     // to the retry set, after a failed attempt
	Later                     // to the retry set, put off without one
	Dead                      // to the dead set
)

// Ended is one entry that has ended.
type Ended struct {
	Receipt string // "" for an entry that was taken, not claimed
	Parts   []Part // none: done
}

// simple tells that to end the entry is to remove its receipt.
func (e *Ended) simple() bool { return len(e.Parts) == 0 && e.Receipt != "" }

// Finish ends entries that the consumer holds. An entry whose receipt is no
// longer there was moved on by somebody else; it changes nothing. Returned is
// how many entries were ended and how many dead failures the limit dropped.
func (s *Store) Finish(ctx context.Context, k *Keys, consumer string, deadLimit int64, ended []Ended) (n, dropped int64, err error) {
	args := make([]any, 3, 3+len(ended))
	args[0], args[1] = groupField(k.Group), deadLimit
	simple := 0
	for i := range ended {
		if e := &ended[i]; e.simple() {
			args = append(args, &e.Receipt) // a pointer, which costs no memory of its own
			simple++
		}
	}
	args[2] = simple
	for _, e := range ended {
		if e.simple() {
			continue
		}
		args = append(args, e.Receipt, len(e.Parts))
		for _, p := range e.Parts {
			switch p.Kind {
			case BackFirst:
				args = append(args, "back", "R", p.Entry)
			case BackLast:
				args = append(args, "back", "L", p.Entry)
			case Retry:
				args = append(args, "retry", p.ID, p.Delay.Milliseconds(), p.Meta, p.Entry)
			case Later:
				args = append(args, "later", p.ID, p.Delay.Milliseconds(), p.Meta, p.Entry)
			case Dead:
				args = append(args, "dead", p.ID, 0, p.Meta, p.Entry)
			}
		}
	}
	keys := []string{k.Config, k.Inflight(consumer), k.Failures, k.Retry, k.Dead, k.Returns, k.Bell, k.Counts}
	reply, err := s.eval(ctx, "finish", keys, args...).Int64Slice()
	if err != nil {
		return 0, 0, s.wrap(ctx, fmt.Sprintf("finish events of topic %q, group %q", k.Topic, k.Group), err, keys...)
	}
	return reply[0], reply[1], nil
}

const (
	maxRetryMove  = 200
	maxRetryBytes = 4 << 20
)

// MoveDue moves failures whose next attempt is due back to the queue, a bounded
// number. next is the time until the following one is due, negative when there
// is none; orphans are ids that had no record.
func (s *Store) MoveDue(ctx context.Context, k *Keys) (moved int, next time.Duration, orphans []string, err error) {
	keys := []string{k.Config, k.Retry, k.Failures, k.Returns, k.Bell}
	reply, err := s.eval(ctx, "retry", keys, groupField(k.Group), maxRetryMove, maxRetryBytes).Slice()
	if err != nil {
		return 0, 0, nil, s.wrap(ctx, fmt.Sprintf("move due retries of topic %q, group %q", k.Topic, k.Group), err, keys...)
	}
	next = -1
	if ms := reply[1].(int64); ms >= 0 {
		next = time.Duration(ms) * time.Millisecond
	}
	for _, id := range reply[2:] {
		orphans = append(orphans, id.(string))
	}
	return int(reply[0].(int64)), next, orphans, nil
}
