// Package send puts events into the queues of a topic's groups. Sends to one
// topic that come while a call is under way share the next call: a single send
// costs one round trip, a thousand at once a few.
package send

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/eventbus/internal/wire"
)

const (
	// maxShared bounds the events, maxSharedBytes the bytes, of a shared call; of
	// delayed events, which cost Redis more in each group, it is divided by the number
	// of groups. A single send may be larger.
	maxShared      = 500
	maxSharedBytes = 1 << 20
	// patience is how long a send waits for the calls before its own where these are
	// not answered. Together with its own call that bounds it, also without a
	// deadline of the caller's.
	patience = 5 * time.Second
	// maxStale is how often a send follows settings that change under it.
	maxStale = 10
)

// Store is what a Sender needs of Redis.
type Store interface {
	Topic(ctx context.Context, name string) (*store.Topic, error)
	Send(ctx context.Context, t *store.Topic, entries [][]byte) error
	SendDelayed(ctx context.Context, t *store.Topic, events []store.Delayed) (unheard string, err error)
}

// Sender is safe for use by many goroutines.
type Sender struct {
	store  Store
	create func(ctx context.Context, topic string) error // nil: an unknown topic is an error
	// Unheard is called when delayed events were sent and a channel refused to
	// announce them; see store.SendDelayed. Nil where nobody wants to know.
	Unheard func(topic, channel string)

	mu    sync.Mutex
	lanes map[string]*lane
}

// New returns a sender. create makes a topic that is sent to and missing; nil
// where that is an error.
func New(s Store, create func(ctx context.Context, topic string) error) *Sender {
	return &Sender{store: s, create: create, lanes: map[string]*lane{}}
}

// Send puts all the events into every group's queue, or none. When ctx ends
// before the answer is there, the error says whether they may have been sent.
func (s *Sender) Send(ctx context.Context, topic string, events []wire.Entry) error {
	return s.SendDelayed(ctx, topic, events, nil)
}

// SendDelayed is Send for events of which some are due later: due holds one time
// for each.
func (s *Sender) SendDelayed(ctx context.Context, topic string, events []wire.Entry, due []store.Due) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	u := &unit{events: events, due: due, since: time.Now(), done: make(chan error, 1)}
	for i := range events {
		u.size += len(events[i].Data)
	}
	l := s.lane(topic)
	l.add(u)
	select {
	case err := <-u.done:
		return err
	case <-ctx.Done():
	}
	if l.withdraw(u) {
		return fmt.Errorf("not sent: %w", ctx.Err())
	}
	select {
	case err := <-u.done: // in this moment
		return err
	default:
	}
	return fmt.Errorf("given up while the call was under way; the events may have been sent: %w", ctx.Err())
}

// lane returns the lane of a topic. Lanes of topics that do not exist are not
// kept, so that made-up names do not fill memory.
func (s *Sender) lane(topic string) *lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[topic]
	if l == nil {
		l = &lane{sender: s, name: topic}
		s.lanes[topic] = l
	}
	return l
}

func (s *Sender) drop(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lanes[l.name] == l {
		delete(s.lanes, l.name)
	}
}

const (
	waiting int32 = iota
	taken
	withdrawn
)

// unit is the events of one Send.
type unit struct {
	events []wire.Entry
	due    []store.Due // nil: all of them now
	size   int
	since  time.Time
	state  atomic.Int32
	done   chan error
}

// lane sends to one topic, one call at a time.
type lane struct {
	sender *Sender
	name   string

	mu      sync.Mutex
	waiting []*unit
	busy    bool

	topic *store.Topic // as last read; used by the flusher alone
}

func (l *lane) add(u *unit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, u)
	if !l.busy {
		l.busy = true
		go l.flush()
	}
}

// withdraw takes a unit back that no call has taken yet, and lets its events go:
// the call before it may hang for long.
func (l *lane) withdraw(u *unit) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !u.state.CompareAndSwap(waiting, withdrawn) {
		return false
	}
	u.events, u.due, u.size = nil, nil, 0
	return true
}

// flush sends what waits until nothing does.
func (l *lane) flush() {
	for {
		batch := l.take()
		if batch == nil {
			return
		}
		l.deliver(batch)
	}
}

// take takes the units that share the next call. Those with delayed events have
// calls of their own, which cost more.
func (l *lane) take() []*unit {
	l.mu.Lock()
	defer l.mu.Unlock()
	var batch []*unit
	events, size, n, most := 0, 0, 0, maxShared
	if l.topic != nil && len(l.waiting) > 0 && l.waiting[0].due != nil {
		most /= max(1, len(l.topic.Groups))
	}
	for _, u := range l.waiting {
		if len(batch) > 0 && (events+len(u.events) > most || size+u.size > maxSharedBytes || (u.due == nil) != (batch[0].due == nil)) {
			break
		}
		n++
		if u.state.CompareAndSwap(waiting, taken) {
			batch = append(batch, u)
			events += len(u.events)
			size += u.size
		}
	}
	if l.waiting = l.waiting[n:]; len(l.waiting) == 0 {
		l.waiting = nil
	}
	if batch == nil {
		l.busy = false
	}
	return batch
}

// deliver sends a batch and answers its units. Where the topic is full for all
// of them together, or one is due too far off, each is tried by itself.
func (l *lane) deliver(batch []*unit) {
	err := l.call(batch)
	apart := len(batch) > 1 && (errors.Is(err, errs.TopicFull) || errors.Is(err, errs.InvalidArgument))
	for _, u := range batch {
		switch {
		case !apart:
			u.done <- err
		case errors.Is(err, errs.Unavailable): // each would wait for all those before it
			u.done <- notSent(err)
		default:
			err = l.call([]*unit{u})
			u.done <- err
		}
	}
	if errors.Is(err, errs.TopicNotFound) {
		l.topic = nil
		l.sender.drop(l)
	}
	if errors.Is(err, errs.Unavailable) {
		l.giveUp(err)
	}
}

func notSent(before error) error {
	return fmt.Errorf("not sent: the send before it failed: %w", errs.Cause(before))
}

// giveUp fails the units that have waited long for a call that was not answered:
// behind a server that hangs each would wait for all those before it.
func (l *lane) giveUp(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := l.waiting[:0]
	for _, u := range l.waiting {
		if time.Since(u.since) < patience || !u.state.CompareAndSwap(waiting, withdrawn) {
			left = append(left, u)
			continue
		}
		u.events = nil
		u.done <- notSent(err)
	}
	clear(l.waiting[len(left):])
	l.waiting = left
}

// call makes one call, under the settings as they are: where those that it knows
// are out of date, it reads them again. Its context is nobody's, since several
// senders share it; the store bounds it.
func (l *lane) call(batch []*unit) error {
	ctx := context.Background()
	created := false
	for range maxStale {
		err := l.read(ctx)
		if err == nil {
			err = l.put(ctx, batch)
		}
		switch {
		case errors.Is(err, store.ErrStale):
			l.topic = nil
		case errors.Is(err, errs.NoGroup):
			l.topic = nil // nothing is asked of Redis, which could tell that there is one by now
			return err
		case errors.Is(err, errs.TopicNotFound) && l.sender.create != nil && !created:
			l.topic, created = nil, true
			if err := l.sender.create(ctx, l.name); err != nil && !errors.Is(err, errs.TopicExists) {
				return fmt.Errorf("it is missing, and cannot be made: %w", errs.Cause(err))
			}
		default:
			return err
		}
	}
	return fmt.Errorf("%w: they changed %d times during one send", errs.Conflict, maxStale)
}

func (l *lane) read(ctx context.Context) (err error) {
	if l.topic == nil {
		l.topic, err = l.sender.store.Topic(ctx, l.name)
	}
	return err
}

func (l *lane) put(ctx context.Context, batch []*unit) error {
	if batch[0].due == nil {
		return l.sender.store.Send(ctx, l.topic, l.encode(batch))
	}
	unheard, err := l.sender.store.SendDelayed(ctx, l.topic, l.encodeDelayed(batch))
	if unheard != "" && l.sender.Unheard != nil {
		l.sender.Unheard(l.name, unheard)
	}
	return err
}

func (l *lane) encode(batch []*unit) [][]byte {
	var entries [][]byte
	for _, u := range batch {
		for i := range u.events {
			entries = append(entries, l.entry(&u.events[i], wire.Append))
		}
	}
	return entries
}

func (l *lane) encodeDelayed(batch []*unit) []store.Delayed {
	var events []store.Delayed
	for _, u := range batch {
		for i, due := range u.due {
			events = append(events, store.Delayed{ID: u.events[i].ID, Due: due, Entry: l.entry(&u.events[i], wire.AppendPending)})
		}
	}
	return events
}

func (l *lane) entry(e *wire.Entry, encode func([]byte, *wire.Entry) []byte) []byte {
	if l.topic.Wire == store.WireRaw {
		return e.Data
	}
	return encode(nil, e)
}
