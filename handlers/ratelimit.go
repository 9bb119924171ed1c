package handlers

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed4933/eventbus/eventbus"
)

const (
	// maxLimitWait is how long a run may hold its place in the pool for a token.
	maxLimitWait = time.Second
	// maxLimitSnooze bounds how far ahead events are put off, so that they do not
	// sleep on when the limit is raised or another process has tokens to spare.
	maxLimitSnooze = time.Minute
)

// RateLimit returns a Middleware that lets through perSecond runs a second in
// this process, and bursts of up to burst. All handlers that are given the same
// Middleware share its tokens: in Config.Middleware it limits the bus, in
// HandleConfig.Middleware one handler.
//
// A run waits for its token where that takes at most a second and at most half
// of the time that is left until its deadline. Otherwise the event is put off:
// an eventbus.Snooze together with ErrRateLimited, so that neither a place in the
// pool is held nor an attempt used up. Events that are put off are spaced out by
// the rate, up to a minute ahead, so that each finds a token when it comes back.
//
// A perSecond that is not above zero means no limit. A burst under 1 means one
// second's worth, and at least 1.
func RateLimit(perSecond float64, burst int) eventbus.Middleware {
	if !(perSecond > 0) || math.IsInf(perSecond, 1) { // NaN is no limit either
		return func(next eventbus.EventHandle) eventbus.EventHandle { return next }
	}
	l := newLimit(perSecond, burst)
	return func(next eventbus.EventHandle) eventbus.EventHandle {
		return eventbus.HandleFunc(func(ctx context.Context, event *eventbus.Event) error {
			if err := l.wait(ctx); err != nil {
				return err
			}
			return next.Handle(ctx, event)
		})
	}
}

type limit struct {
	perSecond float64

	mu     sync.Mutex // so that looking at the tokens and taking one is one step
	tokens *rate.Limiter
	next   time.Time // when the next event that is put off shall come back
}

func newLimit(perSecond float64, burst int) *limit {
	if burst < 1 {
		burst = int(min(max(perSecond, 1), math.MaxInt32))
	}
	return &limit{tokens: rate.NewLimiter(rate.Limit(perSecond), burst), perSecond: perSecond}
}

// wait returns when the run may go on, or an error that puts the event off.
func (l *limit) wait(ctx context.Context) error {
	patience := maxLimitWait
	if deadline, ok := ctx.Deadline(); ok {
		patience = max(min(patience, time.Until(deadline)/2), 0)
	}
	wait, snooze := l.take(time.Now(), patience)
	if snooze > 0 {
		return fmt.Errorf("%w: %w", ErrRateLimited, eventbus.Snooze(snooze))
	}
	if wait == 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		// The bus stops. The handler has not run, so this is not an attempt.
		return fmt.Errorf("%w: %w: %w", ErrRateLimited, eventbus.Snooze(0), context.Cause(ctx))
	}
}

// take takes a token that comes within patience and returns the time until
// then, or takes none and returns for how long to put the event off.
func (l *limit) take(now time.Time, patience time.Duration) (wait, snooze time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wait = l.seconds(1 - l.tokens.TokensAt(now))
	if wait <= patience {
		return l.tokens.ReserveN(now, 1).DelayFrom(now), 0
	}
	back := now.Add(wait)
	if l.next.After(back) {
		back = l.next
	}
	snooze = min(back.Sub(now), max(wait, maxLimitSnooze))
	l.next = now.Add(snooze).Add(l.seconds(1))
	return 0, snooze
}

// seconds returns how long n tokens take to come; 0 when they are there.
func (l *limit) seconds(n float64) time.Duration {
	const longest = 24 * time.Hour
	return time.Duration(min(max(n/l.perSecond, 0), longest.Seconds()) * float64(time.Second))
}
