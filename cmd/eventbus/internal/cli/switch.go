package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed4933/eventbus/admin"
)

// topicSwitch is a command that does one thing to a topic.
func (a *app) topicSwitch(use, short, action string, do func(api admin.API, ctx context.Context, topic string) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " TOPIC", Args: args("TOPIC"), Short: short,
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(func(s *session) error {
				if err := do(s.api, c.Context(), args[0]); err != nil {
					return err
				}
				return a.report(done{Topic: args[0], Action: action}, "%s topic %s", action, args[0])
			})
		},
	}
}

// handlerSwitch is a command that does one thing to a handler, ahead of its first
// start only with --force.
func (a *app) handlerSwitch(use, short, action string, do func(api admin.API, ctx context.Context, topic, group, handler string) error) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: use + " TOPIC HANDLER", Args: args("TOPIC", "HANDLER"), Short: short,
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(func(s *session) error {
				if err := checkHandler(c.Context(), s, use, args[0], args[1], force); err != nil {
					return err
				}
				if err := do(s.api, c.Context(), args[0], s.group, args[1]); err != nil {
					return err
				}
				group := s.groupOf(c.Context())
				return a.report(done{Topic: args[0], Group: group, Handler: args[1], Action: action},
					"%s handler %s of topic %s in %s", action, args[1], args[0], named(group))
			})
		},
	}
	forceFlag(c, &force)
	return c
}
