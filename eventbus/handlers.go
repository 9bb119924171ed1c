package eventbus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/lease"
	"github.com/seed4933/eventbus/eventbus/internal/name"
	"github.com/seed4933/eventbus/eventbus/internal/settings"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// Handlers administers the settings of the handlers of the bus's group, in all
// processes that run them. What is set here goes before what the code says, is
// kept in Redis, and reaches running processes within a second.
type Handlers struct {
	bus   *Bus
	group string
}

// Handlers returns the administration of handlers.
func (b *Bus) Handlers() *Handlers { return &Handlers{bus: b, group: b.cfg.Group} }

// InGroup returns the administration of another group's handlers.
func (h *Handlers) InGroup(group string) *Handlers { return &Handlers{bus: h.bus, group: group} }

// HandlerInfo is a handler as the running processes know it.
type HandlerInfo struct {
	Topic string
	Group string
	ID    string
	// Settings hold now, as the process that began last runs it; zero when no
	// process does.
	Settings HandlerSettings
	// Changed is what was set at run time.
	Changed HandlerUpdate
	// Consumers are the ids of the processes that run it.
	Consumers []string
	// OpenBreakers are the ids of those in which its circuit breaker is open, or lets
	// one call through to try; as they told within the last second.
	OpenBreakers []string
}

// HandlerSettings is the settings of a handler, complete.
type HandlerSettings struct {
	Enabled         bool
	Timeout         time.Duration
	MaxAttempts     int
	RetryInitial    time.Duration
	RetryMax        time.Duration
	Concurrency     int // 0: no limit but the pool's
	MaxAbandoned    int
	BreakerFailures int // 0: no breaker
	BreakerOpen     time.Duration
}

// HandlerUpdate changes some settings of a handler: nil leaves one as it is. See
// HandleConfig for what they mean. Durations are in whole milliseconds, rounded up;
// numbers above 2 147 483 647 count as that. RetryInitial may not be over RetryMax where
// both are set, be it by one update or by two.
type HandlerUpdate struct {
	Enabled         *bool
	Timeout         *time.Duration
	MaxAttempts     *int
	RetryInitial    *time.Duration
	RetryMax        *time.Duration
	Concurrency     *int
	MaxAbandoned    *int
	BreakerFailures *int
	BreakerOpen     *time.Duration
	// IfRevision demands that the topic is at this revision; 0 demands nothing.
	IfRevision int64
}

// List returns the handlers of a topic in the bus's group, by id: those that run
// somewhere, and those for which settings are stored.
func (h *Handlers) List(ctx context.Context, topic string) ([]HandlerInfo, error) {
	doing := func(err error) error {
		return errs.Doing(err, fmt.Sprintf("list handlers of topic %s, group %s", errs.Quote(topic), errs.Quote(h.group)))
	}
	t, err := h.bus.Topics().read(ctx, topic)
	if err != nil {
		return nil, doing(err)
	}
	if _, err := groupOf(t, h.group); err != nil {
		return nil, doing(err)
	}
	consumers, err := h.bus.Consumers(ctx)
	if err != nil {
		return nil, doing(err)
	}
	found := map[string]*HandlerInfo{}
	info := func(id string) *HandlerInfo {
		if found[id] == nil {
			found[id] = &HandlerInfo{Topic: topic, Group: h.group, ID: id}
		}
		return found[id]
	}
	for id, text := range t.Handlers[h.group] {
		o, err := settings.ParseOverride(text)
		if err != nil {
			return nil, doing(err)
		}
		info(id).Changed = updateOf(o)
	}
	slices.SortFunc(consumers, func(a, b Consumer) int { return a.Started.Compare(b.Started) })
	for _, c := range consumers {
		if c.Group != h.group || c.Expired {
			continue
		}
		for _, r := range c.Handlers[topic] {
			i := info(r.ID)
			i.Settings = r.Settings
			i.Consumers = append(i.Consumers, c.ID)
			if r.OpenBreaker {
				i.OpenBreakers = append(i.OpenBreakers, c.ID)
			}
		}
	}
	list := make([]HandlerInfo, 0, len(found))
	for _, i := range found {
		list = append(list, *i)
	}
	slices.SortFunc(list, func(a, b HandlerInfo) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

// Get returns one handler: ErrHandlerNotFound when nothing runs it and nothing is
// stored for it.
func (h *Handlers) Get(ctx context.Context, topic, id string) (HandlerInfo, error) {
	doing := h.doing("read", topic, id)
	if err := name.Check("handler id", id); err != nil {
		return HandlerInfo{}, doing(err)
	}
	all, err := h.List(ctx, topic)
	if err != nil {
		return HandlerInfo{}, doing(err)
	}
	for _, i := range all {
		if i.ID == id {
			return i, nil
		}
	}
	known := make([]string, len(all))
	for i := range all {
		known[i] = all[i].ID
	}
	return HandlerInfo{}, doing(fmt.Errorf("%w; known are: %s", errs.HandlerNotFound, orNone(known)))
}

// doing says of an error what was being done to a handler.
func (h *Handlers) doing(verb, topic, id string) func(err error) error {
	return func(err error) error {
		return errs.Doing(err, fmt.Sprintf("%s handler %s of topic %s, group %s", verb, errs.Quote(id), errs.Quote(topic), errs.Quote(h.group)))
	}
}

// Update changes settings of a handler and returns the topic's new revision. It
// may be called before any process runs the handler.
func (h *Handlers) Update(ctx context.Context, topic, id string, u HandlerUpdate) (revision int64, err error) {
	return h.update(ctx, "change", topic, id, u)
}

func (h *Handlers) update(ctx context.Context, verb, topic, id string, u HandlerUpdate) (revision int64, err error) {
	doing := h.doing(verb, topic, id)
	if err := errors.Join(name.Check("topic", topic), name.Check("handler id", id), u.check()); err != nil {
		return 0, doing(err)
	}
	for range 5 {
		t, err := h.bus.Topics().read(ctx, topic)
		if err != nil {
			return 0, doing(err)
		}
		before, err := settings.ParseOverride(t.Handlers[h.group][id])
		if err != nil {
			return 0, doing(err)
		}
		demanded := u.IfRevision
		if demanded == 0 {
			demanded = t.Revision // what is merged with must still stand there
		}
		after := before.MergeAt(u.override(), demanded+1)
		if err := u.checkPauses(after); err != nil && demanded == t.Revision {
			return 0, doing(err)
		}
		revision, err = h.bus.store.SetHandler(ctx, topic, h.group, id, after.String(), demanded)
		if err == nil {
			return revision, nil
		}
		if !errors.Is(err, ErrConflict) || u.IfRevision != 0 {
			return 0, doing(h.bus.namingGroups(ctx, topic, err))
		}
	}
	return 0, doing(errs.Conflict)
}

// Enable switches a handler on. The circuit breaker of one that was switched off begins
// closed: to switch it off and on has it tried at once after a repair. What was put off
// meanwhile comes at its time, or by Failures.Replay.
func (h *Handlers) Enable(ctx context.Context, topic, id string) error {
	on := true
	_, err := h.update(ctx, "enable", topic, id, HandlerUpdate{Enabled: &on})
	return err
}

// Disable switches a handler off: it is not called, and its share of each event
// waits until it is switched on again, and comes within a minute after that. Where
// no handler of the topic is on, events stay in the queue.
func (h *Handlers) Disable(ctx context.Context, topic, id string) error {
	off := false
	_, err := h.update(ctx, "disable", topic, id, HandlerUpdate{Enabled: &off})
	return err
}

// Reset removes all that was set at run time: what the code says holds again.
func (h *Handlers) Reset(ctx context.Context, topic, id string) error {
	doing := h.doing("reset", topic, id)
	if err := errors.Join(name.Check("topic", topic), name.Check("handler id", id)); err != nil {
		return doing(err)
	}
	if err := h.bus.ready(ctx); err != nil {
		return doing(err)
	}
	_, err := h.bus.store.SetHandler(ctx, topic, h.group, id, "", 0)
	return doing(h.bus.namingGroups(ctx, topic, err))
}

func (u HandlerUpdate) override() settings.Override {
	return settings.Override{
		Enabled: u.Enabled, Timeout: milli(u.Timeout), MaxAttempts: count(u.MaxAttempts),
		RetryInitial: milli(u.RetryInitial), RetryMax: milli(u.RetryMax),
		Concurrency: count(u.Concurrency), MaxAbandoned: count(u.MaxAbandoned),
		BreakerFailures: count(u.BreakerFailures), BreakerOpen: milli(u.BreakerOpen),
	}
}

// count is a number as Thrift can say it.
func count(n *int) *int {
	if n == nil {
		return nil
	}
	m := min(*n, math.MaxInt32)
	return &m
}

func milli(d *time.Duration) *settings.Milli {
	if d == nil {
		return nil
	}
	m := settings.Milli(roundUp(*d))
	return &m
}

func updateOf(o settings.Override) HandlerUpdate {
	return HandlerUpdate{
		Enabled: o.Enabled, Timeout: (*time.Duration)(o.Timeout), MaxAttempts: o.MaxAttempts,
		RetryInitial: (*time.Duration)(o.RetryInitial), RetryMax: (*time.Duration)(o.RetryMax),
		Concurrency: o.Concurrency, MaxAbandoned: o.MaxAbandoned,
		BreakerFailures: o.BreakerFailures, BreakerOpen: (*time.Duration)(o.BreakerOpen),
	}
}

// ofConfig are the fields of an update that are elsewhere in a HandleConfig.
var ofConfig = map[string]string{
	"Retry.MaxAttempts": "MaxAttempts", "Retry.Initial": "RetryInitial", "Retry.Max": "RetryMax",
	"Breaker.Failures": "BreakerFailures", "Breaker.Open": "BreakerOpen",
}

// check looks at what is set, beside defaults that are right.
func (u HandlerUpdate) check() error {
	base, err := HandleConfig{}.base()
	if err != nil {
		return err
	}
	o := u.override()
	bad := o.Apply(base).Check("")
	for _, err := range bad {
		var wrong *ArgumentError
		if errors.As(err, &wrong) && ofConfig[wrong.Field] != "" {
			wrong.Field = ofConfig[wrong.Field]
		}
	}
	if o == (settings.Override{}) {
		bad = append(bad, errs.Invalid("update", nil, "it changes nothing"))
	}
	if u.RetryInitial != nil && u.RetryMax != nil && *o.RetryInitial > *o.RetryMax {
		bad = append(bad, errs.Invalid("RetryInitial", *u.RetryInitial, "it is over the greatest pause, %v, which caps it", *u.RetryMax))
	}
	if u.IfRevision < 0 {
		bad = append(bad, errs.Invalid("IfRevision", u.IfRevision, "a revision is positive; 0 demands none"))
	}
	return errors.Join(bad...)
}

// checkPauses looks at pauses of which the update sets one and the other was set before.
func (u HandlerUpdate) checkPauses(after settings.Override) error {
	if after.RetryInitial == nil || after.RetryMax == nil || *after.RetryInitial <= *after.RetryMax {
		return nil
	}
	initial, most := time.Duration(*after.RetryInitial), time.Duration(*after.RetryMax)
	switch {
	case u.RetryInitial != nil:
		return errs.Invalid("RetryInitial", initial, "it is over the greatest pause that was set before, %v, which caps it", most)
	case u.RetryMax != nil:
		return errs.Invalid("RetryMax", most, "it is below the first pause that was set before, %v, which it would cap", initial)
	}
	return nil // it stood so, and something else is changed
}

// Consumer is a process that runs handlers.
type Consumer struct {
	ID      string
	Group   string
	Host    string
	PID     int
	Started time.Time
	// Expires is when its lease runs out unless it is renewed; Expired tells that
	// it has, and that what it held will be moved back by others.
	Expires time.Time
	Expired bool
	// Handlers lists what it runs, by topic.
	Handlers map[string][]RunningHandler
}

// RunningHandler is a handler in one process.
type RunningHandler struct {
	ID       string
	Settings HandlerSettings
	// OpenBreaker tells that its circuit breaker is open in this process, or lets one
	// call through to try; as it told within the last second.
	OpenBreaker bool
}

// Consumers lists the processes of all groups that run handlers in the bus's
// namespace.
func (b *Bus) Consumers(ctx context.Context) ([]Consumer, error) {
	const doing = "list consumers"
	if err := b.ready(ctx); err != nil {
		return nil, errs.Doing(err, doing)
	}
	stored, err := b.store.Consumers(ctx)
	if err != nil {
		return nil, errs.Doing(err, doing)
	}
	now, err := b.store.Now(ctx)
	if err != nil {
		return nil, errs.Doing(err, doing)
	}
	list := make([]Consumer, 0, len(stored))
	for _, s := range stored {
		list = append(list, describe(s, now))
	}
	return list, nil
}

func describe(s store.Consumer, now time.Time) Consumer {
	c := Consumer{ID: s.ID, Expires: s.Expires, Expired: !now.Before(s.Expires)}
	var runs lease.Runs
	if json.Unmarshal(s.Runs, &runs) != nil {
		return c // a consumer that wrote nothing yet, or of another release
	}
	c.Group, c.Host, c.PID, c.Started = runs.Group, runs.Host, runs.PID, time.UnixMilli(runs.Started).UTC()
	c.Handlers = map[string][]RunningHandler{}
	for topic, handlers := range runs.Topics {
		for _, h := range handlers {
			o, err := settings.ParseOverride(string(h.Settings))
			if err != nil {
				continue
			}
			c.Handlers[topic] = append(c.Handlers[topic], RunningHandler{
				ID: h.ID, Settings: HandlerSettings(o.Apply(settings.Handler{})), OpenBreaker: h.OpenBreaker,
			})
		}
	}
	return c
}
