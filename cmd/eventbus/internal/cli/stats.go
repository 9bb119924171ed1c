package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
	"github.com/seed4933/eventbus/eventbus"
)

func (a *app) stats() *cobra.Command {
	var watch bool
	interval := time.Second
	c := &cobra.Command{
		Use: "stats [TOPIC]", Args: args("[TOPIC]"), Short: "Show figures: waiting, in flight, delayed, retry, dead, oldest, rates",
		Long: `Show the figures of one topic or of all, for each of their groups, or for the
one that --group names; where no topic has that, a line on stderr says so. Rates
are measured between two readings, --interval apart; with --interval 0 there is
one reading, and no rates.

Where the figures of one topic cannot be read, those of the others are shown, and
a line on stderr says what is wrong.

With --watch the figures are shown again and again, until Ctrl-C: on a terminal in
one place, elsewhere below each other, with one head. An error that comes once they
have been shown is told on stderr, and so is its end.`,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return wrongUsage("the argument %q is one too many; see %s --help", args[1], c.CommandPath())
			case interval < 0, watch && interval < 100*time.Millisecond:
				return wrongUsage("--interval is %v; with --watch at least 100ms is right, else 0 or more", interval)
			}
			return a.with(func(s *session) error {
				r := readings{api: s.api}
				if len(args) == 1 {
					r.topic = args[0]
				}
				if a.flags.set.Changed("group") {
					r.group = s.group
				}
				if watch {
					return a.watch(c.Context(), s, &r, interval)
				}
				views, bad, err := r.read(c.Context())
				if err == nil && r.group != "" && len(views) == 0 {
					return errors.Join(a.tellUnknownGroup(c.Context(), s), show.List(a.out, true, statsColumns, views), bad)
				}
				if err == nil && interval > 0 {
					if err = pause(c.Context(), interval); err == nil {
						views, bad, err = r.read(c.Context())
					}
				}
				if err != nil {
					return err
				}
				return errors.Join(show.List(a.out, true, statsColumns, views), bad)
			})
		},
	}
	c.Flags().BoolVar(&watch, "watch", false, "show them again and again")
	c.Flags().Var((*pauseValue)(&interval), "interval", "time between two readings")
	return c
}

// pause waits, or returns ctx's error.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readings reads figures, and compares them with those read before.
type readings struct {
	api          admin.API
	topic, group string // "" for all
	before       map[[2]string]eventbus.Stats
}

// read returns the figures, and bad for topics among all of which something is wrong
// that does not keep the others.
func (r *readings) read(ctx context.Context) (views []statsView, bad, err error) {
	topics := []string{r.topic}
	if r.topic == "" {
		if topics, err = r.topics(ctx); err != nil {
			return nil, nil, err
		}
	}
	var wrong []error
	found := map[[2]string]eventbus.Stats{}
	for _, topic := range topics {
		all, err := r.of(ctx, topic)
		switch {
		case err == nil:
		case r.topic == "" && ctx.Err() == nil && ofTopic(err):
			wrong = append(wrong, err)
			continue
		default:
			return nil, nil, err
		}
		for _, s := range all {
			key := [2]string{s.Topic, s.Group}
			var before *eventbus.Stats
			if b, ok := r.before[key]; ok {
				before = &b
			}
			views = append(views, viewStats(s, before))
			found[key] = s
		}
	}
	r.before = found
	return views, errors.Join(wrong...), nil
}

// ofTopic tells that it is the topic alone with which something is wrong.
func ofTopic(err error) bool {
	return !isAny(err, eventbus.ErrUnavailable, eventbus.ErrRedisTooOld, eventbus.ErrLayoutMismatch, eventbus.ErrClosed, admin.ErrUnauthenticated)
}

func (r *readings) topics(ctx context.Context) (names []string, err error) {
	err = each(func(page admin.Page) (string, error) {
		p, err := r.api.ListTopics(ctx, page)
		for _, t := range p.Topics {
			names = append(names, t.Name)
		}
		names = append(names, p.Unreadable...) // what is wrong with them their figures tell
		return p.Next, err
	})
	slices.Sort(names)
	return names, err
}

// of reads a topic's figures. Among all topics one that is gone, or is going, or
// lacks the group, is left out.
func (r *readings) of(ctx context.Context, topic string) ([]eventbus.Stats, error) {
	all, err := r.api.Stats(ctx, topic)
	if r.topic == "" && (errors.Is(err, eventbus.ErrTopicNotFound) || errors.Is(err, eventbus.ErrTopicDeleting)) {
		return nil, nil
	}
	if err != nil || r.group == "" {
		return all, err
	}
	names := make([]string, len(all))
	for i, s := range all {
		if s.Group == r.group {
			return []eventbus.Stats{s}, nil
		}
		names[i] = s.Group
	}
	if r.topic == "" {
		return nil, nil
	}
	return nil, fmt.Errorf("%s, group %q: %w", readingFigures(topic), r.group, noGroup(names))
}

// noGroup is ErrGroupNotFound with the groups that there are.
func noGroup(names []string) error {
	there := "none"
	if len(names) > 0 {
		there = strings.Join(names, ", ")
	}
	return fmt.Errorf("%w; the topic has: %s", eventbus.ErrGroupNotFound, there)
}
