package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// # Removing
//
// What is removed has more keys than one bounded step can remove. So the first
// step takes the topic or group out of use and writes a mark of its own into the
// settings; each following step removes keys only while that very mark stands;
// the last one takes the mark away.
//
//	topic   "deleting" = mark          sending, claiming and changing end
//	group   "removing|<group>" = mark  in place of the group and its handlers
//
// What it survives:
//
//   - It is cut short anywhere: the mark stands. Whoever removes the same once
//     more finds it and goes on with the rest; so does, before anything else,
//     whoever adds the group anew, and a deletion of the topic does it along.
//   - Several remove the same at once: all work under the one mark.
//   - One of them stands still while the others come to the end and somebody makes
//     a topic or group of the same name: its next step finds that its mark is gone,
//     and changes nothing. No mark is ever used twice.
//
// A list under a queue key of the user's is never removed: others read it.

const fieldDeleting = "deleting"

// removingField holds the mark of a group that was taken out of the settings
// while keys of it may be left.
func removingField(group string) string { return removingPrefix + group }

const removingPrefix = "removing|"

func newMark() string { return uuid.NewString() }

// DeleteTopic removes a topic with all that it holds. Running handlers end as
// they like: what they report finds no receipt. One that was cut short can be
// run again.
func (s *Store) DeleteTopic(ctx context.Context, name string) error {
	doing := fmt.Sprintf("delete topic %q", name)
	_, err := s.EditTopic(ctx, name, Edit{Set: []string{fieldDeleting, newMark(), FieldEnabled, "0"}})
	switch {
	case errors.Is(err, errs.TopicDeleting): // somebody has begun, and may not have told
		err = s.announce(ctx, name)
	case errors.Is(err, errs.TopicNotFound):
		if left := s.index(ctx, name, false); left != nil {
			err = errors.Join(errs.Cause(err), left)
		}
	}
	if err != nil {
		return errs.Doing(err, doing)
	}
	mark, groups, err := s.marked(ctx, name)
	stands := mark != ""
	for i := 0; err == nil && stands && i < len(groups); i++ {
		stands, err = s.unlinkGroup(ctx, name, groups[i], fieldDeleting, mark)
	}
	if err == nil && stands {
		// A topic is listed until the last, so that half a deletion can be found.
		if err = s.unlist(ctx, name); err == nil {
			config := s.ns.config(name)
			_, err = s.unlink(ctx, config, fieldDeleting, mark, []string{config})
		}
	}
	if err == nil {
		err = s.index(ctx, name, false)
	}
	return errs.Doing(err, doing)
}

// marked reads the mark of a topic that is being deleted, "" where there is none,
// and its groups, those included that are half removed. Nobody changes those
// while the mark stands.
func (s *Store) marked(ctx context.Context, topic string) (mark string, groups []string, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	config := s.ns.config(topic)
	fields, err := s.rdb.HGetAll(ctx, config).Result()
	if err != nil {
		return "", nil, s.wrap(ctx, "read its groups", err, config)
	}
	for field := range fields {
		if kind, name, _ := strings.Cut(field, "|"); kind+"|" == groupField("") || kind+"|" == removingPrefix {
			groups = append(groups, name)
		}
	}
	slices.Sort(groups)
	return fields[fieldDeleting], groups, nil
}

// RemoveGroup removes a group from a topic with all that it holds. One that was
// cut short can be run again.
func (s *Store) RemoveGroup(ctx context.Context, topic, group string) error {
	doing := fmt.Sprintf("remove group %q from topic %q", group, topic)
	config := s.ns.config(topic)
	status, err := s.eval(ctx, "ungroup", []string{config}, group, newMark()).Int()
	if err != nil {
		return s.wrap(ctx, doing, err, config)
	}
	switch status {
	case 0:
		err = errs.TopicNotFound
	case -1:
		err = errs.TopicDeleting
	case -3:
		err = errs.GroupNotFound
	default:
		if err = s.announce(ctx, topic); err == nil {
			err = s.completeRemoval(ctx, topic, group)
		}
	}
	return errs.Doing(err, doing)
}

// completeRemoval removes the keys of a group that was taken out of the settings,
// if there are any left, and then its mark.
func (s *Store) completeRemoval(ctx context.Context, topic, group string) error {
	field, config := removingField(group), s.ns.config(topic)
	call, cancel := bounded(ctx)
	mark, err := s.rdb.HGet(call, config, field).Result()
	cancel()
	if errors.Is(err, redis.Nil) {
		return nil // somebody else was quicker
	}
	if err != nil {
		return s.wrap(ctx, "look what is being removed", err, config)
	}
	_, err = s.unlinkGroup(ctx, topic, group, field, mark)
	return err
}

// unlinkGroup removes the keys of a group while the mark stands, and tells
// whether it does. With the last of them goes what the settings know of the group,
// its own mark included: from then on no script writes to its keys.
func (s *Store) unlinkGroup(ctx context.Context, topic, group, field, mark string) (stands bool, err error) {
	// Under these settings no two of the keys are one, and none is the user's.
	k := s.ns.group(topic, WireRaw, Group{Name: group})
	holders, err := s.Holders(ctx, &k)
	if err != nil && code(err) != "WRONGTYPE" {
		return false, err
	}
	// What is in flight goes first: without its receipts nothing comes back from it.
	// One hash at a time, since Redis frees small ones, whose entries may be large, at
	// once. The holders go after them, so that they are found again after a cut.
	for _, consumer := range holders {
		if stands, err = s.unlink(ctx, k.Config, field, mark, []string{k.Inflight(consumer)}); err != nil || !stands {
			return stands, err
		}
	}
	keys := []string{k.Holders, k.Queue, k.Returns, k.Bell, k.Failures, k.Retry, k.Dead, k.Counts, k.Delayed, k.DelayOrder, k.DelayIndex, k.Unreadable}
	return s.unlink(ctx, k.Config, field, mark, keys, groupField(group), removingField(group))
}

// unlink removes keys, and fields of the settings, while the mark stands in the
// field, and tells whether it does. Each key takes the server's main thread a
// constant time.
func (s *Store) unlink(ctx context.Context, config, field, mark string, keys []string, fields ...string) (stands bool, err error) {
	args := []any{field, mark}
	for _, f := range fields {
		args = append(args, f)
	}
	stands, err = s.eval(ctx, "unlink", append([]string{config}, keys...), args...).Bool()
	if err != nil {
		return false, s.wrap(ctx, "remove "+strings.Join(keys, ", "), err, config)
	}
	return stands, nil
}
