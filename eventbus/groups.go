package eventbus

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// groupOf finds a group in a topic: ErrGroupNotFound names those that there are.
func groupOf(t *store.Topic, group string) (store.Group, error) {
	if g, ok := t.Group(group); ok {
		return g, nil
	}
	return store.Group{}, groupMissing(t)
}

func groupMissing(t *store.Topic) error {
	names := make([]string, len(t.Groups))
	for i := range t.Groups {
		names[i] = t.Groups[i].Name
	}
	return fmt.Errorf("%w; the topic has: %s", errs.GroupNotFound, orNone(names))
}

// namingGroups names the groups that there are in an error of the store, which tells
// no more than that one is missing.
func (b *Bus) namingGroups(ctx context.Context, topic string, err error) error {
	if errs.Cause(err) != errs.GroupNotFound {
		return err
	}
	t, unread := b.store.Topic(ctx, topic)
	if unread != nil {
		return err
	}
	return groupMissing(t)
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
