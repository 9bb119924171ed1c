package cli

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
	"github.com/seed4933/eventbus/eventbus"
)

func (a *app) handler() *cobra.Command {
	c := &cobra.Command{
		Use: "handler", Short: "Show, change and switch the group's handlers, in all processes that run them",
		Long: `Show, change and switch the handlers of the group, in all processes that run
them. What is set here goes before what the processes' own code or settings file
says, is kept in Redis, and holds within a second.

A handler that no process runs, and for which nothing is stored, is refused: its
name may be mistyped. --force sets it all the same, before its first start.`,
	}
	a.group(c,
		a.handlerList(), a.handlerShow(), a.handlerUpdate(),
		explained(a.handlerSwitch("enable", "Switch a handler on", "enabled", admin.API.EnableHandler), handlerEnableHelp),
		a.handlerSwitch("disable", "Switch a handler off: its share of each event waits", "disabled", admin.API.DisableHandler),
		a.handlerSwitch(verbReset, "Remove all that was set at run time", "reset", admin.API.ResetHandler),
	)
	return c
}

const handlerEnableHelp = `Switch a handler on. The circuit breaker of one that was switched off begins
closed: after a repair, disable and enable have it tried at once. What was put
off while the breaker was open comes at its time, or at once by
"eventbus failures replay TOPIC --state retry --handler HANDLER".`

func explained(c *cobra.Command, text string) *cobra.Command {
	c.Long = text
	return c
}

func (a *app) handlerList() *cobra.Command {
	return &cobra.Command{
		Use: "list TOPIC", Args: args("TOPIC"), Short: "List a topic's handlers: those that run somewhere, and those that were changed",
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(func(s *session) error {
				all, err := s.handlers(c.Context(), args[0])
				if err != nil {
					return err
				}
				views := make([]handlerView, len(all))
				for i, h := range all {
					views[i] = viewHandler(h)
				}
				return show.List(a.out, true, handlerColumns, views)
			})
		},
	}
}

// handlers returns all handlers of a topic in the group.
func (s *session) handlers(ctx context.Context, topic string) (all []eventbus.HandlerInfo, err error) {
	err = each(func(page admin.Page) (string, error) {
		p, err := s.api.ListHandlers(ctx, topic, s.group, page)
		all = append(all, p.Handlers...)
		return p.Next, err
	})
	return all, err
}

func (a *app) handlerShow() *cobra.Command {
	return &cobra.Command{
		Use: "show TOPIC HANDLER", Args: args("TOPIC", "HANDLER"), Short: "Show a handler's settings and the processes that run it",
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(func(s *session) error {
				h, err := s.api.GetHandler(c.Context(), args[0], s.group, args[1])
				if err != nil {
					return err
				}
				v := viewHandler(h)
				return a.out.Sheet(v, v.sheet())
			})
		},
	}
}

// handlerFlags are the settings of a handler.
type handlerFlags struct {
	timeout, retryInitial, retryMax, breakerOpen            time.Duration
	maxAttempts, concurrency, maxAbandoned, breakerFailures int
}

func (f *handlerFlags) register(set *pflag.FlagSet) {
	set.Var((*spanValue)(&f.timeout), "timeout", "how long one run may take, such as 5s")
	set.Var(&countValue{&f.maxAttempts, 1}, "max-attempts", "how many runs there are before the failure is dead; 1 for no retry")
	set.Var((*spanValue)(&f.retryInitial), "retry-initial", "upper bound of the delay before the first retry")
	set.Var((*spanValue)(&f.retryMax), "retry-max", "greatest upper bound of a delay before a retry")
	set.Var(&countValue{&f.concurrency, 0}, "concurrency", "how many runs at once in one process; 0 for no limit")
	set.Var(&countValue{&f.maxAbandoned, 1}, "max-abandoned", "how many runs that ignored their timeout may go on before no more are begun")
	set.Var(&countValue{&f.breakerFailures, 0}, "breaker-failures", "how many failures in a row open the breaker; 0 for no breaker")
	set.Var((*spanValue)(&f.breakerOpen), "breaker-open", "how long the breaker stays open")
}

func (a *app) handlerUpdate() *cobra.Command {
	var f handlerFlags
	var revision int64
	var force bool
	c := &cobra.Command{
		Use: "update TOPIC HANDLER", Args: args("TOPIC", "HANDLER"), Short: "Change settings of a handler: those whose flags are given",
		RunE: func(c *cobra.Command, args []string) error {
			var u eventbus.HandlerUpdate
			var some bool
			given(c.Flags(), "timeout", &u.Timeout, &f.timeout, &some)
			given(c.Flags(), "max-attempts", &u.MaxAttempts, &f.maxAttempts, &some)
			given(c.Flags(), "retry-initial", &u.RetryInitial, &f.retryInitial, &some)
			given(c.Flags(), "retry-max", &u.RetryMax, &f.retryMax, &some)
			given(c.Flags(), "concurrency", &u.Concurrency, &f.concurrency, &some)
			given(c.Flags(), "max-abandoned", &u.MaxAbandoned, &f.maxAbandoned, &some)
			given(c.Flags(), "breaker-failures", &u.BreakerFailures, &f.breakerFailures, &some)
			given(c.Flags(), "breaker-open", &u.BreakerOpen, &f.breakerOpen, &some)
			if !some {
				return wrongUsage("nothing to change; see %s --help for the settings", c.CommandPath())
			}
			if u.RetryInitial != nil && u.RetryMax != nil && f.retryInitial > f.retryMax {
				return wrongUsage("--retry-initial is %v, which is over --retry-max, %v; one that is not is right", f.retryInitial, f.retryMax)
			}
			u.IfRevision = revision
			return a.with(func(s *session) error {
				if err := offline(func(bus *eventbus.Bus) error {
					_, err := bus.Handlers().InGroup(cmp.Or(s.group, eventbus.DefaultGroup)).Update(c.Context(), args[0], args[1], u)
					return err
				}); err != nil {
					return err
				}
				if err := checkHandler(c.Context(), s, "change", args[0], args[1], force); err != nil {
					return err
				}
				revision, err := s.api.UpdateHandler(c.Context(), args[0], s.group, args[1], u)
				if err != nil {
					return err
				}
				group := s.groupOf(c.Context())
				return a.report(done{Topic: args[0], Group: group, Handler: args[1], Action: "updated", Revision: revision},
					"updated handler %s of topic %s in %s", args[1], args[0], named(group))
			})
		},
	}
	f.register(c.Flags())
	forceFlag(c, &force)
	c.Flags().Int64Var(&revision, "if-revision", 0, "change it only if the topic is at this revision; 0 for any")
	return c
}
