package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
	"github.com/seed4933/eventbus/eventbus"
)

// consumerView is a process that runs handlers, as JSON shows it.
type consumerView struct {
	ID       string        `json:"id"`
	Group    string        `json:"group"`
	Host     string        `json:"host"`
	PID      int           `json:"pid"`
	Started  *time.Time    `json:"started"`
	Expires  *time.Time    `json:"expires"`
	Expired  bool          `json:"expired"`
	Handlers []runningView `json:"handlers"`
}

type runningView struct {
	Topic    string       `json:"topic"`
	ID       string       `json:"id"`
	Settings settingsView `json:"settings"`
	// OpenBreaker tells that its circuit breaker is open in this process.
	OpenBreaker bool `json:"open_breaker"`
}

func viewConsumer(c eventbus.Consumer) consumerView {
	v := consumerView{
		ID: c.ID, Group: c.Group, Host: c.Host, PID: c.PID, Started: show.Moment(c.Started), Expires: show.Moment(c.Expires),
		Expired: c.Expired, Handlers: []runningView{},
	}
	for topic, handlers := range c.Handlers {
		for _, h := range handlers {
			v.Handlers = append(v.Handlers, runningView{Topic: topic, ID: h.ID, Settings: viewSettings(h.Settings), OpenBreaker: h.OpenBreaker})
		}
	}
	// by topic; within one they stay in the order in which they run
	slices.SortStableFunc(v.Handlers, func(a, b runningView) int { return strings.Compare(a.Topic, b.Topic) })
	return v
}

func (v consumerView) runs() string {
	names := make([]string, len(v.Handlers))
	for i, h := range v.Handlers {
		names[i] = h.Topic + " " + h.ID
		if !h.Settings.Enabled {
			names[i] += " (off)"
		} else if h.OpenBreaker {
			names[i] += breakerOpen
		}
	}
	return show.Or(strings.Join(names, ", "))
}

func (v consumerView) lease() string {
	if v.Expired {
		return "run out"
	}
	return at(v.Expires)
}

var consumerColumns = []show.Column[consumerView]{
	{Head: "CONSUMER", Text: func(v consumerView) string { return v.ID }},
	{Head: "GROUP", Text: func(v consumerView) string { return show.Or(v.Group) }},
	{Head: "HOST", Text: func(v consumerView) string { return show.Or(v.Host) }},
	{Head: "PID", Text: func(v consumerView) string { return fmt.Sprint(v.PID) }},
	{Head: "STARTED", Text: func(v consumerView) string { return at(v.Started) }},
	{Head: "LEASE UNTIL", Text: consumerView.lease},
	{Head: "RUNS", Text: consumerView.runs},
}

func (a *app) consumers() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "consumers", Args: args(), Short: "List the live processes that run handlers, and what each runs",
		Long: `List the processes that run handlers, of all groups or of the one that --group
names, and what each runs. Those whose lease has run out are dead, or cannot reach
Redis; --all lists them too, until others have moved back what they held.`,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(func(s *session) error {
				found, err := s.consumers(c.Context())
				if err != nil {
					return err
				}
				var views []consumerView
				for _, f := range found {
					if f.Expired && !all || a.flags.set.Changed("group") && f.Group != s.group {
						continue
					}
					views = append(views, viewConsumer(f))
				}
				if len(views) == 0 && a.flags.set.Changed("group") {
					if err := a.tellUnknownGroup(c.Context(), s); err != nil {
						return err
					}
				}
				return show.List(a.out, true, consumerColumns, views)
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "also those whose lease has run out")
	return c
}

// consumers returns all processes that run handlers.
func (s *session) consumers(ctx context.Context) (all []eventbus.Consumer, err error) {
	err = each(func(page admin.Page) (string, error) {
		p, err := s.api.ListConsumers(ctx, page)
		all = append(all, p.Consumers...)
		return p.Next, err
	})
	return all, err
}
