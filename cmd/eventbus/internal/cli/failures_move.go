package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
)

// filterFlags say which failures to replay or discard.
type filterFlags struct {
	state, handler string
	before         time.Time
	all            bool
}

func (f *filterFlags) register(c *cobra.Command) {
	stateFlag(c, &f.state)
	c.Flags().StringVar(&f.handler, "handler", "", "those of one handler")
	c.Flags().Var((*timeValue)(&f.before), "before", "those that failed last before this time: RFC 3339, or how long ago, such as 24h")
	c.Flags().BoolVar(&f.all, "all", false, "all of them")
}

func (f *filterFlags) filter(c *cobra.Command, ids []string) (eventbus.FailureFilter, error) {
	picks := f.handler != "" || !f.before.IsZero() || f.all
	switch {
	case c.Flags().Changed("handler") && f.handler == "":
		return eventbus.FailureFilter{}, emptyHandler()
	case len(ids) > 0 && (picks || c.Flags().Changed("state")):
		return eventbus.FailureFilter{}, wrongUsage("ids go with none of --handler, --before, --all and --state")
	case len(ids) == 0 && !picks:
		return eventbus.FailureFilter{}, wrongUsage("nothing says which: give ids, or --handler, --before or --all; see %s --help", c.CommandPath())
	case f.all && (f.handler != "" || !f.before.IsZero()):
		return eventbus.FailureFilter{}, wrongUsage("--all goes with neither --handler nor --before, which pick fewer")
	}
	if len(ids) > 0 {
		ids = slices.Clone(ids)
		slices.Sort(ids)
		return eventbus.FailureFilter{IDs: slices.Compact(ids)}, nil
	}
	return eventbus.FailureFilter{State: eventbus.FailureState(f.state), Handler: f.handler, Before: f.before, All: f.all}, nil
}

// moved is the answer of replay and discard.
type moved struct {
	Topic     string `json:"topic"`
	Group     string `json:"group"`
	Replayed  *int64 `json:"replayed,omitempty"`
	Discarded *int64 `json:"discarded,omitempty"`
}

func (a *app) failuresReplay() *cobra.Command {
	var f filterFlags
	c := &cobra.Command{
		Use: "replay TOPIC [ID…]", Args: args("TOPIC", "[ID…]"), Short: "Run failures again: by id, handler, time, or all",
		Long: `Move failures back to the queue, addressed to their handler and with fresh
attempts: by id, or those that have failed up to now and that the flags pick.
What fails again meanwhile is not picked again. An end half way loses nothing.

One that fails again has the id that it had; its attempts are counted, and its
first failure is told, since the last replay.`,
		RunE: func(c *cobra.Command, args []string) error {
			filter, err := f.filter(c, args[1:])
			if err != nil {
				return err
			}
			return a.with(func(s *session) error {
				n, group, err := a.move(c.Context(), s, args[0], filter, admin.JobReplay)
				if err == nil && n == 0 {
					err = a.none(c, s, args[0], f.handler, f.state).tell(c.Context())
				}
				if err != nil && n == 0 {
					return err
				}
				return errors.Join(err, a.report(moved{Topic: args[0], Group: group, Replayed: &n}, "replayed %d", n))
			})
		},
	}
	f.register(c)
	return c
}

func (a *app) failuresDiscard() *cobra.Command {
	var f filterFlags
	var yes bool
	c := &cobra.Command{
		Use: "discard TOPIC [ID…]", Args: args("TOPIC", "[ID…]"), Short: "Remove failures for good: by id, handler, time, or all",
		Long: `Remove failures for good: by id, or those that have failed up to now and that
the flags pick. --all asks first on a terminal, and elsewhere demands --yes.`,
		RunE: func(c *cobra.Command, args []string) error {
			filter, err := f.filter(c, args[1:])
			if err != nil {
				return err
			}
			if f.all && !yes && !a.canAsk() {
				return wrongUsage("discard --all removes failures for good and cannot ask here; say --yes if that is meant")
			}
			return a.with(func(s *session) error {
				if f.all && !yes {
					if err := a.consentToDiscard(c.Context(), s, args[0], filter.State); err != nil {
						return err
					}
				}
				n, group, err := a.move(c.Context(), s, args[0], filter, admin.JobDiscard)
				if err == nil && n == 0 {
					err = a.none(c, s, args[0], f.handler, f.state).tell(c.Context())
				}
				if err != nil && n == 0 {
					return err
				}
				return errors.Join(err, a.report(moved{Topic: args[0], Group: group, Discarded: &n}, "discarded %d", n))
			})
		},
	}
	f.register(c)
	c.Flags().BoolVar(&yes, "yes", false, "with --all: do not ask")
	return c
}

// consentToDiscard asks before all failures go, unless there is none.
func (a *app) consentToDiscard(ctx context.Context, s *session, topic string, state eventbus.FailureState) error {
	count, err := s.api.CountFailures(ctx, topic, s.group)
	if err != nil {
		return s.insteadOfCounting(ctx, admin.JobDiscard, topic, err)
	}
	n := count.Dead
	if state == eventbus.Retrying {
		n = count.Retrying
	}
	which := fmt.Sprintf("all %d failures", n)
	switch n {
	case 0:
		return nil
	case 1:
		which = "the only failure"
	}
	return a.consent(ctx, fmt.Sprintf("this discards %s in state %s of topic %s, %s, for good", which, state, topic, named(s.groupOf(ctx))))
}
