package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed4933/eventbus/eventbus"
)

// cancelled is the answer for one event.
type cancelled struct {
	Topic  string   `json:"topic"`
	ID     string   `json:"id"`
	Action string   `json:"action"`
	Groups []string `json:"groups"`
}

func (a *app) delayedCancel() *cobra.Command {
	return &cobra.Command{
		Use: "cancel TOPIC ID…", Args: args("TOPIC", "ID", "[ID…]"), Short: "Cancel delayed events by the ids that send has printed",
		Long: `Cancel delayed events, each in every group in which it still waits, and print in
which groups that was: it was not handed out there, and will not be. An id that
waits in no group is told of, with exit code 1; the others are cancelled all the
same. Events that Java services have offered have no id by which to cancel them.`,
		RunE: func(c *cobra.Command, args []string) error {
			if a.flags.set.Changed("group") {
				return wrongUsage("--group does not go with cancel, which works in every group of the topic")
			}
			var ids []string // each once, as they were given
			for _, id := range args[1:] {
				if id == "" {
					return wrongUsage("an id is empty; 1 to 255 bytes are right")
				}
				if !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
			return a.with(func(s *session) error { return a.cancel(c.Context(), s, args[0], ids) })
		},
	}
}

// errForeign says of an event why it cannot be cancelled although it is listed.
var errForeign = errors.New("an event that another program has offered is listed under its id, but only its program can cancel it")

// cancel cancels one after another, and stops where Redis does not go along.
func (a *app) cancel(ctx context.Context, s *session, topic string, ids []string) error {
	var missing []string
	var last error
	for _, id := range ids {
		groups, err := s.api.CancelDelayed(ctx, topic, id)
		switch {
		case errors.Is(err, eventbus.ErrNotDelayed):
			missing, last = append(missing, id), err
			continue
		case err != nil:
			return err
		}
		in := "group"
		if len(groups) > 1 {
			in = "groups"
		}
		err = a.report(cancelled{Topic: topic, ID: id, Action: "cancelled", Groups: groups}, "cancelled %s in %s %s", id, in, strings.Join(groups, ", "))
		if err != nil {
			return err
		}
	}
	if len(missing) == 0 {
		return nil
	}
	foreign := s.listed(ctx, topic, missing)
	missing = slices.DeleteFunc(missing, func(id string) bool { return slices.Contains(foreign, id) })
	var errs []error
	for _, c := range []struct {
		ids []string
		err error
	}{{missing, eventbus.ErrNotDelayed}, {foreign, errForeign}} {
		switch {
		case len(c.ids) == 0:
		case len(ids) > 1:
			errs = append(errs, fmt.Errorf("%d of %d ids: %s: %w", len(c.ids), len(ids), strings.Join(c.ids, ", "), c.err))
		case c.err == errForeign:
			errs = append(errs, fmt.Errorf("cancel event %q of topic %q: %w", ids[0], topic, c.err))
		default:
			errs = append(errs, last)
		}
	}
	return errors.Join(errs...)
}

// lookedThrough bounds how many delayed events of a group are looked through.
const lookedThrough = 20 * maxPage

// listed returns those ids that a list of delayed events shows all the same, in any
// group, as far as its beginning tells; it serves to word an error, and an error of
// its own is none.
func (s *session) listed(ctx context.Context, topic string, ids []string) (found []string) {
	t, err := s.api.GetTopic(ctx, topic)
	if err != nil {
		return nil
	}
	for _, g := range t.Groups {
		q := eventbus.DelayedQuery{Limit: maxPage}
		for range lookedThrough / maxPage {
			page, err := s.api.ListDelayed(ctx, topic, g.Name, q)
			if err != nil {
				break
			}
			for _, e := range page.Events {
				if e.ID != "" && slices.Contains(ids, e.ID) && !slices.Contains(found, e.ID) {
					found = append(found, e.ID)
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
	}
	return found
}
