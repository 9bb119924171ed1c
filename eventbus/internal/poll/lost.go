package poll

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// lostClaim is a claim whose reply did not come: it may have been executed, or
// may be yet, when the server or the network wakes up.
type lostClaim struct {
	keys     *store.Keys
	consumer string
	claim    uint64
	since    time.Time
}

// searchFor is for how long after its loss, or the last find, a lost claim is
// searched for. What comes to light later still is reclaimed with the lease.
const searchFor = time.Minute

// SearchLost looks in the consumer's in-flight hashes for entries of lost
// claims, and puts them back as if they had not been claimed: those of the last
// claim first, so that the oldest are handed out next. Without a lost claim it
// sends nothing.
func (p *Poller) SearchLost(ctx context.Context) error {
	p.mu.Lock()
	searched := append([]lostClaim(nil), p.lost...)
	p.mu.Unlock()
	slices.SortStableFunc(searched, func(a, b lostClaim) int { return cmp.Compare(b.claim, a.claim) })
	for _, lost := range searched {
		found, err := p.putBack(ctx, lost)
		if err != nil && !store.OfTopic(err) {
			return err
		}
		p.mu.Lock()
		for i := range p.lost {
			if p.lost[i].claim != lost.claim {
				continue
			}
			if found > 0 {
				p.lost[i].since = time.Now()
			} else if time.Since(lost.since) > searchFor {
				p.lost = append(p.lost[:i], p.lost[i+1:]...)
			}
			break
		}
		p.mu.Unlock()
	}
	return nil
}

func (p *Poller) putBack(ctx context.Context, lost lostClaim) (found int, err error) {
	receipts, err := p.cfg.Store.Held(ctx, lost.keys, lost.consumer)
	if err != nil {
		return 0, err
	}
	mine := slices.DeleteFunc(receipts, func(r string) bool {
		claim, _ := store.Order(r)
		return claim != lost.claim
	})
	err = p.cfg.Store.ReadHeld(ctx, lost.keys, lost.consumer, mine, func(receipts []string, entries [][]byte) error {
		ended := make([]store.Ended, len(receipts))
		for i, r := range receipts {
			ended[i] = store.Ended{Receipt: r, Parts: []store.Part{{Kind: store.BackFirst, Entry: p.cfg.Restore(lost.keys, r, entries[i])}}}
		}
		n, err := p.cfg.Store.PutBack(ctx, lost.keys, lost.consumer, 0, ended)
		found += int(n)
		return err
	})
	if found > 0 {
		p.cfg.Log.Warn("events of a claim whose reply was lost were put back", "topic", lost.keys.Topic, "events", found)
	}
	return found, err
}

// Lost tells that there are claims whose reply was lost and that are still
// searched for.
func (p *Poller) Lost() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lost) > 0
}
