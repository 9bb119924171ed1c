package cli

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
	"github.com/seed4933/eventbus/eventbus"
)

func (a *app) failures() *cobra.Command {
	c := &cobra.Command{
		Use: "failures", Short: "Show, replay and discard what the group's handlers could not do",
		Long: `Show, replay and discard the failures of the group: events that a handler did
not handle. Those in state retry are tried again by themselves; those in state
dead were given up and wait to be replayed or discarded.

That there are none is no error. Where they are in the other state, or nothing
knows the handler that --handler names, a line on stderr says so.`,
	}
	a.group(c, a.failuresList(), a.failuresShow(), a.failuresReplay(), a.failuresDiscard())
	return c
}

// stateFlag is the flag --state.
func stateFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "state", string(eventbus.Dead), "dead, or retry: those that are tried again by themselves")
}

func (a *app) failuresList() *cobra.Command {
	var q listing
	c := &cobra.Command{
		Use: "list TOPIC", Args: args("TOPIC"), Short: "List failures, the oldest first",
		Long: `List failures: dead ones by the time of their death, those that are retried by
the time of their next attempt. When there are more than --limit, the last line
on stderr tells the cursor under which the list goes on.

ATTEMPTS counts those that have failed since the last replay, or all where there
was none; the first failure that -o json tells is the first since then too.`,
		RunE: func(c *cobra.Command, args []string) error {
			if q.limit < 1 {
				return wrongUsage("--limit is %d; a number above zero is right, or --all for no limit", q.limit)
			}
			if q.all && c.Flags().Changed("limit") {
				return wrongUsage("--limit and --all do not go together")
			}
			if c.Flags().Changed("handler") && q.handler == "" {
				return emptyHandler()
			}
			return a.with(func(s *session) error {
				if err := offline(func(bus *eventbus.Bus) error {
					_, err := bus.Failures().InGroup(cmp.Or(s.group, eventbus.DefaultGroup)).List(c.Context(), args[0],
						eventbus.FailureQuery{State: eventbus.FailureState(q.state), Handler: q.handler, Cursor: q.cursor})
					return err
				}); err != nil {
					return err
				}
				q.fetch = func(query eventbus.FailureQuery) (eventbus.FailurePage, error) {
					return s.api.ListFailures(c.Context(), args[0], s.group, query)
				}
				head, empty := true, true
				next, err := q.pages(func(page []eventbus.Failure) error {
					views := make([]failureView, len(page))
					for i, f := range page {
						views[i] = viewFailure(f)
					}
					empty = empty && len(page) == 0
					defer func() { head = false }()
					return a.out.FlushAfter(show.List(a.out, head, failureColumns, views))
				})
				if err != nil {
					return err
				}
				if empty && q.cursor == "" {
					return a.none(c, s, args[0], q.handler, q.state).tell(c.Context())
				}
				if next != "" {
					fmt.Fprintf(a.env.Stderr, "there may be more: --cursor %s\n", next)
				}
				return nil
			})
		},
	}
	stateFlag(c, &q.state)
	c.Flags().StringVar(&q.handler, "handler", "", "only those of one handler")
	c.Flags().Var((*timeValue)(&q.before), "before", "only those that failed last before this time: RFC 3339, or how long ago, such as 24h")
	c.Flags().IntVar(&q.limit, "limit", 100, "how many")
	c.Flags().BoolVar(&q.all, "all", false, "all of them")
	c.Flags().StringVar(&q.cursor, "cursor", "", "go on where an earlier list ended")
	return c
}

func (a *app) failuresShow() *cobra.Command {
	var payload bool
	c := &cobra.Command{
		Use: "show TOPIC ID", Args: args("TOPIC", "ID"), Short: "Show a failure with its event",
		Long: `Show a failure with its event. Attempts, and the time when it first failed, are
those since the last replay, or of all where there was none.`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(func(s *session) error {
				f, err := s.api.GetFailure(c.Context(), args[0], s.group, args[1])
				if err != nil {
					return err
				}
				if payload {
					if isTerminal(a.env.Stdout) {
						return a.out.Raw([]byte(show.Text(string(f.Event.Payload)) + "\n"))
					}
					return a.out.Raw(f.Event.Payload)
				}
				v := viewFailure(f)
				return a.out.Sheet(v, v.sheet(f.Event), eventMember(f.Event))
			})
		},
	}
	c.Flags().BoolVar(&payload, "payload", false, "write the event's payload alone, byte for byte (escaped on a terminal)")
	return c
}

// emptyHandler refuses --handler "": where a script's variable is empty, it would pick
// the failures of all handlers.
func emptyHandler() error {
	return wrongUsage("--handler is empty; give the handler's id, or leave it out for all")
}

// listing reads pages of failures until there are enough.
type listing struct {
	state, handler, cursor string
	before                 time.Time
	limit                  int
	all                    bool
	fetch                  func(q eventbus.FailureQuery) (eventbus.FailurePage, error)
}

// maxPage is the greatest page that the bus reads at once.
const maxPage = 1000

// pages hands on pages until the limit is met or there are no more, and at least
// one; next is the cursor of what follows.
func (l *listing) pages(show func(page []eventbus.Failure) error) (next string, err error) {
	rest, shown := l.limit, false
	cursor := l.cursor
	for {
		var found []eventbus.Failure
		if found, next, err = l.page(cursor, rest); err != nil {
			return "", err
		}
		if len(found) > 0 || !shown && next == "" {
			if err := show(found); err != nil {
				return "", err
			}
			shown = true
		}
		if rest -= len(found); next == "" || rest == 0 && !l.all {
			return next, nil
		}
		cursor = next
	}
}

// page reads a page of which no more than rest are picked. Where a filter leaves
// some out, it looks at many at once, and when it has found too many, searches
// for the length of page that holds just enough: about ten calls, once.
func (l *listing) page(cursor string, rest int) ([]eventbus.Failure, string, error) {
	filtered := l.handler != "" || !l.before.IsZero()
	if l.all {
		return l.read(cursor, maxPage)
	}
	if !filtered {
		return l.read(cursor, min(rest, maxPage))
	}
	found, next, err := l.read(cursor, maxPage)
	if err != nil || len(found) <= rest {
		return found, next, err
	}
	few, many := 1, maxPage // a page of many holds too many
	for few < many {
		n := (few + many) / 2
		page, _, err := l.read(cursor, n)
		if err != nil {
			return nil, "", err
		}
		if len(page) >= rest {
			many = n
		} else {
			few = n + 1
		}
	}
	return l.read(cursor, few)
}

func (l *listing) read(cursor string, n int) ([]eventbus.Failure, string, error) {
	p, err := l.fetch(eventbus.FailureQuery{State: eventbus.FailureState(l.state), Handler: l.handler, Limit: n, Cursor: cursor})
	if err != nil {
		return nil, "", err
	}
	found := p.Failures
	if !l.before.IsZero() {
		found = found[:0]
		for _, f := range p.Failures {
			if f.FailedAt.Before(l.before) {
				found = append(found, f)
			}
		}
	}
	return found, p.Next, nil
}
