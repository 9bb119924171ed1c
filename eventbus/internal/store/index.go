package store

import (
	"context"
	"fmt"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// The index of topics and the settings of one lie in different slots of a Cluster,
// so that no script can change both. Whoever changes the index therefore looks
// whether it agrees with the topic's settings afterwards, and corrects itself
// until it does: whoever changes the index last then leaves it right, in whatever
// order a topic is made and deleted by several.

// IndexTopic lists the topic among the namespace's topics, if there is one.
func (s *Store) IndexTopic(ctx context.Context, topic string) error {
	return s.index(ctx, topic, true)
}

// index lists a topic, or takes it off the list, as is thought right, and then as
// is right. It goes on for as long as others make and delete the topic.
func (s *Store) index(ctx context.Context, topic string, list bool) error {
	for {
		change := s.unlist
		if list {
			change = s.list
		}
		if err := change(ctx, topic); err != nil {
			return err
		}
		exists, err := s.exists(ctx, topic)
		if err != nil || exists == list {
			return err
		}
		list = exists
	}
}

// checkIndex refuses keys of another type in the place of the index and of the
// counter of changes.
func (s *Store) checkIndex(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	for _, k := range []struct{ key, kind string }{{s.ns.topics(), "set"}, {s.ns.revision(), "string"}} {
		found, err := s.rdb.Type(ctx, k.key).Result()
		if err != nil {
			return s.wrap(ctx, "look at the index of topics", err)
		}
		if found != "none" && found != k.kind {
			return fmt.Errorf("key %s holds a %s where a %s belongs; remove or rename it: %w", k.key, found, k.kind, errs.WrongType)
		}
	}
	return nil
}

func (s *Store) list(ctx context.Context, topic string) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return s.wrap(ctx, "index topic", s.rdb.SAdd(ctx, s.ns.topics(), topic).Err(), s.ns.topics())
}

func (s *Store) unlist(ctx context.Context, topic string) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return s.wrap(ctx, "take topic off the index", s.rdb.SRem(ctx, s.ns.topics(), topic).Err(), s.ns.topics())
}

func (s *Store) exists(ctx context.Context, topic string) (bool, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	n, err := s.rdb.Exists(ctx, s.ns.config(topic)).Result()
	return n > 0, s.wrap(ctx, "look for topic", err)
}
