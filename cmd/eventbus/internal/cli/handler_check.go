package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
)

func forceFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "force", false, "also when no process runs the handler and nothing is stored for it")
}

// checkHandler refuses a handler that nothing knows, so that a mistyped name is
// found: what is set for it would be kept, and change nothing.
func checkHandler(ctx context.Context, s *session, topic, handler string, force bool) error {
	if force {
		return nil
	}
	if err := checkMember(ctx, s, topic); err != nil {
		return err
	}
	_, err := s.api.GetHandler(ctx, topic, s.group, handler)
	if errors.Is(err, eventbus.ErrHandlerNotFound) {
		return fmt.Errorf("%w; --force sets one that no process runs yet", err)
	}
	return err
}

// checkMember refuses a topic that does not have the group.
func checkMember(ctx context.Context, s *session, topic string) error {
	if s.group == "" { // the server refuses it
		_, err := s.api.ListHandlers(ctx, topic, "", admin.Page{Limit: 1})
		return err
	}
	t, err := s.api.GetTopic(ctx, topic)
	if err != nil {
		return err
	}
	return member(t, s.group)
}

// member demands that the topic has the group.
func member(t eventbus.Topic, group string) error {
	for _, g := range t.Groups {
		if g.Name == group {
			return nil
		}
	}
	return fmt.Errorf("topic %q, group %q: %w", t.Name, group, eventbus.ErrGroupNotFound)
}
