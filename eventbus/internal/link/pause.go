package link

import (
	"context"
	"math/rand/v2"
	"time"
)

// Bounds of the pauses between tries while Redis refuses.
const (
	FirstPause = 100 * time.Millisecond
	MaxPause   = 5 * time.Second
)

// Pause is a row of growing pauses: from FirstPause, doubling up to MaxPause,
// each shortened by up to a half at random, so that many processes do not try
// in step. The zero value is ready.
type Pause struct{ last time.Duration }

// Next returns the next pause.
func (p *Pause) Next() time.Duration {
	p.last = min(max(2*p.last, FirstPause), MaxPause)
	return p.last - rand.N(p.last/2)
}

// Reset starts the row anew.
func (p *Pause) Reset() { p.last = 0 }

// Wait waits for the next pause; false when ctx ended first.
func (p *Pause) Wait(ctx context.Context) bool {
	timer := time.NewTimer(p.Next())
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
