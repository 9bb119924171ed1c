package handlers

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/seed4933/eventbus/eventbus"
)

// DefaultDedupWindow is how long Deduplicate remembers an event by default.
const DefaultDedupWindow = 24 * time.Hour

const (
	dedupGrace  = 5 * time.Second // the claim outlives the run's deadline by it
	dedupSnooze = time.Second     // until the next look at an event in progress
	dedupSettle = 2 * time.Second // how long settling a claim may take
)

// DedupState is what a DedupStore knows of a key.
type DedupState int

// States of a key.
const (
	// DedupClaimed: the key was free, and is now claimed by the caller.
	DedupClaimed DedupState = iota + 1
	// DedupInProgress: somebody else's claim holds.
	DedupInProgress
	// DedupDone: the key is marked done.
	DedupDone
)

// DedupStore remembers which events were handled. Its methods are called from
// many goroutines, and each is one atomic step among all users of the store.
//
//	free ── Claim ──> claimed ── Done ──> done
//	  ^                  │                 │
//	  ├─ Release, lease ─┘                 │
//	  └─ window ───────────────────────────┘
type DedupStore interface {
	// Claim claims the key for the token when it is free, until the lease ends
	// or the claim is settled. A second Claim with the token that holds the key
	// is DedupClaimed again.
	Claim(ctx context.Context, key, token string, lease time.Duration) (DedupState, error)
	// Done marks the key done for the window, whoever may hold it by now.
	Done(ctx context.Context, key string, window time.Duration) error
	// Release frees the key if the token still holds it.
	Release(ctx context.Context, key, token string) error
}

// Deduplicate returns a Middleware that skips an event which the handler has
// already handled with success within the window: the handler is not called,
// and the event counts as handled. Events are told apart by group, topic,
// handler and event id. An event is marked only after success, so that a failure
// is retried as always.
//
// While a run is under way its event is claimed, and a second run of it is put
// off: an eventbus.Snooze of a second together with ErrInProgress. When a process
// dies, its claims end five seconds after the deadline of the run. A run that
// goes on longer than that, or one whose success could not be marked because the
// store had failed, may be followed by another: this makes a second run rare,
// and an effect that must never come twice still needs its own guard.
//
// An error of the store before the run is a failed attempt; the handler has not
// run. A window that is not above zero means DefaultDedupWindow (24 h).
// Deduplicate panics when store is nil.
func Deduplicate(store DedupStore, window time.Duration) eventbus.Middleware {
	if store == nil {
		panic("handlers: Deduplicate called with a nil store")
	}
	if window <= 0 {
		window = DefaultDedupWindow
	}
	d := &dedup{store: store, window: window}
	return func(next eventbus.EventHandle) eventbus.EventHandle {
		return eventbus.HandleFunc(func(ctx context.Context, event *eventbus.Event) error {
			return d.handle(ctx, event, next)
		})
	}
}

type dedup struct {
	store  DedupStore
	window time.Duration
}

func (d *dedup) handle(ctx context.Context, event *eventbus.Event, next eventbus.EventHandle) error {
	// Names hold no "|", and the id comes last: no two events share a key.
	key := event.Group + "|" + event.Topic + "|" + event.Handler + "|" + event.ID
	token := rand.Text()
	state, err := d.store.Claim(ctx, key, token, claimLease(ctx))
	switch {
	case err != nil:
		return fmt.Errorf("claim event %s for deduplication: %w", event.ID, err)
	case state == DedupDone:
		return nil
	case state != DedupClaimed:
		return fmt.Errorf("%w: %w", ErrInProgress, eventbus.Snooze(dedupSnooze))
	}
	handled := false
	// Deferred, so that a panic frees the claim too. The errors are dropped: what
	// the handler did stands, and reporting its success as a failure would bring
	// the second run about. A claim that is left behind ends with its lease.
	defer func() {
		// The run's context may have ended; its claim is settled all the same.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dedupSettle)
		defer cancel()
		if handled {
			_ = d.store.Done(ctx, key, d.window)
		} else {
			_ = d.store.Release(ctx, key, token)
		}
	}()
	err = next.Handle(ctx, event)
	handled = err == nil
	return err
}

// claimLease returns for how long a run may be under way.
func claimLease(ctx context.Context) time.Duration {
	left := eventbus.DefaultTimeout
	if deadline, ok := ctx.Deadline(); ok {
		left = max(time.Until(deadline), 0)
	}
	return left + dedupGrace
}
