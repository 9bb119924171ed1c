package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
)

// errDeclined says that what destroys was not confirmed.
var errDeclined = errors.New("not confirmed: nothing was changed")

// consent demands a yes for what destroys: it asks on a terminal, and elsewhere
// demands --yes. loss says what would be done and lost.
func (a *app) consent(ctx context.Context, loss string) error {
	if !a.canAsk() {
		return wrongUsage("%s; say --yes if that is meant", loss)
	}
	fmt.Fprintf(a.env.Stderr, "%s. Go on? [y/N] ", show.Line(strings.ToUpper(loss[:1])+loss[1:]))
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(a.env.Stdin).ReadString('\n') // an end is no consent
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case text := <-answer:
		if text == "y" || text == "yes" {
			return nil
		}
		return errDeclined
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errDeclined, ctx.Err())
	}
}

func (a *app) canAsk() bool { return isTerminal(a.env.Stdin) && isTerminal(a.env.Stderr) }
