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

// cancel cancels one after another, and stops where Redis does not go along.
func (a *app) cancel(ctx context.Context, s *session, topic string, ids []string) error {
	var missing []string
	var last error
	for _, id := range ids {
		groups, err := s.bus.Delayed().Cancel(ctx, topic, id)
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
	if len(ids) > 1 && len(missing) > 0 {
		return fmt.Errorf("%d of %d ids: %s: %w", len(missing), len(ids), strings.Join(missing, ", "), eventbus.ErrNotDelayed)
	}
	return last
}
