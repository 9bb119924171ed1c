package poll

import (
	"context"
	"fmt"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// order is one claim of a round.
type order struct {
	round    *round
	st       *state
	most     int
	pop      int
	consumer string
	claim    uint64
	rung     uint64 // how often the listener had heard of the topic
	got      store.Claimed
	err      error
}

// round is a claim from every topic that is ready and has room. Its claims go out
// together.
type round struct {
	left  int  // claims that are not answered yet
	alone bool // the one entry that is asked for runs alone
}

const (
	// maxRounds is how many rounds may be under way: one is on its way through
	// Redis while what another one brought is handed to the pool.
	maxRounds = 2
	// gatherFor is how long after the last claim a busy pool is given to free more
	// slots, so that one call fetches many events where handlers are quick. Where
	// they are slow it delays a claim by no more than this.
	gatherFor = 300 * time.Microsecond
	// flowPause is how long events may gather of a topic whose claims bring some
	// each time, and flowGap how closely such claims follow one another.
	flowPause = time.Millisecond
	flowGap   = 5 * time.Millisecond
)

// atOnce is the shortest time that is not 0.
const atOnce = time.Nanosecond

// launch sends a round off where there is anything to claim. It returns after what
// time to try again though nothing has happened; 0 for never. The loop launches
// after whatever happens.
func (p *Poller) launch() (again time.Duration) {
	if p.rounds == maxRounds || p.stopped() || !p.cfg.Valid() {
		return 0
	}
	if left := gatherFor - time.Since(p.claimed); left > 0 {
		if free := p.cfg.Free() - p.ordered; free < max(p.cfg.Size/2, 1) {
			return left
		}
	}
	orders, alone := p.plan()
	if len(orders) == 0 && alone {
		return soloPatience // what ends before nudges
	}
	if len(orders) == 0 {
		return p.again
	}
	p.rounds++
	r := &round{left: len(orders), alone: alone}
	for _, o := range orders {
		o.round = r
		p.reserve(o.st, o.most)
	}
	if len(orders) == 1 && p.ordered == orders[0].most && p.cfg.Free() == p.cfg.Size {
		// Nothing runs and nothing else is to be claimed: there is nobody to be
		// served meanwhile, and the event gets to its handler the sooner.
		p.order(orders[0])
		p.answer(orders[0])
		// It may have brought nothing, and others had to stand back for it. The loop
		// comes back here, which looks before whether Redis serves.
		return atOnce
	}
	for _, o := range orders {
		go func() {
			p.order(o)
			p.answered <- o
		}()
	}
	return 0
}

// reserve keeps slots for entries that are on their way.
func (p *Poller) reserve(st *state, n int) {
	p.ordered += n
	p.orderedOf[st.Keys.Bell] += n
}

// answer acts on the reply to a claim.
func (p *Poller) answer(o *order) {
	p.claimed = time.Now()
	if o.round.left--; o.round.left == 0 {
		p.rounds--
	}
	n := len(o.got.Entries)
	p.reserve(o.st, n-o.most)
	if p.note(o) {
		if n == o.most {
			p.launch() // the next claim is on its way while this one is handed over
		}
		p.accept(o)
	}
	p.reserve(o.st, -n)
}

// plan gives every ready topic a fair part of the free room.
func (p *Poller) plan() (orders []*order, alone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.again = 0
	if p.solo != nil {
		if orders = p.planSolo(); p.solo != nil {
			return orders, true
		}
	}
	free := p.cfg.Free() - p.ordered
	if free <= 0 || len(p.topics) == 0 {
		return nil, false
	}
	p.crowded.Store(true) // until it is known, so that no release is missed
	crowded := false
	defer func() { p.crowded.Store(crowded) }()
	now := time.Now()
	ready, place := make([]*state, 0, len(p.topics)), make([]int, 0, len(p.topics))
	for i := range p.topics {
		at := (p.first + i) % len(p.topics)
		st := p.topics[at]
		if !st.ready || now.Before(st.aside) {
			continue
		}
		if blocked, _ := st.Blocked(); blocked {
			continue
		}
		if left := st.after.Sub(now); left > 0 {
			if p.again == 0 || left < p.again {
				p.again = left
			}
			continue
		}
		ready, place = append(ready, st), append(place, at)
	}
	for i, st := range ready {
		part := (free + len(ready) - i - 1) / (len(ready) - i) // what is left, shared by those who are left
		most := min(part, st.Room()-p.orderedOf[st.Keys.Bell], maxClaim)
		if most <= 0 {
			crowded = true
			continue
		}
		if st.AtMostOnce {
			most = min(most, st.pop, maxTake) // what was taken stands nowhere else
		}
		free -= most
		if len(orders) == 0 {
			p.first = place[i] + 1 // who is first now is last the next time
		}
		orders = append(orders, p.newOrder(st, most))
	}
	return orders, false
}

func (p *Poller) newOrder(st *state, most int) *order {
	p.claims++
	return &order{st: st, most: most, pop: st.pop, consumer: p.cfg.Consumer(), claim: p.claims, rung: st.rung}
}

// order carries a claim out. Its context is nobody's: a claim that was sent
// must be answered, or its entries would be in flight unknown.
func (p *Poller) order(o *order) {
	ctx := context.Background()
	if o.st.AtMostOnce {
		o.got, o.err = p.cfg.Store.Take(ctx, o.st.Keys, o.most)
		return
	}
	o.got, o.err = p.cfg.Store.Claim(ctx, o.st.Keys, o.consumer, o.claim, o.most, o.pop)
}

// note keeps what the reply to a claim tells of its topic, and returns whether it
// brought anything.
func (p *Poller) note(o *order) bool {
	st := o.st
	if o.err != nil {
		p.noteError(o)
		return false
	}
	p.mu.Lock()
	full, flows, now := len(o.got.Entries) >= o.most, false, time.Now()
	if len(o.got.Entries) > 0 {
		p.told.Well(st.Keys.Bell) // an empty queue does not show that all is well
		flows, st.fed = now.Sub(st.fed) < flowGap, now
	}
	st.pop = store.PopFor(o.got.Entries)
	// Fewer than asked, and the script has rung where more is left. But what was
	// heard while the claim was under way may have come after it: that token is gone.
	st.ready, st.after = full || flows || st.rung != o.rung, time.Time{}
	if !full && flows {
		st.after = now.Add(flowPause)
	}
	if len(o.got.Entries) == 0 && p.solo == st {
		p.solo = nil
	}
	p.mu.Unlock()
	p.cfg.Revision(st.Keys.Topic, o.got.Revision)
	return len(o.got.Entries) > 0
}

func (p *Poller) noteError(o *order) {
	st := o.st
	p.mu.Lock()
	if p.solo == st {
		p.solo = nil
	}
	if st.AtMostOnce && store.Unanswered(o.err) {
		p.cfg.Log.Error("events of an at_most_once topic may be lost: the reply that carried them did not come", "topic", st.Keys.Topic, "at_most", o.most, "err", o.err)
	}
	if !st.AtMostOnce && store.Unanswered(o.err) {
		p.lost = append(p.lost, lostClaim{keys: st.Keys, consumer: o.consumer, claim: o.claim, since: time.Now()})
	}
	if store.OfTopic(o.err) || store.OutOfMemory(o.err) {
		p.setAside(st, o.err)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	p.cfg.Failed(o.err)
}

// accept hands over what a claim brought.
func (p *Poller) accept(o *order) {
	batch := Batch{Claimed: o.got, Claim: o.claim}
	if !o.st.AtMostOnce {
		batch.Consumer = o.consumer
	}
	suspects := o.st.Accept(batch, o.round.alone)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.afterAccept(o.st, suspects, o.round.alone)
}

type wrongType struct{ key, kind string }

func (e *wrongType) Error() string {
	return fmt.Sprintf("key %s holds a %s where a list belongs; remove or rename it", e.key, e.kind)
}

func (e *wrongType) Unwrap() error { return errs.WrongType }
