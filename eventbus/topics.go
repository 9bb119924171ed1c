package eventbus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/name"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// Delivery says what becomes of an event whose process dies.
type Delivery string

const (
	// AtLeastOnce keeps an event until its handlers have ended; what a dead
	// process held runs again. First in, first out. The default.
	AtLeastOnce Delivery = "at_least_once"
	// AtMostOnce hands an event out for good: what a dead process held is lost.
	// Newest first, as LPUSH with BLPOP does it.
	AtMostOnce Delivery = "at_most_once"
)

// Wire says what stands in a queue.
type Wire string

const (
	// WireCloudEvents writes each event as a CloudEvents 1.0 JSON object. The
	// default.
	WireCloudEvents Wire = "cloudevents"
	// WireRaw writes the payload alone, for consumers that expect that. Ids and
	// headers are not kept.
	WireRaw Wire = "raw"
)

// Defaults of TopicConfig.
const (
	DefaultDeadLimit = 1_000_000
	DefaultDeadAge   = 90 * 24 * time.Hour
)

// TopicConfig is the settings of a topic. The zero value means the defaults.
type TopicConfig struct {
	// Delivery defaults to AtLeastOnce.
	Delivery Delivery
	// Wire defaults to WireCloudEvents. It stays as long as the topic: what waits
	// in the queue would be read wrong under another one.
	Wire Wire
	// MaxWaiting is how many events may wait in a group before sending fails with
	// ErrTopicFull. As many may be delayed there besides. Defaults to no limit.
	MaxWaiting int64
	// Concurrency is how many of the topic's events one process handles at once.
	// Defaults to no limit but the pool's.
	Concurrency int
	// DeadLimit and DeadAge limit each group's dead set by number and by age; the
	// oldest are dropped, and counted. They default to one million and 90 days;
	// -1 means no limit. DeadAge is in whole milliseconds, rounded up.
	DeadLimit int64
	DeadAge   time.Duration
	// Groups are the groups that get the topic's events from the start. Defaults
	// to the bus's own group. More can join at any time, and get what is sent
	// from then on. A topic has at most 1000.
	Groups []GroupConfig
	// RedissonOrderList also writes the list in which Redisson keeps delayed events in
	// the order of sending. It is needed only where Java calls size, readAll, contains
	// or remove of an RDelayedQueue, and holds what is delayed from then on. It holds
	// all that was sent since the oldest event that is still delayed, also what was
	// delivered meanwhile: Java must not mind that, and one event that is delayed for
	// long keeps all that come after it in Redis's memory.
	RedissonOrderList bool
	// RedissonOldClients writes delayed events so that Redisson before 3.21.1 reads
	// them, too. Later ones read either.
	RedissonOldClients bool
	// Disabled makes the topic switched off.
	Disabled bool
}

// GroupConfig is the settings of a group of a topic.
type GroupConfig struct {
	Name string
	// QueueKey names an existing list to be used as the group's queue, for
	// systems that push to it or take from it by themselves. On a Cluster it must
	// lie in the topic's slot. Keys of the namespace's topics, and those in which
	// Redisson keeps delayed events, are refused. Defaults to the bus's own key. It
	// stays as long as the group.
	QueueKey string
}

// Topic is a topic as it stands in Redis.
type Topic struct {
	Name string
	TopicConfig
	// Revision grows with every change of the topic, its groups and its handlers'
	// settings.
	Revision int64
	Created  time.Time
}

// TopicUpdate changes some of a topic's settings: nil leaves one as it is. Values
// mean what they mean in TopicConfig.
type TopicUpdate struct {
	Delivery    *Delivery
	MaxWaiting  *int64
	Concurrency *int
	DeadLimit   *int64
	DeadAge     *time.Duration

	RedissonOrderList  *bool
	RedissonOldClients *bool
	// IfRevision demands that the topic is at this revision; 0 demands nothing.
	IfRevision int64
}

// Topics administers topics and their groups, for this bus's namespace. Running
// processes act on a change within a second.
type Topics struct{ bus *Bus }

// Topics returns the administration of topics.
func (b *Bus) Topics() *Topics { return &Topics{bus: b} }

// Create makes a topic: ErrTopicExists when there is one, which stays as it is.
func (t *Topics) Create(ctx context.Context, topic string, cfg TopicConfig) error {
	doing := doingTo("create", topic)
	if len(cfg.Groups) == 0 {
		cfg.Groups = []GroupConfig{{Name: t.bus.cfg.Group}}
	}
	cfg, err := cfg.withDefaults()
	if err := errors.Join(name.Check("topic", topic), err); err != nil {
		return doing(err)
	}
	if err := t.bus.ready(ctx); err != nil {
		return doing(err)
	}
	s := &store.Topic{
		Name: topic, Enabled: !cfg.Disabled, Delivery: store.Delivery(cfg.Delivery), Wire: store.Wire(cfg.Wire), MaxWaiting: cfg.MaxWaiting,
		Concurrency: cfg.Concurrency, DeadLimit: cfg.DeadLimit, DeadAge: cfg.DeadAge,
		RedissonOrderList: cfg.RedissonOrderList, RedissonOldClients: cfg.RedissonOldClients,
	}
	for _, g := range cfg.Groups {
		s.Groups = append(s.Groups, store.Group{Name: g.Name, QueueKey: g.QueueKey})
	}
	return doing(t.bus.store.CreateTopic(ctx, s))
}

// doingTo says of an error what was being done to a topic.
func doingTo(verb, topic string) func(err error) error {
	return func(err error) error { return errs.Doing(err, fmt.Sprintf("%s topic %s", verb, errs.Quote(topic))) }
}

// Get reads a topic: ErrTopicNotFound, ErrTopicDeleting.
func (t *Topics) Get(ctx context.Context, topic string) (Topic, error) {
	s, err := t.read(ctx, topic)
	if err != nil {
		return Topic{}, err
	}
	got := Topic{
		Name: topic, Revision: s.Revision, Created: s.Created,
		TopicConfig: TopicConfig{
			Delivery: Delivery(s.Delivery), Wire: Wire(s.Wire), MaxWaiting: s.MaxWaiting, Concurrency: s.Concurrency,
			DeadLimit: s.DeadLimit, DeadAge: s.DeadAge, Disabled: !s.Enabled,
			RedissonOrderList: s.RedissonOrderList, RedissonOldClients: s.RedissonOldClients,
		},
	}
	unlimited(&got.DeadLimit)
	unlimited(&got.DeadAge)
	for _, g := range s.Groups {
		got.Groups = append(got.Groups, GroupConfig{Name: g.Name, QueueKey: g.QueueKey})
	}
	return got, nil
}

func (t *Topics) read(ctx context.Context, topic string) (*store.Topic, error) {
	doing := doingTo("read", topic)
	if err := name.Check("topic", topic); err != nil {
		return nil, doing(err)
	}
	if err := t.bus.ready(ctx); err != nil {
		return nil, doing(err)
	}
	s, err := t.bus.store.Topic(ctx, topic)
	return s, doing(err)
}

// List returns the names of all topics, sorted, also of one whose deletion was
// begun and not completed.
func (t *Topics) List(ctx context.Context) ([]string, error) {
	if err := t.bus.ready(ctx); err != nil {
		return nil, errs.Doing(err, "list topics")
	}
	return t.bus.store.Topics(ctx)
}

// Update changes settings of a topic and returns its new revision: ErrConflict
// when IfRevision is not met.
func (t *Topics) Update(ctx context.Context, topic string, u TopicUpdate) (revision int64, err error) {
	var cfg TopicConfig
	take(&cfg.Delivery, u.Delivery)
	take(&cfg.MaxWaiting, u.MaxWaiting)
	take(&cfg.Concurrency, u.Concurrency)
	take(&cfg.DeadLimit, u.DeadLimit)
	take(&cfg.DeadAge, u.DeadAge)
	cfg, err = cfg.withDefaults()
	if u.IfRevision < 0 {
		err = errors.Join(err, errs.Invalid("IfRevision", u.IfRevision, "a revision is positive; 0 demands none"))
	}
	edit := store.Edit{IfRevision: u.IfRevision}
	set := func(given bool, field, value string) {
		if given {
			edit.Set = append(edit.Set, field, value)
		}
	}
	set(u.Delivery != nil, store.FieldDelivery, string(cfg.Delivery))
	set(u.MaxWaiting != nil, store.FieldMaxWaiting, strconv.FormatInt(cfg.MaxWaiting, 10))
	set(u.Concurrency != nil, store.FieldConcurrency, strconv.Itoa(cfg.Concurrency))
	set(u.DeadLimit != nil, store.FieldDeadLimit, strconv.FormatInt(cfg.DeadLimit, 10))
	set(u.DeadAge != nil, store.FieldDeadAge, strconv.FormatInt(cfg.DeadAge.Milliseconds(), 10))
	on := func(field string, value *bool) { set(value != nil, field, flag(value)) }
	on(store.FieldOrderList, u.RedissonOrderList)
	on(store.FieldOldClients, u.RedissonOldClients)
	return t.edit(ctx, "change", topic, edit, err)
}

// flag is a switch as it stands in Redis.
func flag(on *bool) string {
	if on != nil && *on {
		return "1"
	}
	return "0"
}

func take[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func (t *Topics) edit(ctx context.Context, verb, topic string, e store.Edit, bad error) (int64, error) {
	doing := doingTo(verb, topic)
	if err := errors.Join(name.Check("topic", topic), bad); err != nil {
		return 0, doing(err)
	}
	if err := t.bus.ready(ctx); err != nil {
		return 0, doing(err)
	}
	revision, err := t.bus.store.EditTopic(ctx, topic, e)
	return revision, doing(err)
}

// Enable switches a topic on.
func (t *Topics) Enable(ctx context.Context, topic string) error {
	_, err := t.edit(ctx, "enable", topic, store.Edit{Set: []string{store.FieldEnabled, "1"}}, nil)
	return err
}

// Disable switches a topic off. Once it has returned nil, no send succeeds and
// nothing is handed out any more (with AtMostOnce: within a second). What runs
// goes on, what waits stays.
func (t *Topics) Disable(ctx context.Context, topic string) error {
	_, err := t.edit(ctx, "disable", topic, store.Edit{Set: []string{store.FieldEnabled, "0"}}, nil)
	return err
}

// Delete removes a topic with all that it holds, waiting, in flight and failed.
// Handlers that run end as they like, and nothing of them is kept. A deletion that
// fails half way can be repeated.
//
// A list that was given as a QueueKey stays, with the delayed events of that list,
// since others may share both. While no group has it, nobody of the bus moves those;
// a group that is given the QueueKey later gets all that is left there, but what was
// delayed before cannot be cancelled by id any more.
func (t *Topics) Delete(ctx context.Context, topic string) error {
	doing := doingTo("delete", topic)
	if err := name.Check("topic", topic); err != nil {
		return doing(err)
	}
	if err := t.bus.ready(ctx); err != nil {
		return doing(err)
	}
	return doing(t.bus.store.DeleteTopic(ctx, topic))
}

// AddGroup adds a group; it gets what is sent from then on, and so nothing of what is
// delayed already. A running bus adds its own. ErrGroupExists; ErrInvalidArgument where
// the topic has 1000 groups already.
func (t *Topics) AddGroup(ctx context.Context, topic string, g GroupConfig) error {
	doing := func(err error) error {
		return errs.Doing(err, fmt.Sprintf("add group %s to topic %s", errs.Quote(g.Name), errs.Quote(topic)))
	}
	if err := errors.Join(name.Check("topic", topic), g.check("")); err != nil {
		return doing(err)
	}
	if err := t.bus.ready(ctx); err != nil {
		return doing(err)
	}
	return doing(t.bus.store.AddGroup(ctx, topic, store.Group{Name: g.Name, QueueKey: g.QueueKey}))
}

// RemoveGroup removes a group with all that it holds, but for a list that was given
// as a QueueKey and the delayed events of that list: see Delete. A removal that fails
// half way can be repeated. The group is gone from the first step on, and where one of
// its name is added before the last, AddGroup takes the steps that are left.
func (t *Topics) RemoveGroup(ctx context.Context, topic, group string) error {
	doing := func(err error) error {
		return errs.Doing(err, fmt.Sprintf("remove group %s from topic %s", errs.Quote(group), errs.Quote(topic)))
	}
	if err := errors.Join(name.Check("topic", topic), name.Check("group", group)); err != nil {
		return doing(err)
	}
	if err := t.bus.ready(ctx); err != nil {
		return doing(err)
	}
	return doing(t.bus.namingGroups(ctx, topic, t.bus.store.RemoveGroup(ctx, topic, group)))
}

// maxWrong is how many faults of settings are told at once.
const maxWrong = 20

// withDefaults returns the complete settings, as they are stored: 0 for no limit.
func (c TopicConfig) withDefaults() (TopicConfig, error) {
	var bad []error
	fallback(&c.Delivery, AtLeastOnce)
	fallback(&c.Wire, WireCloudEvents)
	if c.Delivery != AtLeastOnce && c.Delivery != AtMostOnce {
		bad = append(bad, errs.Invalid("Delivery", string(c.Delivery), "%q or %q is right", AtLeastOnce, AtMostOnce))
	}
	if c.Wire != WireCloudEvents && c.Wire != WireRaw {
		bad = append(bad, errs.Invalid("Wire", string(c.Wire), "%q or %q is right", WireCloudEvents, WireRaw))
	}
	within(&bad, "MaxWaiting", c.MaxWaiting, 0, 1<<40)
	within(&bad, "Concurrency", c.Concurrency, 0, MaxConcurrency)
	limit(&bad, "DeadLimit", &c.DeadLimit, DefaultDeadLimit, 1<<40)
	c.DeadAge = roundUp(c.DeadAge)
	limit(&bad, "DeadAge", &c.DeadAge, DefaultDeadAge, 100*365*24*time.Hour)
	groups := c.Groups
	if len(groups) > store.MaxGroups {
		bad = append(bad, errs.Invalid("Groups", len(groups), "at most %d are allowed", store.MaxGroups))
		groups = nil
	}
	seen, keys := map[string]bool{}, map[string]bool{}
	for i, g := range groups {
		if len(bad) >= maxWrong {
			break // the caller knows by now
		}
		field := fmt.Sprintf("Groups[%d].", i)
		if err := g.check(field); err != nil {
			bad = append(bad, err)
		}
		if seen[g.Name] {
			bad = append(bad, errs.Invalid(field+"Name", g.Name, "it stands twice"))
		}
		seen[g.Name] = true
		if g.QueueKey != "" && keys[g.QueueKey] {
			bad = append(bad, errs.Invalid(field+"QueueKey", g.QueueKey, "it stands twice; two groups on one list would take each other's events"))
		}
		keys[g.QueueKey] = true
	}
	return c, errors.Join(bad...)
}

// limit checks a field in which 0 means the default and -1 none.
func limit[T int64 | time.Duration](bad *[]error, field string, value *T, def, most T) {
	fallback(value, def)
	switch {
	case *value == -1:
		*value = 0
	case *value < 0 || *value > most:
		*bad = append(*bad, errs.Invalid(field, *value, "up to %v is right, or -1 for no limit", most))
	}
}

// unlimited turns a stored 0 into the -1 that TopicConfig says for it.
func unlimited[T int64 | time.Duration](value *T) {
	if *value == 0 {
		*value = -1
	}
}

func (g GroupConfig) check(field string) error {
	bad := name.Check(field+"Name", g.Name)
	if len(g.QueueKey) > 1024 {
		bad = errors.Join(bad, errs.Invalid(field+"QueueKey", g.QueueKey, "it has %d bytes, at most 1024 are allowed", len(g.QueueKey)))
	}
	return bad
}
