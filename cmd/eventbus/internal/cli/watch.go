package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
)

// watch shows figures until ctx ends, which is its proper end. The first reading
// must succeed, since what fails there is most often the call itself; later ones
// may fail, and go on.
func (a *app) watch(ctx context.Context, s *session, r *readings, interval time.Duration) error {
	shown, failing := false, false
	for {
		views, bad, err := r.read(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !shown:
			return err
		case err == nil:
			if err := a.figures(views, !shown); err != nil {
				return err
			}
			if !shown && r.group != "" && len(views) == 0 {
				if err := a.tellUnknownGroup(ctx, s); err != nil {
					return err
				}
			}
			shown = true
		}
		switch trouble := errors.Join(bad, err); {
		case trouble != nil && !failing:
			failing = true
			a.tell("%s; trying on", a.explain(ctx, trouble))
		case trouble == nil && failing:
			failing = false
			a.tell("figures can be read again")
		}
		if pause(ctx, interval) != nil {
			return nil
		}
	}
}

// figures shows one reading, on a terminal in the place of the one before, and
// elsewhere under it, where only the first has a head.
func (a *app) figures(views []statsView, first bool) error {
	var err error
	replace := isTerminal(a.env.Stdout) && !a.out.JSON()
	if replace {
		err = a.out.Raw([]byte("\x1b[H\x1b[2J")) // home, and clear
	}
	return a.out.FlushAfter(errors.Join(err, show.List(a.out, first || replace, statsColumns, views)))
}

// tell writes one line for people, beside the answer.
func (a *app) tell(text string, args ...any) {
	fmt.Fprintln(a.env.Stderr, "eventbus: "+show.Line(fmt.Sprintf(text, args...)))
}
