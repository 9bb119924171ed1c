package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// DeleteTopic removes a topic with all that it holds. It first marks it, which
// ends sending, claiming and changing at once, then removes its keys, each with
// UNLINK (constant time on the server's main thread), and the mark last, so that
// a deletion that was cut short can be run again. Running handlers end as they
// like: what they report finds no receipt. A list under a queue key of the
// user's is not removed: others read it.
func (s *Store) DeleteTopic(ctx context.Context, name string) error {
	doing := fmt.Sprintf("delete topic %q", name)
	_, err := s.EditTopic(ctx, name, Edit{Set: []string{"deleting", "1", FieldEnabled, "0"}})
	if err != nil && !errors.Is(err, errs.TopicDeleting) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	call, cancel := bounded(ctx)
	fields, err := s.rdb.HGetAll(call, s.ns.config(name)).Result()
	cancel()
	if err != nil {
		return wrap(doing, err)
	}
	t := parseTopic(name, fields)
	for _, g := range t.Groups {
		if err := s.unlinkGroup(ctx, t, g); err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
	}
	call, cancel = bounded(ctx)
	defer cancel()
	// The index first: a topic that is made anew meanwhile is listed after that.
	if err := s.rdb.SRem(call, s.ns.topics(), name).Err(); err != nil {
		return wrap(doing, err)
	}
	return wrap(doing, s.rdb.Unlink(call, s.ns.config(name)).Err())
}

// RemoveGroup removes a group from a topic with all that it holds.
func (s *Store) RemoveGroup(ctx context.Context, topic, group string) error {
	doing := fmt.Sprintf("remove group %q of topic %q", group, topic)
	t, err := s.Topic(ctx, topic)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	g, ok := t.Group(group)
	if !ok {
		return fmt.Errorf("%s: %w", doing, errs.GroupNotFound)
	}
	remove := []string{groupField(group)}
	for handler := range t.Handlers[group] {
		remove = append(remove, handlerField(group, handler))
	}
	if _, err := s.EditTopic(ctx, topic, Edit{Require: remove[0], Remove: remove}); err != nil {
		return fmt.Errorf("%s: %w", doing, as(err, errMissingField, errs.GroupNotFound))
	}
	if err := s.unlinkGroup(ctx, t, g); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

func (s *Store) unlinkGroup(ctx context.Context, t *Topic, g Group) error {
	k := s.Keys(t, g)
	call, cancel := bounded(ctx)
	defer cancel()
	holders, err := s.rdb.SMembers(call, k.Holders).Result()
	if err != nil && code(err) != "WRONGTYPE" {
		return wrap("read holders", err)
	}
	// What is in flight goes first: without its receipts nothing comes back from it.
	var keys []string
	for _, consumer := range holders {
		keys = append(keys, k.Inflight(consumer))
	}
	keys = append(keys, k.Holders, k.Bell, k.Returns, k.Failures, k.Retry, k.Dead, k.Counts)
	if g.QueueKey == "" { // else others read it
		keys = append(keys, k.Queue, k.DelayTimeout, k.DelayOrder)
	}
	for _, key := range keys {
		call, cancel := bounded(ctx)
		err := s.rdb.Unlink(call, key).Err()
		cancel()
		if err != nil {
			return wrap("remove "+key, err)
		}
	}
	return nil
}
