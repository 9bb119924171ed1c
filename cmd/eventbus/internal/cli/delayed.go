package cli

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
	"github.com/seed4933/eventbus/eventbus"
)

func (a *app) delayed() *cobra.Command {
	c := &cobra.Command{
		Use: "delayed", Short: "List and cancel events that wait for their time",
		Long: `List and cancel events that were sent with a delay and wait for their time, also
those that Java services have offered through Redisson's RDelayedQueue. An event
whose handler has failed waits elsewhere: see eventbus failures.`,
	}
	a.group(c, a.delayedList(), a.delayedCancel())
	return c
}

func (a *app) delayedList() *cobra.Command {
	var q delayedListing
	c := &cobra.Command{
		Use: "list TOPIC", Args: args("TOPIC"), Short: "List the group's delayed events, the next one first",
		Long: `List the delayed events of the group in the order in which they are due: id, time,
how long that is from now by Redis's clock, and size in bytes. The id is shown where
what is kept tells it: not on a raw topic, and not of bare payloads.

When there are more than --limit, a line on stderr tells the cursor under which
the list goes on. Another one tells why events are overdue, where that can be told:
the topic is switched off, or no live process handles it in the group. Another one
tells how many could not be read and were set aside when their time came, in which
list, and the first of them in hex.`,
		RunE: func(c *cobra.Command, args []string) error {
			if q.limit < 1 {
				return wrongUsage("--limit is %d; a number above zero is right, or --all for no limit", q.limit)
			}
			if q.all && c.Flags().Changed("limit") {
				return wrongUsage("--limit and --all do not go together")
			}
			return a.with(func(s *session) error { return a.listDelayed(c.Context(), s, args[0], &q) })
		},
	}
	c.Flags().IntVar(&q.limit, "limit", 100, "how many")
	c.Flags().BoolVar(&q.all, "all", false, "all of them")
	c.Flags().StringVar(&q.cursor, "cursor", "", "go on where an earlier list ended")
	return c
}

// delayedListing says how much of the list is asked for.
type delayedListing struct {
	cursor string
	limit  int
	all    bool
}

func (a *app) listDelayed(ctx context.Context, s *session, topic string, q *delayedListing) error {
	var clock time.Duration // how far Redis's is ahead of this machine's
	var overdue bool
	var group string
	rest, next := q.limit, q.cursor
	for head := true; head || next != "" && (q.all || rest > 0); head = false {
		n := maxPage
		if !q.all {
			n = min(rest, maxPage)
		}
		page, err := s.api.ListDelayed(ctx, topic, s.group, eventbus.DelayedQuery{Limit: n, Cursor: next})
		if err != nil {
			return err
		}
		if head { // after the page, whose error says what was asked for
			clock, group = s.clock(ctx, topic), s.groupOf(ctx)
		}
		views := make([]delayedView, len(page.Events))
		for i, e := range page.Events {
			now := time.Now().Add(clock)
			views[i] = viewDelayed(topic, group, e, now)
			overdue = overdue || now.Sub(e.DueAt) > overdueAfter
		}
		if err := a.out.FlushAfter(show.List(a.out, head, delayedColumns, views)); err != nil {
			return err
		}
		rest, next = rest-len(views), page.Next
	}
	if next != "" {
		fmt.Fprintf(a.env.Stderr, "there may be more: --cursor %s\n", next)
	}
	if overdue {
		a.tellOverdue(ctx, s, topic, group)
	}
	return a.tellUnreadable(ctx, s, topic)
}

// clock returns how far Redis's clock is ahead of this machine's; 0 where it cannot
// be told.
func (s *session) clock(ctx context.Context, topic string) time.Duration {
	figures, err := s.api.Stats(ctx, topic)
	if err != nil || len(figures) == 0 {
		return 0
	}
	return time.Until(figures[len(figures)-1].ReadAt)
}

// overdueAfter is how late an event is handed out at most where all is well.
const overdueAfter = 3 * time.Second

// tellOverdue says why events that are due are not handed out, where that can be
// told: it is no part of the answer, and goes without where it cannot be read.
func (a *app) tellOverdue(ctx context.Context, s *session, topic, group string) {
	t, err := s.api.GetTopic(ctx, topic)
	if err != nil {
		return
	}
	if t.Disabled {
		a.tell("events are overdue: topic %s is switched off; eventbus topic enable switches it on", topic)
		return
	}
	live, err := s.consumers(ctx)
	if err != nil {
		return
	}
	for _, c := range live {
		if (group == "" || c.Group == group) && !c.Expired && len(c.Handlers[topic]) > 0 {
			return
		}
	}
	a.tell("events are overdue: no live process handles topic %s in %s; eventbus consumers lists those that run", topic, named(group))
}

// How much of what cannot be read is shown.
const (
	shownUnreadable      = 3
	shownUnreadableBytes = 32 // of each
)

// tellUnreadable tells of delayed events that were set aside.
func (a *app) tellUnreadable(ctx context.Context, s *session, topic string) error {
	u, err := s.api.ListUnreadable(ctx, topic, s.group, shownUnreadable)
	if err != nil || u.Total == 0 {
		return err
	}
	members := make([]string, len(u.Members))
	for i, m := range u.Members {
		members[i] = hex.EncodeToString(m[:min(len(m), shownUnreadableBytes)])
		switch {
		case len(m) == 0:
			members[i] = "(empty)"
		case len(m) > shownUnreadableBytes:
			members[i] += fmt.Sprintf("… (%d bytes)", len(m))
		}
	}
	which := "in hex"
	if u.Total > int64(len(members)) {
		which = "the first of them, in hex"
	}
	what := fmt.Sprintf("%d delayed events could not be read, are none of Redisson's and were", u.Total)
	if u.Total == 1 {
		what = "1 delayed event could not be read, is none of Redisson's and was"
	}
	a.tell("%s set aside in the list %s; %s: %s", what, u.List, which, strings.Join(members, ", "))
	return nil
}
