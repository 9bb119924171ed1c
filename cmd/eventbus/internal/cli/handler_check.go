package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed4933/eventbus/eventbus"
)

// verbReset is the one of checkHandler that sets nothing.
const verbReset = "reset"

func forceFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "force", false, "also when no process runs the handler and nothing is stored for it")
}

// checkHandler refuses a handler that nothing knows, so that a mistyped name is
// found: what is set for it would be kept, and change nothing. Its error says what was
// asked for, of which verb is the first word.
func checkHandler(ctx context.Context, s *session, verb, topic, handler string, force bool) error {
	if force {
		return nil
	}
	_, err := s.api.GetHandler(ctx, topic, s.group, handler)
	if err == nil {
		return nil
	}
	if text, ok := strings.CutPrefix(err.Error(), "read handler "); ok {
		err = &steppedError{verb + " handler " + text, err}
	}
	if errors.Is(err, eventbus.ErrHandlerNotFound) && verb == verbReset {
		return fmt.Errorf("%w; nothing is set for it that could be reset", err)
	}
	if errors.Is(err, eventbus.ErrHandlerNotFound) {
		return fmt.Errorf("%w; --force sets one that no process runs yet", err)
	}
	return err
}
