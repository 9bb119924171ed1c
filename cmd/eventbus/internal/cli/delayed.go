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
the list goes on. Another one tells how many could not be read and were set aside
when their time came, in which list, and the first of them in hex.`,
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
	figures, err := s.bus.GroupStats(ctx, topic)
	if err != nil {
		return err
	}
	ahead := time.Until(figures.ReadAt) // of this machine's clock is Redis's
	rest, next := q.limit, q.cursor
	for head := true; head || next != "" && (q.all || rest > 0); head = false {
		n := maxPage
		if !q.all {
			n = min(rest, maxPage)
		}
		page, err := s.bus.Delayed().List(ctx, topic, eventbus.DelayedQuery{Limit: n, Cursor: next})
		if err != nil {
			return err
		}
		views := make([]delayedView, len(page.Events))
		for i, e := range page.Events {
			views[i] = viewDelayed(topic, s.group, e, time.Now().Add(ahead))
		}
		if err := a.out.FlushAfter(show.List(a.out, head, delayedColumns, views)); err != nil {
			return err
		}
		rest, next = rest-len(views), page.Next
	}
	if next != "" {
		fmt.Fprintf(a.env.Stderr, "there may be more: --cursor %s\n", next)
	}
	if figures.Unreadable > 0 {
		return a.tellUnreadable(ctx, s, topic)
	}
	return nil
}

// How much of what cannot be read is shown.
const (
	shownUnreadable      = 3
	shownUnreadableBytes = 32 // of each
)

// tellUnreadable tells of delayed events that were set aside.
func (a *app) tellUnreadable(ctx context.Context, s *session, topic string) error {
	u, err := s.bus.Delayed().Unreadable(ctx, topic, shownUnreadable)
	if err != nil || u.Total == 0 {
		return err
	}
	members := make([]string, len(u.Members))
	for i, m := range u.Members {
		members[i] = hex.EncodeToString(m[:min(len(m), shownUnreadableBytes)])
		if len(m) > shownUnreadableBytes {
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
