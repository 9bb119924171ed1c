// Package lease keeps a consumer's lease, and moves back what consumers held
// whose lease has run out.
//
// # States of a consumer
//
//	            renewed every third of a lease
//	              ┌─────┐
//	enrolled ──▶ live ──┴─▶ expired ──▶ reclaimed ──▶ forgotten
//	              │            │  renewed in time: live again
//	              └─ left      └─ comes back too late: takes a new id
//
// # What it survives
//
//   - A process is killed: its lease runs out, others move what it held back,
//     each entry by the one call that removes its receipt.
//   - A process stands still for longer than its lease and comes back: its
//     entries run elsewhere; what it reports finds no receipt. It takes a new id
//     and has whatever the old one may still hold reclaimed.
//   - Redis is away for longer than a lease: then every lease has run out, and
//     nobody has died. Whoever finds an expired lease reclaims only after it has
//     itself renewed without a gap for a whole lease, and after an outage for as
//     long as the slowest may take to try again: by then all others that live
//     have renewed too.
//   - Whoever reclaims dies half way: the next one goes on with the rest.
//   - A consumer claims after it was forgotten: the holders of a queue tell who
//     may hold entries; one that is in no registry is reclaimed like a dead one.
package lease

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed4933/eventbus/eventbus/internal/link"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/eventbus/internal/told"
)

// Config is what a Keeper works with.
type Config struct {
	Store *store.Store
	Link  *link.Link
	Log   *slog.Logger
	Lease time.Duration
	// Runs tells what the process runs, as JSON, for a new consumer id.
	Runs func() []byte
	// Rescue turns an entry that a dead consumer held into what becomes of it.
	Rescue func(t *store.Topic, receipt string, entry []byte) store.Part
	// Reclaimed is called after something was moved back.
	Reclaimed func()
}

// Keeper keeps the lease of one process's consumer. It is also the one that
// tries whether Redis works while the link is down: renewing writes, so that
// it fails in every state in which moving events would.
type Keeper struct {
	cfg Config

	mu      sync.Mutex
	id      string
	renewed time.Time // last success
	steady  time.Time // first success of the row without a gap
	outage  bool      // that row follows an outage

	reclaiming sync.Mutex          // one at a time
	told       told.Errors[string] // by dead consumer
	reclaims   sync.WaitGroup
}

// NewKeeper returns a keeper with a fresh consumer id.
func NewKeeper(cfg Config) *Keeper {
	return &Keeper{cfg: cfg, id: newID()}
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// ID is the consumer id under which to claim now.
func (k *Keeper) ID() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.id
}

// Enroll takes the lease. Claim nothing before it has succeeded.
func (k *Keeper) Enroll(ctx context.Context) error {
	began := time.Now() // Redis counts the lease from then at the earliest
	if err := k.cfg.Store.Enroll(ctx, k.ID(), k.cfg.Lease, k.cfg.Runs()); err != nil {
		return err
	}
	k.success(began)
	return nil
}

// Describe writes anew what the process runs.
func (k *Keeper) Describe(ctx context.Context) error {
	return k.cfg.Store.Describe(ctx, k.ID(), k.cfg.Runs())
}

// success notes a renewal and tells whether the row of them is a lease long.
func (k *Keeper) success(now time.Time) (settled bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if gap := !k.renewed.IsZero() && now.Sub(k.renewed) > k.cfg.Lease; gap || k.steady.IsZero() {
		k.steady = now
		k.outage = k.outage || gap
	}
	k.renewed = now
	settle := k.cfg.Lease
	if k.outage {
		settle = max(settle, allBackAfter)
	}
	if now.Sub(k.steady) < settle {
		return false
	}
	k.outage = false
	return true
}

// allBackAfter is how long after an outage the last live consumer may renew: a
// pause and a try that just missed its end, and some more.
const allBackAfter = link.MaxPause + renewTimeout + 2*time.Second

func (k *Keeper) failure() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.steady, k.outage = time.Time{}, true
}

// Valid tells that the lease stands for a while yet by this process's own clock:
// whoever was halted for long must not claim before it has renewed.
func (k *Keeper) Valid() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Since(k.renewed) < k.cfg.Lease*2/3
}

// Run renews until ctx ends: that must be after the last handler has ended. It
// renews at once where somebody suspects that Redis does not serve, but at
// growing intervals where that comes again and again, whether the renewals fail
// too or only the others' calls.
func (k *Keeper) Run(ctx context.Context) {
	defer k.reclaims.Wait()
	var pause link.Pause
	var trouble time.Time // the last
	soon := false         // a try is set for the end of a pause
	timer := time.NewTimer(k.cfg.Lease / 3)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-k.cfg.Link.Probes():
			if soon {
				continue
			}
			again := time.Since(trouble) < brief
			trouble = time.Now()
			if again {
				soon = true
				timer.Reset(min(pause.Next(), k.cfg.Lease/3))
				continue
			}
			pause.Reset()
		}
		err := k.renew(ctx)
		wait := k.cfg.Lease / 3
		switch soon = err != nil; {
		case !soon:
			k.cfg.Link.Up()
		case ctx.Err() != nil:
			return
		default:
			if time.Since(trouble) > brief {
				pause.Reset()
			}
			trouble = time.Now()
			k.failure()
			k.cfg.Link.Down(err)
			wait = pause.Next()
		}
		timer.Reset(wait)
	}
}

// brief is for how long nothing must have failed before a suspicion is looked
// into at once.
const brief = time.Second

// renewTimeout is how long Redis may take to answer a renewal before the next
// one is tried.
const renewTimeout = 3 * time.Second

func (k *Keeper) renew(ctx context.Context) error {
	id := k.ID()
	began := time.Now()
	call, cancel := store.Within(ctx, min(renewTimeout, k.cfg.Lease/3))
	defer cancel()
	held, expired, err := k.cfg.Store.Renew(call, id, k.cfg.Lease)
	if err != nil {
		return err
	}
	if !held {
		return k.replace(ctx, id)
	}
	if !k.success(began) {
		return nil
	}
	k.reclaimAll(ctx, id, expired)
	return nil
}

// reclaimAll reclaims beside the renewals, which must not wait for it. What it
// does not manage is found expired again at the next renewal.
func (k *Keeper) reclaimAll(ctx context.Context, own string, expired []string) {
	if len(expired) == 0 || !k.reclaiming.TryLock() {
		return
	}
	k.reclaims.Go(func() {
		defer k.reclaiming.Unlock()
		for _, dead := range expired {
			if dead == own {
				continue
			}
			err := k.reclaim(ctx, dead)
			switch {
			case err == nil:
				k.told.Well(dead)
			case ctx.Err() == nil && k.told.First(dead, err):
				k.cfg.Log.Error("what a dead consumer held cannot all be moved back yet; trying again until it can", "consumer", dead, "err", err)
			}
		}
	})
}

// replace takes a new id after the lease of the old one was lost.
func (k *Keeper) replace(ctx context.Context, old string) error {
	k.cfg.Log.Warn("the lease was lost, events in flight will run again elsewhere; going on as a new consumer", "consumer", old)
	k.mu.Lock()
	k.id, k.steady, k.renewed = newID(), time.Time{}, time.Time{}
	k.mu.Unlock()
	if err := k.Enroll(ctx); err != nil {
		return err
	}
	if err := k.cfg.Store.Describe(ctx, old, k.cfg.Runs()); err != nil {
		return err
	}
	return k.cfg.Store.GiveUp(ctx, old)
}
