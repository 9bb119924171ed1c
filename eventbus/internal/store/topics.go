package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/name"
)

// Delivery and Wire as they stand in the settings hash.
type (
	Delivery string
	Wire     string
)

const (
	AtLeastOnce Delivery = "at_least_once"
	AtMostOnce  Delivery = "at_most_once"

	WireCloudEvents Wire = "cloudevents"
	WireRaw         Wire = "raw"
)

// Group is one set of processes that share a copy of a topic's events.
type Group struct {
	Name     string
	QueueKey string // an existing list's key, "" for the bus's own
	// Since is the topic's revision that brought the group, 0 when the topic was made
	// with it: one that is removed and added again is another group.
	Since int64
}

// MaxGroups is how many groups a topic may have: each is read with it.
const MaxGroups = 1000

// Topic is a topic's settings hash, read.
type Topic struct {
	Name        string
	Revision    int64
	Enabled     bool
	Delivery    Delivery
	Wire        Wire
	MaxWaiting  int64         // 0: no limit
	Concurrency int           // 0: no limit but the pool's
	DeadLimit   int64         // 0: no limit
	DeadAge     time.Duration // 0: no limit
	Created     time.Time
	// RedissonOrderList keeps Redisson's list of delayed events.
	RedissonOrderList bool
	// RedissonOldClients writes members that Redisson before 3.21.1 reads too.
	RedissonOldClients bool
	Groups             []Group // by name
	// Handlers holds the settings of handlers that were changed at run time, as
	// JSON, by group and handler.
	Handlers map[string]map[string]string
}

// Group returns the topic's group of that name.
func (t *Topic) Group(name string) (Group, bool) {
	for _, g := range t.Groups {
		if g.Name == name {
			return g, true
		}
	}
	return Group{}, false
}

// Field names of the settings hash that callers set through Edit.
const (
	FieldEnabled     = "enabled"
	FieldDelivery    = "delivery"
	FieldWire        = "wire"
	FieldMaxWaiting  = "max_waiting"
	FieldConcurrency = "concurrency"
	FieldDeadLimit   = "dead_limit"
	FieldDeadAge     = "dead_age_ms"
	FieldOrderList   = "redisson_order_list"
	FieldOldClients  = "redisson_old_clients"
)

// Keys names the keys of a topic and group.
func (s *Store) Keys(t *Topic, g Group) Keys { return s.ns.group(t.Name, t.Wire, g) }

// CreateTopic makes a topic. The index is written last: whoever dies between
// has made a topic that works and that the next create or consumer lists. What would
// refuse to list or announce it is therefore looked for before it is made.
func (s *Store) CreateTopic(ctx context.Context, t *Topic) error {
	doing := fmt.Sprintf("create topic %q", t.Name)
	if err := s.checkQueueKeys(ctx, t.Name, t.Groups); err != nil {
		return errs.Doing(err, doing)
	}
	if err := s.checkIndex(ctx); err != nil {
		return errs.Doing(err, doing)
	}
	fields := []any{
		FieldEnabled, flag(t.Enabled), FieldDelivery, string(t.Delivery), FieldWire, string(t.Wire),
		FieldMaxWaiting, t.MaxWaiting, FieldConcurrency, t.Concurrency,
		FieldDeadLimit, t.DeadLimit, FieldDeadAge, t.DeadAge.Milliseconds(),
		FieldOrderList, flag(t.RedissonOrderList), FieldOldClients, flag(t.RedissonOldClients),
	}
	for _, g := range t.Groups {
		fields = append(fields, groupField(g.Name), g.QueueKey)
	}
	config := s.ns.config(t.Name)
	made, err := s.eval(ctx, "create", []string{config}, fields...).Int()
	if err != nil {
		return s.wrap(ctx, doing, err, config)
	}
	if made == -1 {
		return errs.Doing(fmt.Errorf("%w; run the deletion again to complete it", errs.TopicDeleting), doing)
	}
	if err := s.IndexTopic(ctx, t.Name); err != nil {
		return errs.Doing(fmt.Errorf("it stands, but may not be listed until it is created again: %w", err), doing)
	}
	if made == 0 {
		return errs.Doing(errs.TopicExists, doing)
	}
	return errs.Doing(s.announce(ctx, t.Name), doing)
}

// checkQueueKeys refuses queue keys of a topic's groups that could never work, and those
// that another group has: they would take each other's events.
func (s *Store) checkQueueKeys(ctx context.Context, topic string, groups []Group) error {
	byKey := map[string]string{} // group by queue key
	for _, g := range groups {
		if g.QueueKey == "" {
			continue
		}
		if err := s.checkQueueKey(ctx, topic, g.QueueKey); err != nil {
			return err
		}
		byKey[g.QueueKey] = g.Name
	}
	if len(byKey) == 0 {
		return nil
	}
	return s.checkQueueKeysAreFree(ctx, topic, byKey)
}

func (s *Store) checkQueueKey(ctx context.Context, topic, key string) error {
	if strings.HasPrefix(key, s.ns.own()) {
		return errs.Invalid("QueueKey", key, "keys that begin with %q are the bus's own", s.ns.own())
	}
	for _, prefix := range []string{orderPrefix, delayedPrefix, channelPrefix} {
		if strings.HasPrefix(key, prefix+":") {
			return errs.Invalid("QueueKey", key, "keys that begin with %q are those of a list's delayed events; name the list itself", prefix+":")
		}
	}
	if s.spread && slot(key) != slot(s.ns.config(topic)) {
		return errs.Invalid("QueueKey", key, "on a Cluster it must lie in the slot of its topic; put {%s} into it", topic)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	kind, err := s.rdb.Type(ctx, key).Result()
	if err != nil {
		return s.wrap(ctx, "look at queue key", err)
	}
	if kind != "none" && kind != "list" {
		return fmt.Errorf("%w: %w", errs.Invalid("QueueKey", key, "it holds a %s; a queue is a list", kind), errs.WrongType)
	}
	return nil
}

func (s *Store) checkQueueKeysAreFree(ctx context.Context, topic string, byKey map[string]string) error {
	names, err := s.Topics(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		t, err := s.Topic(ctx, name)
		if errors.Is(err, errs.TopicNotFound) || errors.Is(err, errs.TopicDeleting) {
			continue
		}
		if err != nil {
			return err
		}
		for _, other := range t.Groups {
			if group, wanted := byKey[other.QueueKey]; wanted && (name != topic || other.Name != group) {
				return errs.Invalid("QueueKey", other.QueueKey, "group %q of topic %q has it; two on one list would take each other's events", other.Name, name)
			}
		}
	}
	return nil
}

// Topic reads a topic's settings.
func (s *Store) Topic(ctx context.Context, name string) (*Topic, error) {
	doing := fmt.Sprintf("read topic %q", name)
	ctx, cancel := bounded(ctx)
	defer cancel()
	config := s.ns.config(name)
	fields, err := s.rdb.HGetAll(ctx, config).Result()
	if err != nil {
		return nil, s.wrap(ctx, doing, err, config)
	}
	if len(fields) == 0 {
		return nil, errs.Doing(errs.TopicNotFound, doing)
	}
	if fields[fieldDeleting] != "" {
		return nil, errs.Doing(errs.TopicDeleting, doing)
	}
	return parseTopic(name, fields), nil
}

func parseTopic(name string, fields map[string]string) *Topic {
	number := func(field string) int64 {
		n, _ := strconv.ParseInt(fields[field], 10, 64)
		return n
	}
	t := &Topic{
		Name:        name,
		Revision:    number("rev"),
		Enabled:     fields[FieldEnabled] == "1",
		Delivery:    Delivery(fields[FieldDelivery]),
		Wire:        Wire(fields[FieldWire]),
		MaxWaiting:  number(FieldMaxWaiting),
		Concurrency: int(number(FieldConcurrency)),
		DeadLimit:   number(FieldDeadLimit),
		DeadAge:     time.Duration(min(max(number(FieldDeadAge), 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond,
		Created:     time.UnixMilli(number("created")).UTC(),

		RedissonOrderList:  fields[FieldOrderList] == "1",
		RedissonOldClients: fields[FieldOldClients] == "1",
		Handlers:           map[string]map[string]string{},
	}
	for field, value := range fields {
		parts := strings.Split(field, "|")
		switch {
		case parts[0] == "group" && len(parts) == 2:
			t.Groups = append(t.Groups, Group{Name: parts[1], QueueKey: value, Since: number("since|" + parts[1])})
		case parts[0] == "handler" && len(parts) == 3:
			if t.Handlers[parts[1]] == nil {
				t.Handlers[parts[1]] = map[string]string{}
			}
			t.Handlers[parts[1]][parts[2]] = value
		}
	}
	slices.SortFunc(t.Groups, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	return t
}

// Topics lists the names of all topics, sorted.
func (s *Store) Topics(ctx context.Context) ([]string, error) {
	var names []string
	var cursor uint64
	for {
		page, next, err := s.scanTopics(ctx, cursor)
		if err != nil {
			return nil, s.wrap(ctx, "list topics", err, s.ns.topics())
		}
		names = append(names, page...)
		if cursor = next; cursor == 0 {
			break
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (s *Store) scanTopics(ctx context.Context, cursor uint64) ([]string, uint64, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return s.rdb.SScan(ctx, s.ns.topics(), cursor, "", 500).Result()
}

// Edit is one change of a topic's settings.
type Edit struct {
	IfRevision int64 // the revision that must stand there; 0 for any
	Require    string
	Forbid     string
	Set        []string // fields and values
	Remove     []string
}

// EditTopic changes fields of a topic's settings in one step, raises its
// revision and tells the running processes.
func (s *Store) EditTopic(ctx context.Context, topic string, e Edit) (int64, error) {
	doing := fmt.Sprintf("change topic %q", topic)
	args := make([]any, 0, 5+len(e.Set)+len(e.Remove))
	args = append(args, e.IfRevision, e.Require, e.Forbid, MaxGroups, len(e.Set)/2)
	for _, v := range e.Set {
		args = append(args, v)
	}
	for _, v := range e.Remove {
		args = append(args, v)
	}
	config := s.ns.config(topic)
	reply, err := s.eval(ctx, "edit", []string{config}, args...).Int64Slice()
	if err != nil {
		return 0, s.wrap(ctx, doing, err, config)
	}
	status, revision := reply[0], reply[1]
	switch status {
	case 1:
		return revision, errs.Doing(s.announce(ctx, topic), doing)
	case 0:
		err = errs.TopicNotFound
	case -1:
		err = errs.TopicDeleting
	case -2:
		err = fmt.Errorf("%w: revision %d was demanded, %d stands there; read it again", errs.Conflict, e.IfRevision, revision)
	case -3:
		err = errMissingField
	case -5:
		err = errBeingRemoved
	case -6:
		err = errs.Invalid("group", nil, "the topic has %d; at most %d are allowed", MaxGroups, MaxGroups)
	default:
		err = errFieldExists
	}
	return revision, errs.Doing(err, doing)
}

// AddGroup adds a group to a topic. Where a removal of that name is half done, it
// does the other half first.
func (s *Store) AddGroup(ctx context.Context, topic string, g Group) error {
	doing := fmt.Sprintf("add group %q to topic %q", g.Name, topic)
	if err := s.checkQueueKeys(ctx, topic, []Group{g}); err != nil {
		return errs.Doing(err, doing)
	}
	field := groupField(g.Name)
	for {
		_, err := s.EditTopic(ctx, topic, Edit{Forbid: field, Set: []string{field, g.QueueKey}})
		if errors.Is(err, errFieldExists) {
			err = errs.GroupExists
		}
		if !errors.Is(err, errBeingRemoved) {
			return errs.Doing(err, doing)
		}
		if err := s.completeRemoval(ctx, topic, g.Name); err != nil {
			return errs.Doing(err, doing)
		}
	}
}

// SetHandler stores, or with "" removes, what was set for a handler at run time.
func (s *Store) SetHandler(ctx context.Context, topic, group, handler, settings string, ifRevision int64) (int64, error) {
	doing := fmt.Sprintf("change handler %q of topic %q, group %s", handler, topic, errs.Quote(group))
	if len(group) > name.MaxLen {
		return 0, errs.Doing(errs.GroupNotFound, doing) // no topic has it, and Redis need not read it
	}
	e := Edit{IfRevision: ifRevision, Require: groupField(group)}
	if settings == "" {
		e.Remove = []string{handlerField(group, handler)}
	} else {
		e.Set = []string{handlerField(group, handler), settings}
	}
	revision, err := s.EditTopic(ctx, topic, e)
	if errors.Is(err, errMissingField) {
		err = errs.GroupNotFound
	}
	return revision, errs.Doing(err, doing)
}

// announce tells all processes that a topic's settings have changed: the
// counter is what they trust, the message only makes them look at once.
func (s *Store) announce(ctx context.Context, topic string) error {
	revision := s.ns.revision()
	err := s.eval(ctx, "announce", []string{revision}).Err()
	if err == nil {
		ctx, cancel := bounded(ctx)
		defer cancel()
		err = s.rdb.Publish(ctx, s.ns.changes(), topic).Err()
	}
	if err == nil || code(err) == "NOPERM" {
		return nil // the counter suffices; who may not publish is told at start
	}
	return fmt.Errorf("the change stands, but was not announced: %w", errs.Cause(s.wrap(ctx, "", err, revision)))
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}
