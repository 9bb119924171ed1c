package cli

import (
	"cmp"
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
				if err := s.api.DeleteTopic(c.Context(), args[0]); err != nil {
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
	holds, err := s.losses(ctx, topic)
	if errors.Is(err, eventbus.ErrTopicDeleting) {
		return a.consent(ctx, fmt.Sprintf("this deletes what an earlier deletion has left of topic %s", topic))
	}
	if err != nil {
		return instead(fmt.Sprintf("delete topic %q", topic), readingFigures(topic), err)
	}
	var lost, stays []string
	for _, l := range holds {
		lost = append(lost, "group "+l.group+" holds "+l.lost)
		if l.stays != "" {
			stays = append(stays, l.stays)
		}
	}
	if len(lost) == 0 {
		lost = []string{"it has no group"}
	}
	but := ""
	if len(stays) > 0 {
		but = " but the lists of others"
	}
	text := fmt.Sprintf("this deletes topic %s with all that it holds%s, for good: %s", topic, but, strings.Join(lost, ", "))
	return a.consent(ctx, strings.Join(append([]string{text}, stays...), "; "))
}

func (a *app) consentToRemoval(ctx context.Context, s *session, topic, group string) error {
	doing := fmt.Sprintf("remove group %q from topic %q", group, topic)
	holds, err := s.losses(ctx, topic)
	if err != nil {
		return instead(doing, readingFigures(topic), err)
	}
	for _, l := range holds {
		if l.group != group {
			continue
		}
		if l.stays != "" {
			return a.consent(ctx, fmt.Sprintf("this removes group %s of topic %s, and for good: %s; %s", group, topic, l.lost, l.stays))
		}
		return a.consent(ctx, fmt.Sprintf("this removes group %s of topic %s with all that it holds, for good: %s", group, topic, l.lost))
	}
	has := []string{}
	for _, l := range holds {
		has = append(has, l.group)
	}
	return fmt.Errorf("%s: %w; the topic has: %s", doing, eventbus.ErrGroupNotFound, cmp.Or(strings.Join(has, ", "), "none"))
}

// loss is what goes with a group, and what stays in Redis; "" where nothing does.
type loss struct{ group, lost, stays string }

// losses tells what each group of a topic holds.
func (s *session) losses(ctx context.Context, topic string) ([]loss, error) {
	all, err := s.api.Stats(ctx, topic)
	if err != nil {
		return nil, err
	}
	t, err := s.api.GetTopic(ctx, topic)
	if err != nil {
		return nil, instead(readingFigures(topic), reading(topic), err)
	}
	keys := map[string]string{}
	for _, g := range t.Groups {
		keys[g.Name] = g.QueueKey
	}
	losses := make([]loss, len(all))
	for i, g := range all {
		losses[i] = loss{group: g.Group, lost: holdings(g)}
		if key := keys[g.Group]; key != "" {
			losses[i].lost = fmt.Sprintf("%d in flight, %s", g.InFlight, failed(g))
			losses[i].stays = fmt.Sprintf("the list %s stays in Redis, with what waits in it (%d) and is delayed for it (%d)", key, g.Waiting, g.Delayed)
		}
	}
	return losses, nil
}

// holdings counts what a group holds and would lose.
func holdings(g eventbus.Stats) string {
	return fmt.Sprintf("%d waiting, %d in flight, %d delayed, %s", g.Waiting, g.InFlight, g.Delayed, failed(g))
}

func failed(g eventbus.Stats) string {
	return fmt.Sprintf("%d failed (%d to be retried, %d dead)", g.Retrying+g.Dead, g.Retrying, g.Dead)
}
