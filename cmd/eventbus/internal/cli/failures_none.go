package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed4933/eventbus/eventbus"
)

// Where a filter picks nothing, that is no error: scripts replay what there is, and
// often there is none. But it may also be that a handler's name is mistyped, or that
// the failures are in the other state; so that is told beside the answer.

// tallied bounds how many failures of a state are read to find out whose they are.
const tallied = 20 * maxPage

// none is a call of failures that has found nothing.
type none struct {
	app            *app
	s              *session
	topic, handler string
	state          eventbus.FailureState
	chosen         bool // the state was given
}

func (a *app) none(c *cobra.Command, s *session, topic, handler, state string) *none {
	return &none{a, s, topic, handler, eventbus.FailureState(state), c.Flags().Changed("state")}
}

// tell says why there may be nothing; it is silent where there are such failures,
// and --before has left them out.
func (n *none) tell(ctx context.Context) error {
	if n.handler == "" {
		return n.tellOfAll(ctx)
	}
	here, whole, err := n.tally(ctx, n.state)
	if err != nil || here[n.handler] > 0 {
		return err
	}
	there, also, err := n.tally(ctx, n.other())
	if err != nil {
		return err
	}
	if count := there[n.handler]; count > 0 {
		n.tellOfOther(ctx, " of handler "+n.handler, int64(count))
		return nil
	}
	registered, err := n.s.handlers(ctx, n.topic)
	if err != nil {
		return err
	}
	dead, retrying := here, there
	if n.state != eventbus.Dead {
		dead, retrying = there, here
	}
	var some, all []string
	is := false
	for _, id := range names(dead, retrying, registered) {
		is = is || id == n.handler
		text := id
		if owns := holdsOf(dead[id], retrying[id]); owns != "" {
			text += " (" + owns + ")"
			some = append(some, text)
		}
		all = append(all, text)
	}
	what, rest := "handler %s has no failure in topic %s, %s", ""
	switch {
	case is && len(some) > 0:
		rest = "; others have: " + strings.Join(some, ", ")
	case !is:
		what, rest = "handler %s is not known in topic %s, %s: no process runs it, nothing is set for it, no failure is of it", "; nor is any other"
		if len(all) > 0 {
			rest = "; known are: " + strings.Join(all, ", ")
		}
	}
	if !whole || !also {
		rest += fmt.Sprintf(", as far as the first %d of a state tell", tallied)
	}
	n.app.tell(what+"%s", n.handler, n.topic, named(n.s.groupOf(ctx)), rest)
	return nil
}

// tellOfAll is tell where no handler was asked for. Who has chosen the state knows
// that there is another one.
func (n *none) tellOfAll(ctx context.Context) error {
	if n.chosen {
		return nil
	}
	count, err := n.s.api.CountFailures(ctx, n.topic, n.s.group)
	if err == nil && count.Dead == 0 && count.Retrying > 0 {
		n.tellOfOther(ctx, "", count.Retrying)
	}
	return err
}

func (n *none) other() eventbus.FailureState {
	if n.state == eventbus.Dead {
		return eventbus.Retrying
	}
	return eventbus.Dead
}

func (n *none) tellOfOther(ctx context.Context, of string, count int64) {
	are := "are"
	if count == 1 {
		are = "is"
	}
	n.app.tell("no failure%s is in state %s, topic %s, %s; %d %s in state %[7]s: --state %[7]s picks from those",
		of, n.state, n.topic, named(n.s.groupOf(ctx)), count, are, n.other())
}

// tally counts the failures of a state by handler; those of a process that died,
// for all of its handlers, go uncounted, and whole is false when there are more
// than it reads.
func (n *none) tally(ctx context.Context, state eventbus.FailureState) (owners map[string]int, whole bool, err error) {
	owners = map[string]int{}
	cursor := ""
	for range tallied / maxPage {
		page, err := n.s.api.ListFailures(ctx, n.topic, n.s.group, eventbus.FailureQuery{State: state, Limit: maxPage, Cursor: cursor})
		if err != nil {
			return nil, false, err
		}
		for _, f := range page.Failures {
			if f.Handler != "" {
				owners[f.Handler]++
			}
		}
		if cursor = page.Next; cursor == "" {
			return owners, true, nil
		}
	}
	return owners, false, nil
}

// names are the ids of all handlers that have failures, run, or have settings.
func names(dead, retrying map[string]int, registered []eventbus.HandlerInfo) []string {
	all := slices.Collect(maps.Keys(dead))
	all = slices.AppendSeq(all, maps.Keys(retrying))
	for _, h := range registered {
		all = append(all, h.ID)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// holdsOf says how many failures a handler has; "" for none.
func holdsOf(dead, retrying int) string {
	var parts []string
	if dead > 0 {
		parts = append(parts, fmt.Sprintf("%d dead", dead))
	}
	if retrying > 0 {
		parts = append(parts, fmt.Sprintf("%d to be retried", retrying))
	}
	return strings.Join(parts, ", ")
}
