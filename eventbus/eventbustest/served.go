package eventbustest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/lease"
	"github.com/seed4933/eventbus/eventbus/internal/settings"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// served is a topic in a group that a running bus has handlers for.
type served struct {
	store   *store.Store
	topic   *store.Topic
	keys    store.Keys
	enabled map[string]bool // the handlers, and which of them are switched on
}

// served lists what the running buses serve, as the registry tells.
func (s *server) served(ctx context.Context) ([]*served, error) {
	var all []*served
	for _, st := range s.all() {
		consumers, err := st.Consumers(ctx)
		if err != nil {
			return nil, err
		}
		found := map[place]*served{}
		for _, c := range consumers {
			var runs lease.Runs
			if err := json.Unmarshal(c.Runs, &runs); err != nil {
				continue // it has only just come, or it goes
			}
			for topic, handlers := range runs.Topics {
				at := place{topic, runs.Group}
				if found[at] == nil {
					if found[at], err = lookUp(ctx, st, at); err != nil {
						return nil, err
					}
				}
				if found[at] == nil {
					continue
				}
				for _, h := range handlers {
					o, err := settings.ParseOverride(string(h.Settings))
					if err != nil {
						return nil, err
					}
					found[at].enabled[h.ID] = found[at].enabled[h.ID] || o.Apply(settings.Handler{}).Enabled
				}
			}
		}
		for _, one := range found {
			if one != nil {
				all = append(all, one)
			}
		}
	}
	slices.SortFunc(all, func(a, b *served) int { return strings.Compare(a.keys.Config+a.keys.Group, b.keys.Config+b.keys.Group) })
	return all, nil
}

// lookUp returns nil when there is no such topic or group any more.
func lookUp(ctx context.Context, st *store.Store, at place) (*served, error) {
	topic, err := st.Topic(ctx, at.topic)
	if errors.Is(err, errs.TopicNotFound) || errors.Is(err, errs.TopicDeleting) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	group, ok := topic.Group(at.group)
	if !ok {
		return nil, nil
	}
	return &served{store: st, topic: topic, keys: st.Keys(topic, group), enabled: map[string]bool{}}, nil
}

// load is how much there is to do in one place, and what was done.
type load struct {
	waiting, held  int64
	due            bool  // a retry is
	delayed        int64 // events
	delayedDue     bool  // one of them is
	totals         map[string]string
	begun, running int // runs of handlers
	seen           int // events that a handler was given
}

// loads reads the figures of all places in one transaction: an event that moves
// meanwhile, or that its handler sends on to another topic, is in one of them.
func (s *server) loads(ctx context.Context, all []*served) ([]load, error) {
	holders := map[string][]string{} // by the key that lists them
	for {
		reads := make([]reading, len(all))
		_, err := s.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
			for i, at := range all {
				reads[i] = read(ctx, p, &at.keys, holders[at.keys.Holders])
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		now := s.clock.Now() // after the reading: what was due in it is due by now
		complete := true
		list := make([]load, len(all))
		for i, at := range all {
			complete = complete && !slices.ContainsFunc(reads[i].holders.Val(), func(id string) bool {
				return !slices.Contains(holders[at.keys.Holders], id)
			})
			holders[at.keys.Holders] = reads[i].holders.Val()
			list[i] = reads[i].load(now, at.keys.Shared())
			here := place{at.topic.Name, at.keys.Group}
			list[i].begun, list[i].running = s.runs.progress(here)
			list[i].seen = len(s.runs.seen(here))
		}
		if complete {
			return list, nil
		}
		// Somebody holds entries who was not known before: look again, also there.
	}
}

// reading is what a transaction reads of one place.
type reading struct {
	holders        *redis.StringSliceCmd
	queue, returns *redis.IntCmd
	next           *redis.ZSliceCmd // retry
	delayed        *redis.IntCmd
	nextDelayed    *redis.ZSliceCmd
	totals         *redis.MapStringStringCmd
	held           []*redis.IntCmd
}

func read(ctx context.Context, p redis.Pipeliner, k *store.Keys, holders []string) reading {
	r := reading{
		holders: p.SMembers(ctx, k.Holders),
		queue:   p.LLen(ctx, k.Queue), returns: p.LLen(ctx, k.Returns),
		next:   p.ZRangeWithScores(ctx, k.Retry, 0, 0),
		totals: p.HGetAll(ctx, k.Counts),

		delayed: p.ZCard(ctx, k.Delayed), nextDelayed: p.ZRangeWithScores(ctx, k.Delayed, 0, 0),
	}
	for _, consumer := range holders {
		r.held = append(r.held, p.HLen(ctx, k.Inflight(consumer)))
	}
	return r
}

func (r *reading) load(now time.Time, shared bool) load {
	l := load{waiting: r.queue.Val(), totals: r.totals.Val()}
	if shared {
		l.waiting += r.returns.Val()
	}
	for _, h := range r.held {
		l.held += h.Val()
	}
	l.due = due(r.next, now)
	l.delayed, l.delayedDue = r.delayed.Val(), due(r.nextDelayed, now)
	return l
}

// due tells whether the head of a set that is scored by times is due.
func due(head *redis.ZSliceCmd, now time.Time) bool {
	first := head.Val()
	return len(first) > 0 && first[0].Score <= float64(now.UnixMilli())
}

// can tells that a handler is switched on.
func (s *served) can() bool {
	for _, on := range s.enabled {
		if on {
			return true
		}
	}
	return false
}

// busy says what there is to do now, "" for nothing.
func (l *load) busy(s *served) string {
	can, gone := s.can(), l.gone()
	switch {
	case l.held > 0:
		return number(l.held, "event is", "events are") + " in flight"
	case !s.topic.Enabled:
		return ""
	case l.waiting > 0 && can:
		return number(l.waiting, "event waits", "events wait")
	case l.due:
		return "a retry is due"
	case l.delayedDue:
		return "a delayed event is due"
	case s.topic.Delivery == store.AtMostOnce && l.running > 0:
		return number(l.running, "handler runs", "handlers run")
	case s.topic.Delivery == store.AtMostOnce && can && l.waiting == 0 && int64(l.seen) < gone:
		return number(gone-int64(l.seen), "event has", "events have") + " not come to a handler yet"
	}
	return ""
}

// gone is how many events left the queue of an at_most_once topic in which nothing
// waits: those that were sent and are neither delayed nor cancelled.
func (l *load) gone() int64 {
	sent, _ := strconv.ParseInt(l.totals["sent"], 10, 64)
	cancelled, _ := strconv.ParseInt(l.totals["cancelled"], 10, 64)
	return sent - cancelled - l.delayed
}

// number says how many there are of something.
func number[T int | int64](n T, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// trace changes with whatever is done.
func (l *load) trace() string {
	return fmt.Sprint(l.waiting, l.held, l.due, l.delayed, l.delayedDue, l.begun, l.running, l.totals)
}
