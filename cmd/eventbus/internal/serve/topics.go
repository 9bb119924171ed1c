package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/settings"
	"github.com/seed4933/eventbus/eventbus"
)

// topics brings the topics in Redis to what the file says. What the file leaves
// out stays as it is; a topic's switch is never touched.
type topics struct {
	file  *settings.File
	bus   *eventbus.Bus
	group string
	log   *slog.Logger
	reach []string
}

// attempts bounds how often a topic is read again because somebody changed it
// meanwhile, such as another process that starts with the same file.
const attempts = 10

// apply makes the topic, or changes what differs.
func (t *topics) apply(ctx context.Context, want *settings.Topic) error {
	var err error
	for range attempts {
		err = t.once(ctx, want)
		if !errors.Is(err, eventbus.ErrTopicExists) && !errors.Is(err, eventbus.ErrConflict) && !errors.Is(err, eventbus.ErrGroupExists) {
			break
		}
	}
	if errors.Is(err, eventbus.ErrInvalidArgument) || errors.Is(err, eventbus.ErrWrongType) || errors.Is(err, errFixed) {
		return t.file.At(want, err)
	}
	return err
}

func (t *topics) once(ctx context.Context, want *settings.Topic) error {
	has, err := t.bus.Topics().Get(ctx, want.Name)
	if errors.Is(err, eventbus.ErrTopicNotFound) {
		return t.create(ctx, want)
	}
	if err != nil {
		return err
	}
	if err := t.checkFixed(want, has); err != nil {
		return err
	}
	if err := t.update(ctx, want, has); err != nil {
		return err
	}
	return t.join(ctx, want, has)
}

func (t *topics) create(ctx context.Context, want *settings.Topic) error {
	g := eventbus.GroupConfig{Name: t.group}
	if want.QueueKey != nil {
		g.QueueKey = *want.QueueKey
	}
	u := want.Update
	cfg := eventbus.TopicConfig{
		Delivery: or(u.Delivery), Wire: or(want.Wire), MaxWaiting: or(u.MaxWaiting), Concurrency: or(u.Concurrency),
		DeadLimit: or(u.DeadLimit), DeadAge: or(u.DeadAge), Groups: []eventbus.GroupConfig{g},
		RedissonOrderList: or(u.RedissonOrderList), RedissonOldClients: or(u.RedissonOldClients),
	}
	if err := t.bus.Topics().Create(ctx, want.Name, cfg); err != nil {
		return err
	}
	t.log.Info("created topic", "topic", want.Name, "group", t.group)
	return nil
}

// or returns what p points to, or the zero value, which means the default.
func or[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// errFixed says that the file differs in what a topic keeps for its life.
var errFixed = errors.New("it stays as it was made")

func (t *topics) checkFixed(want *settings.Topic, has eventbus.Topic) error {
	if want.Wire != nil && *want.Wire != has.Wire {
		return fmt.Errorf("topic %q has wire %s, not %s: %w; say %[2]s, or delete the topic first", want.Name, has.Wire, *want.Wire, errFixed)
	}
	g, member := t.member(has)
	if member && want.QueueKey != nil && *want.QueueKey != g.QueueKey {
		return fmt.Errorf("topic %q has queue_key %q for group %s, not %q: %w; say %[2]q, or remove the group first with eventbus topic update %[1]s --remove-group %[3]s",
			want.Name, g.QueueKey, t.group, *want.QueueKey, errFixed)
	}
	return nil
}

func (t *topics) member(has eventbus.Topic) (eventbus.GroupConfig, bool) {
	for _, g := range has.Groups {
		if g.Name == t.group {
			return g, true
		}
	}
	return eventbus.GroupConfig{}, false
}

// update changes what differs, provided that it still stands as it was read.
func (t *topics) update(ctx context.Context, want *settings.Topic, has eventbus.Topic) error {
	u := want.Update
	var changes []any
	differs(&changes, "delivery", &u.Delivery, has.Delivery)
	differs(&changes, "max_waiting", &u.MaxWaiting, has.MaxWaiting)
	differs(&changes, "concurrency", &u.Concurrency, has.Concurrency)
	differs(&changes, "dead_limit", &u.DeadLimit, has.DeadLimit)
	differs(&changes, "dead_age", &u.DeadAge, has.DeadAge)
	differs(&changes, "redisson_order_list", &u.RedissonOrderList, has.RedissonOrderList)
	differs(&changes, "redisson_old_clients", &u.RedissonOldClients, has.RedissonOldClients)
	if len(changes) == 0 {
		return nil
	}
	u.IfRevision = has.Revision
	if _, err := t.bus.Topics().Update(ctx, want.Name, u); err != nil {
		return err
	}
	t.log.Info("changed topic to what the settings file says", append([]any{"topic", want.Name}, changes...)...)
	return nil
}

// differs notes a change, or takes back what is as it should be.
func differs[T comparable](changes *[]any, name string, want **T, has T) {
	switch {
	case *want == nil:
	case **want == has:
		*want = nil
	default:
		*changes = append(*changes, name, fmt.Sprintf("%v, was %v", **want, has))
	}
}

// join adds the group where it is to consume. A topic without handlers in the
// file gets none: its events would wait for nobody.
func (t *topics) join(ctx context.Context, want *settings.Topic, has eventbus.Topic) error {
	if _, member := t.member(has); member || len(want.Handlers) == 0 && or(want.QueueKey) == "" {
		return nil
	}
	if err := t.bus.Topics().AddGroup(ctx, want.Name, eventbus.GroupConfig{Name: t.group, QueueKey: or(want.QueueKey)}); err != nil {
		return err
	}
	t.log.Info("added group to topic", "topic", want.Name, "group", t.group)
	return nil
}
