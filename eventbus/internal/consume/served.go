package consume

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/delay"
	"github.com/seed4933/eventbus/eventbus/internal/dispatch"
	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/lease"
	"github.com/seed4933/eventbus/eventbus/internal/poll"
	"github.com/seed4933/eventbus/eventbus/internal/retry"
	"github.com/seed4933/eventbus/eventbus/internal/settings"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// served is a topic for which this process has handlers.
type served struct {
	name     string
	handlers []*handler              // fixed
	states   []*dispatch.Handler     // theirs
	current  atomic.Pointer[current] // nil while there is no such topic or group
	unread   bool                    // the last reading failed; guarded by Consumer.applying
	created  time.Time               // when the topic was made that was last joined; likewise
}

// current is a topic as its settings were last read.
type current struct {
	topic *store.Topic
	keys  store.Keys
}

// handler is a registered handler and the settings that hold for it.
type handler struct {
	Handler
	state    *dispatch.Handler
	settings atomic.Pointer[settings.Handler]

	// for an entry that is addressed to it alone
	alone      []*handler
	aloneState []*dispatch.Handler
}

func (c *Consumer) newHandler(h Handler) *handler {
	r := &handler{Handler: h, state: dispatch.NewHandler(h.ID, limits(h.Base))}
	r.state.OnBreaker = func(now dispatch.BreakerState, failed error) {
		log := c.cfg.Log.With("topic", h.Topic, "handler", h.ID)
		switch now {
		case dispatch.Closed:
			c.breakers.Store(true)
			log.Info("a circuit breaker has closed: the handler is called again")
			return
		case dispatch.Opened:
			c.breakers.Store(true)
			log = log.With("open", r.settings.Load().BreakerOpen)
			log.Warn("a circuit breaker has opened: the handler is not called for a while, its share of events waits", "err", failed)
		case dispatch.Reopened:
			log.Warn("a circuit breaker stays open: the handler was tried, and failed", "err", failed)
		}
	}
	r.settings.Store(&h.Base)
	r.alone, r.aloneState = []*handler{r}, []*dispatch.Handler{r.state}
	return r
}

func limits(s settings.Handler) dispatch.Settings {
	return dispatch.Settings{
		Enabled: s.Enabled, Timeout: s.Timeout, Concurrency: s.Concurrency, MaxAbandoned: s.MaxAbandoned,
		BreakerFailures: s.BreakerFailures, BreakerOpen: s.BreakerOpen,
	}
}

func (t *served) handler(id string) *handler {
	for _, h := range t.handlers {
		if h.ID == id {
			return h
		}
	}
	return nil
}

// joinAll joins every topic anew. One that is missing stays so where topics are
// not made here: Missing tells. Of one with an error of its own the reading tells
// that follows, and load joins it later.
func (c *Consumer) joinAll(ctx context.Context) error {
	for _, t := range c.topics {
		if err := c.join(ctx, t.name); err != nil && !store.OfTopic(err) {
			return err
		}
	}
	return nil
}

// Missing names a topic with handlers here that does not exist, or of which this
// process's group is no group; "" when there is none.
func (c *Consumer) Missing() string {
	for _, t := range c.topics {
		if t.current.Load() == nil {
			return t.name
		}
	}
	return ""
}

// join registers the group with a topic at start, and makes the topic where that
// is wanted.
func (c *Consumer) join(ctx context.Context, name string) error {
	t, err := c.cfg.Store.Topic(ctx, name)
	if errors.Is(err, errs.TopicNotFound) && c.cfg.Create != nil {
		if err := c.cfg.Create(ctx, name); err != nil && !errors.Is(err, errs.TopicExists) {
			return err
		}
		t, err = c.cfg.Store.Topic(ctx, name)
	}
	if err != nil {
		return err
	}
	// A repair, which can wait: whoever made the topic has listed it.
	if err := c.cfg.Store.IndexTopic(ctx, name); err != nil && !store.OutOfMemory(err) {
		return err
	}
	if _, ok := t.Group(c.cfg.Group); ok {
		return nil
	}
	err = c.cfg.Store.AddGroup(ctx, name, store.Group{Name: c.cfg.Group})
	if errors.Is(err, errs.GroupExists) {
		return nil
	}
	return err
}

// load reads a topic's settings and puts them into force.
func (c *Consumer) load(ctx context.Context, t *served) error {
	topic, err := c.cfg.Store.Topic(ctx, t.name)
	if errors.Is(err, errs.TopicNotFound) || errors.Is(err, errs.TopicDeleting) {
		if t.current.Swap(nil) != nil {
			c.cfg.Log.Warn("a topic with handlers here was deleted; it is served again when it is made anew", "topic", t.name, "group", c.cfg.Group)
		}
		return nil
	}
	if err != nil {
		return err
	}
	group, ok := topic.Group(c.cfg.Group)
	if !ok && !topic.Created.Equal(t.created) { // another topic of that name
		if err := c.join(ctx, t.name); err != nil {
			return err
		}
		if topic, err = c.cfg.Store.Topic(ctx, t.name); err != nil {
			return err
		}
		group, ok = topic.Group(c.cfg.Group)
	}
	t.created = topic.Created
	if !ok {
		if t.current.Swap(nil) != nil {
			c.cfg.Log.Warn("this process's group was removed from a topic; it joins again at the next start", "topic", t.name, "group", c.cfg.Group)
		}
		return nil
	}
	for _, h := range t.handlers {
		override, err := settings.ParseOverride(topic.Handlers[c.cfg.Group][h.ID])
		if err != nil {
			c.cfg.Log.Error("settings of a handler cannot be read; those of the code hold", "topic", t.name, "handler", h.ID, "err", err)
		}
		applied := override.Apply(h.Base)
		if bad := errors.Join(applied.Check("")...); bad != nil {
			c.cfg.Log.Error("settings of a handler are invalid; those of the code hold", "topic", t.name, "handler", h.ID, "err", bad)
			applied = h.Base
		}
		h.settings.Store(&applied)
		now := limits(applied)
		now.BreakerAnew = override.EnabledRev
		if now != h.state.Settings() {
			h.state.Apply(now)
		}
	}
	t.current.Store(&current{topic: topic, keys: c.cfg.Store.Keys(topic, group)})
	return nil
}

// serve tells poller, mover and scheduler which topics there are now.
func (c *Consumer) serve() {
	var polled []*poll.Topic
	var moved []*store.Keys
	var delayed []delay.Topic
	for _, t := range c.topics {
		cur := t.current.Load()
		if cur == nil || !cur.topic.Enabled {
			continue
		}
		moved = append(moved, &cur.keys)
		delayed = append(delayed, delay.Topic{Keys: &cur.keys, Delivery: cur.topic.Delivery})
		polled = append(polled, &poll.Topic{
			Keys:       &cur.keys,
			AtMostOnce: cur.topic.Delivery == store.AtMostOnce,
			Room:       func() int { return c.room(t, cur.topic.Concurrency) },
			Blocked:    t.blocked,
			Accept:     func(b poll.Batch, alone bool) bool { return c.accept(t, cur, b, alone) },
		})
	}
	c.poller.Serve(polled)
	c.mover.Serve(moved)
	c.delayed.Serve(delayed)
}

// reload reads the settings of one topic, or with "" of all, puts them into
// force, and tells the others what runs here now.
func (c *Consumer) reload(ctx context.Context, name string) error {
	c.applying.Lock()
	defer c.applying.Unlock()
	return c.reloadLocked(ctx, name)
}

func (c *Consumer) reloadLocked(ctx context.Context, name string) error {
	for _, t := range c.topics {
		if name != "" && t.name != name {
			continue
		}
		before := t.current.Load()
		if err := c.read(ctx, t); err != nil {
			return err
		}
		c.unserved = t.keep(before) || c.unserved
	}
	return c.serveAnew(ctx)
}

// serveAnew puts what was read into force, if there is anything, and tells the
// others. What an error has kept from that is left for the next call.
func (c *Consumer) serveAnew(ctx context.Context) error {
	if !c.unserved {
		return nil
	}
	c.serve()
	err := c.keeper.Describe(ctx)
	c.unserved = err != nil
	return err
}

// keep puts back what held before a reading that found nothing changed, since
// poller and mover know its keys. It returns whether something had changed.
func (t *served) keep(before *current) (changed bool) {
	after := t.current.Load()
	if before == nil || after == nil {
		return before != after
	}
	if before.topic.Revision != after.topic.Revision {
		return true
	}
	t.current.Store(before)
	return false
}

// read loads a topic's settings. An error of the topic's own, such as a key of
// another type, keeps what holds, and the other topics from waiting for it.
func (c *Consumer) read(ctx context.Context, t *served) error {
	err := c.load(ctx, t)
	if err != nil && !store.OfTopic(err) {
		return err
	}
	t.unread = err != nil
	c.complaints.say(t.name, readSettings, err)
	return nil
}

// readUnread tries those topics again whose settings could not be read.
func (c *Consumer) readUnread(ctx context.Context) error {
	for _, t := range c.topics {
		if !t.unread {
			continue
		}
		if err := c.read(ctx, t); err != nil {
			return err
		}
		c.unserved = c.unserved || !t.unread
	}
	return c.serveAnew(ctx)
}

// sawRevision puts changed settings into force before the events of a claim run.
func (c *Consumer) sawRevision(topic string, revision int64) {
	t := c.topics[topic]
	if cur := t.current.Load(); cur == nil || cur.topic.Revision == revision {
		return
	}
	if err := c.reload(context.Background(), topic); err != nil {
		c.cfg.Log.Warn("changed settings could not be read; trying again with the next look", "topic", topic, "err", err)
	}
}

// room is the number of the topic's events that may start now.
func (c *Consumer) room(t *served, limit int) int {
	if cur := t.current.Load(); cur != nil && c.finisher.Stuck(&cur.keys) {
		return 0 // nothing could be made of what fails
	}
	others := make([]int, 0, len(c.topics))
	for name, o := range c.topics {
		if cur := o.current.Load(); name != t.name && cur != nil && cur.topic.Enabled {
			others = append(others, c.pool.RunningOf(name))
		}
	}
	room := roomFor(c.cfg.Size, c.pool.Running(), c.pool.RunningOf(t.name), limit, others)
	for _, h := range t.handlers {
		if _, waiting, _ := h.state.Stats(); waiting > 0 {
			return 0 // more would only wait in their slots for the handler's limit
		}
		// A limit of one keeps the order, also where other handlers run beside it:
		// two events under way could come to it in either order.
		if limit := h.settings.Load().Concurrency; limit == 1 || limit > 0 && len(t.handlers) == 1 {
			room = min(room, limit-c.pool.RunningOf(t.name))
		}
	}
	return max(room, 0)
}

// blocked tells that no handler of the topic can run, and for how long at least.
func (t *served) blocked() (bool, time.Duration) {
	var soonest time.Duration
	for i, h := range t.handlers {
		reason, wait := h.state.Blocked()
		if reason == "" {
			return false, 0
		}
		if wait <= 0 {
			wait = lookAgain
		}
		if i == 0 || wait < soonest {
			soonest = wait
		}
	}
	return true, soonest
}

// lookAgain is when a topic is looked at again whose handlers are blocked for an
// unknown time; a change of settings comes before.
const lookAgain = time.Second

// runs is what stands beside this consumer's lease.
func (c *Consumer) runs() []byte {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	r := lease.Runs{Host: host, PID: os.Getpid(), Started: c.started.UnixMilli(), Group: c.cfg.Group, Topics: map[string][]lease.Handle{}}
	for _, t := range c.topics {
		for _, h := range t.handlers {
			r.Topics[t.name] = append(r.Topics[t.name], lease.Handle{
				ID: h.ID, Settings: json.RawMessage(settings.Full(*h.settings.Load()).String()), OpenBreaker: h.state.BreakerIsOpen(),
			})
		}
	}
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and numbers marshal
	}
	return b
}

// backoff is the delay after a handler's n-th failed attempt.
func (c *Consumer) backoff(h *handler, n int) time.Duration {
	s := h.settings.Load()
	return retry.Backoff(n, s.RetryInitial, s.RetryMax, c.cfg.Random)
}
