package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed4933/eventbus/eventbus"
)

// tallied bounds how many failures are read to find out whose they are.
const tallied = 20 * maxPage

// tellNone tells, when no failure of a handler was found, that there is none of
// it at all and which handlers have some: its name may be mistyped. It is no
// error: there may rightly be none.
func (a *app) tellNone(ctx context.Context, s *session, topic, handler, state string) error {
	owners, whole, err := tally(ctx, s, topic, state)
	if err != nil || owners[handler] > 0 {
		return err // --before left out those that there are
	}
	have := "no handler has any"
	if len(owners) > 0 {
		names := slices.Sorted(maps.Keys(owners))
		for i, name := range names {
			names[i] = fmt.Sprintf("%s (%d)", name, owners[name])
		}
		have = "handlers that have some: " + strings.Join(names, ", ")
	}
	if !whole {
		have += fmt.Sprintf(", as far as the first %d tell", tallied)
	}
	a.tell("no failure of handler %s is in state %s, topic %s, group %s; %s", handler, state, topic, s.group, have)
	return nil
}

// tally counts failures by handler; those of a process that died, for all of its
// handlers, go uncounted, and whole is false when there are more than it reads.
func tally(ctx context.Context, s *session, topic, state string) (owners map[string]int, whole bool, err error) {
	owners = map[string]int{}
	cursor := ""
	for range tallied / maxPage {
		page, err := s.bus.Failures().List(ctx, topic, eventbus.FailureQuery{State: eventbus.FailureState(state), Limit: maxPage, Cursor: cursor})
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
