// Package delay hands out delayed events when they are due.
//
// # States of a topic
//
//	     a message, a sweep, a (re)subscription
//	   ┌───────────────────────────────────────┐
//	   ▼                                       │
//	to be moved ──▶ next due time known ───────┤
//	   ▲              │ the timer              │
//	   └──────────────┘      nothing delayed ──┘
//
// One goroutine moves, with one timer; another one listens, on one connection, to
// the channels of all topics. A message says that something is due earlier than
// was known, and only makes the first look: when the next is due, the move itself
// returns, by Redis's clock.
//
// # What it survives
//
//   - The process starts when events are overdue and nobody sends: every topic is
//     moved from at the start.
//   - A message, a timer or the connection is lost: every topic is looked at when
//     the subscription stands anew, and in a sweep, in one call for all of them.
//   - Java moves the same events, or other processes do: each member is moved by
//     the one call that removes it, and who comes late is told the next due time.
//   - Clocks differ or jump: only the time until the next is due is counted here.
//   - Hundreds of thousands are due at once: they are moved in bounded steps, in
//     turns with the other topics.
//   - A topic has an error of its own, a user may not read its key or channel: the
//     log says so once, and the others go on.
package delay

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/link"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/eventbus/internal/told"
)

// SweepEvery is how late a lost wake-up makes an event at most.
const SweepEvery = 5 * time.Second

// afterTopicError is how long a topic with an error of its own is left alone.
const afterTopicError = 5 * time.Second

// Store is what a Scheduler needs of Redis.
type Store interface {
	Transfer(ctx context.Context, k *store.Keys, delivery store.Delivery) (store.Transferred, error)
	Heads(ctx context.Context, topics []*store.Keys) ([]time.Duration, error)
}

// Subscription is how a Scheduler hears of what is sent; see store.Subscription.
type Subscription interface {
	Next(ctx context.Context) (store.Message, error)
	Set(ctx context.Context, channels []string)
	Close() error
}

// Topic is one topic and group.
type Topic struct {
	Keys     *store.Keys
	Delivery store.Delivery
}

// Scheduler moves delayed events that are due to their queues, for all topics that
// a process serves.
type Scheduler struct {
	store     Store
	subscribe func(channels ...string) Subscription
	link      *link.Link
	log       *slog.Logger

	mu     sync.Mutex
	topics map[string]*state // by the delayed set
	swept  time.Time         // when the heads were last looked at
	wakes  chan struct{}
	anew   chan struct{} // the topics have changed, for the listener
	told   told.Errors[string]
}

// state is a topic and when it is to be moved from. Guarded by Scheduler.mu.
type state struct {
	Topic
	next time.Time // zero: nothing is known to be delayed
	ill  bool      // not before next, whatever is heard
}

// New returns a scheduler without topics. subscribe is called once, by Run.
func New(s Store, subscribe func(channels ...string) Subscription, l *link.Link, log *slog.Logger) *Scheduler {
	return &Scheduler{store: s, subscribe: subscribe, link: l, log: log, topics: map[string]*state{}, wakes: make(chan struct{}, 1), anew: make(chan struct{}, 1)}
}

// Serve replaces the topics that are served, and moves at once from each that is new
// or whose Keys are not those of before: its settings were read anew, and a topic that
// was off for a moment has nothing to wait for that was noted.
func (s *Scheduler) Serve(topics []Topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	served := make(map[string]*state, len(topics))
	for _, t := range topics {
		st := s.topics[t.Keys.Delayed]
		if st == nil {
			st = &state{}
		}
		if st.Keys != t.Keys {
			st.earlier(time.Now())
		}
		st.Topic = t
		served[t.Keys.Delayed] = st
	}
	for set, st := range s.topics {
		if served[set] == nil {
			s.told.Well(set)
			s.told.Well(st.Keys.Unreadable)
		}
	}
	s.topics = served
	signal(s.wakes)
	signal(s.anew)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// look makes the scheduler move from the topic of a channel now; from all with "".
func (s *Scheduler) look(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.topics {
		if channel == "" || st.Keys.DelayChannel == channel {
			st.earlier(time.Now())
		}
	}
	signal(s.wakes)
}

func (st *state) earlier(at time.Time) {
	if !st.ill && (st.next.IsZero() || at.Before(st.next)) {
		st.next = at
	}
}

// Run moves until ctx ends.
func (s *Scheduler) Run(ctx context.Context) {
	var listening sync.WaitGroup
	defer listening.Wait()
	listening.Go(func() { s.listen(ctx) })
	timer := time.NewTimer(0)
	defer timer.Stop()
	s.swept = time.Now() // all are moved from at the start
	for {
		st, wait := s.due()
		if wait > 0 {
			timer.Reset(wait)
			select {
			case <-ctx.Done():
				return
			case <-s.wakes:
			case <-timer.C:
			}
			continue
		}
		if s.link.Wait(ctx) != nil {
			return
		}
		if st != nil {
			s.move(ctx, st)
		} else {
			s.sweep(ctx)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// due returns the topic that is due for longest, nil for the sweep, or the time
// until one is.
func (s *Scheduler) due() (*state, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, at := (*state)(nil), s.swept.Add(SweepEvery)
	for _, st := range s.topics {
		if !st.next.IsZero() && st.next.Before(at) {
			first, at = st, st.next
		}
	}
	return first, time.Until(at)
}

// move moves what is due of one topic, a bounded number.
func (s *Scheduler) move(ctx context.Context, st *state) {
	s.mu.Lock()
	topic := st.Topic
	st.next, st.ill = time.Time{}, false // a message from now on counts
	s.mu.Unlock()
	got, err := s.store.Transfer(ctx, topic.Keys, topic.Delivery)
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case err == nil:
		s.told.Well(topic.Keys.Delayed)
		if got.Next >= 0 {
			st.earlier(now.Add(got.Next))
		}
		if got.Unreadable > 0 && s.told.First(topic.Keys.Unreadable, errUnreadable) {
			s.log.Error("delayed events cannot be read and were set aside, the others go on; it is logged once", "topic", topic.Keys.Topic, "group", topic.Keys.Group, "now", got.Unreadable, "list", topic.Keys.Unreadable, "err", errUnreadable)
		}
	case store.OfTopic(err):
		s.complain(topic.Keys, err)
		st.next, st.ill = now.Add(afterTopicError), true
	default:
		st.earlier(now)
		s.link.Down(err)
	}
}

var errUnreadable = errors.New("a member of the delayed set has neither of Redisson's two forms")

// complain logs an error of a topic's own once.
func (s *Scheduler) complain(k *store.Keys, err error) {
	if s.told.First(k.Delayed, err) {
		s.log.Error("delayed events of a topic are not handed out; trying again until they can be", "topic", k.Topic, "group", k.Group, "every", afterTopicError, "err", err)
	}
}

// sweep looks when the next event of each topic is due. Topics with an error of their
// own are tried by themselves: where a user may not read one key, the look at all of
// them is refused.
func (s *Scheduler) sweep(ctx context.Context) {
	s.mu.Lock()
	var states []*state
	var keys []*store.Keys
	for _, st := range s.topics {
		if !st.ill {
			states, keys = append(states, st), append(keys, st.Keys)
		}
	}
	s.mu.Unlock()
	heads, err := s.store.Heads(ctx, keys)
	if err != nil {
		if ctx.Err() == nil && !store.OfTopic(err) {
			s.link.Down(err)
			return
		}
		s.look("") // one of the keys is to blame: each topic finds out by itself
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.swept = now
	for i, head := range heads {
		switch {
		case head >= 0:
			states[i].earlier(now.Add(head))
		case head == store.HeadBad:
			states[i].earlier(now)
		}
	}
}

// channels lists the channels of the topics that are served.
func (s *Scheduler) channels() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, st := range s.topics {
		all = append(all, st.Keys.DelayChannel)
	}
	return all
}

// listen looks at a topic as soon as something is announced there.
func (s *Scheduler) listen(ctx context.Context) {
	sub := s.subscribe(s.channels()...)
	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() {
		for {
			select {
			case <-ctx.Done():
				_ = sub.Close() // nothing is left to be told
				return
			case <-s.anew:
				sub.Set(ctx, s.channels())
			}
		}
	})
	var pause link.Pause
	refusals := 0 // without a pause
	for ctx.Err() == nil {
		if s.link.Wait(ctx) != nil {
			return
		}
		m, err := sub.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			pause.Reset()
			s.look(m.Channel)
			continue
		case store.OfTopic(err):
			if s.told.First("", err) {
				s.log.Error("due times are not announced to this process: delayed events may come up to the sweep's time late", "sweep", SweepEvery, "allow", store.DelayChannels, "err", err)
			}
			// Each channel that is refused says so by itself, and what the others bring
			// stands behind it.
			if refusals++; refusals <= len(s.channels()) {
				continue
			}
		default:
			s.link.Suspect() // it may be this connection alone
		}
		if !pause.Wait(ctx) {
			return
		}
		refusals = 0
	}
}
