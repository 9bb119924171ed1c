package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed4933/eventbus/eventbus"
)

func (a *app) topicDelete() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "delete TOPIC", Args: args("TOPIC"), Short: "Delete a topic with all that it holds, waiting, in flight and failed",
		Long: `Delete a topic with all that it holds, in all its groups: events that wait, are in
flight or delayed, and failures. It asks first on a terminal, and elsewhere demands
--yes. A list that was given as a group's queue key stays, and so do the events that
are delayed for it.`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(func(s *session) error {
				if !yes {
					if err := a.consentToDeletion(c.Context(), s, args[0]); err != nil {
						return err
					}
				}
				if err := s.bus.Topics().Delete(c.Context(), args[0]); err != nil {
					return err
				}
				return a.report(done{Topic: args[0], Action: "deleted"}, "deleted topic %s", args[0])
			})
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

func (a *app) consentToDeletion(ctx context.Context, s *session, topic string) error {
	all, err := s.bus.Stats(ctx, topic)
	if errors.Is(err, eventbus.ErrTopicDeleting) {
		return a.consent(ctx, fmt.Sprintf("this deletes what an earlier deletion has left of topic %s", topic))
	}
	if err != nil {
		return partOf(fmt.Sprintf("delete topic %q", topic), err)
	}
	holds := make([]string, len(all))
	for i, g := range all {
		holds[i] = fmt.Sprintf("group %s holds %s", g.Group, holdings(g))
	}
	if len(holds) == 0 {
		holds = []string{"it has no group"}
	}
	return a.consent(ctx, fmt.Sprintf("this deletes topic %s with all that it holds, for good: %s", topic, strings.Join(holds, ", ")))
}

func (a *app) consentToRemoval(ctx context.Context, s *session, topic, group string) error {
	doing := fmt.Sprintf("remove group %q from topic %q", group, topic)
	all, err := s.bus.Stats(ctx, topic)
	if err != nil {
		return partOf(doing, err)
	}
	for _, g := range all {
		if g.Group == group {
			return a.consent(ctx, fmt.Sprintf("this removes group %s of topic %s with all that it holds, for good: %s", group, topic, holdings(g)))
		}
	}
	return fmt.Errorf("%s: %w", doing, eventbus.ErrGroupNotFound)
}

// holdings counts what a group holds and would lose.
func holdings(g eventbus.Stats) string {
	return fmt.Sprintf("%d waiting, %d in flight, %d delayed, %d failed (%d to be retried, %d dead)",
		g.Waiting, g.InFlight, g.Delayed, g.Retrying+g.Dead, g.Retrying, g.Dead)
}
