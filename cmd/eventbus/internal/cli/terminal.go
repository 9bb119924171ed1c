package cli

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/term"
)

// isTerminal tells whether somebody sits at the other end of a stream.
func isTerminal(stream any) bool {
	f, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// progress is one line on a terminal that tells how far long work has come. A
// nil progress does nothing.
type progress struct {
	w    io.Writer
	stop context.CancelFunc
	wait sync.WaitGroup
}

// progressEvery is how often the line is written.
const progressEvery = 250 * time.Millisecond

// progress is nil unless somebody looks.
func (a *app) progress() *progress {
	if !isTerminal(a.env.Stderr) {
		return nil
	}
	return &progress{w: a.env.Stderr}
}

// every has the line written again and again until end, with what text returns.
func (p *progress) every(ctx context.Context, text func(ctx context.Context) string) {
	if p == nil {
		return
	}
	ctx, p.stop = context.WithCancel(ctx)
	p.wait.Go(func() {
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if t := text(ctx); t != "" {
				fmt.Fprintf(p.w, "\r\x1b[K%s", t)
			}
		}
	})
}

// end takes the line away.
func (p *progress) end() {
	if p == nil || p.stop == nil {
		return
	}
	p.stop()
	p.wait.Wait()
	fmt.Fprint(p.w, "\r\x1b[K")
}
