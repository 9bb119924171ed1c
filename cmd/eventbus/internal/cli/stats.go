package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
	"github.com/seed4933/eventbus/eventbus"
)

func (a *app) stats() *cobra.Command {
	var watch bool
	var interval time.Duration
	c := &cobra.Command{
		Use: "stats [TOPIC]", Args: args("[TOPIC]"), Short: "Show figures: waiting, in flight, delayed, retry, dead, oldest, rates",
		Long: `Show the figures of one topic or of all, for each of their groups, or for the
one that --group names. Rates are measured between two readings, --interval apart;
with --interval 0 there is one reading, and no rates.

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
				r := readings{bus: s.bus}
				if len(args) == 1 {
					r.topic = args[0]
				}
				if a.flags.set.Changed("group") {
					r.group = s.group
				}
				if watch {
					return a.watch(c.Context(), &r, interval)
				}
				views, err := r.read(c.Context())
				if err == nil && interval > 0 {
					if err = pause(c.Context(), interval); err == nil {
						views, err = r.read(c.Context())
					}
				}
				if err != nil {
					return err
				}
				return show.List(a.out, true, statsColumns, views)
			})
		},
	}
	c.Flags().BoolVar(&watch, "watch", false, "show them again and again")
	c.Flags().DurationVar(&interval, "interval", time.Second, "time between two readings")
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
	bus          *eventbus.Bus
	topic, group string // "" for all
	before       map[[2]string]eventbus.Stats
}

func (r *readings) read(ctx context.Context) ([]statsView, error) {
	topics := []string{r.topic}
	if r.topic == "" {
		var err error
		if topics, err = r.bus.Topics().List(ctx); err != nil {
			return nil, err
		}
	}
	var views []statsView
	found := map[[2]string]eventbus.Stats{}
	for _, topic := range topics {
		all, err := r.of(ctx, topic)
		if err != nil {
			return nil, err
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
	return views, nil
}

// of reads a topic's figures. Among all topics one that is gone, or is going, or
// lacks the group, is left out.
func (r *readings) of(ctx context.Context, topic string) ([]eventbus.Stats, error) {
	all, err := r.bus.Stats(ctx, topic)
	if r.topic == "" && (errors.Is(err, eventbus.ErrTopicNotFound) || errors.Is(err, eventbus.ErrTopicDeleting)) {
		return nil, nil
	}
	if err != nil || r.group == "" {
		return all, err
	}
	for _, s := range all {
		if s.Group == r.group {
			return []eventbus.Stats{s}, nil
		}
	}
	if r.topic == "" {
		return nil, nil
	}
	_, err = r.bus.GroupStats(ctx, topic) // says what is missing
	return nil, err
}
