package consume

import (
	"context"

	"github.com/seed4933/eventbus/eventbus/internal/dispatch"
	"github.com/seed4933/eventbus/eventbus/internal/finish"
	"github.com/seed4933/eventbus/eventbus/internal/poll"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/eventbus/internal/wire"
)

// Deliveries that ended with the death of their process: from suspectAt on an
// entry runs alone, at maxDeliveries it is dead.
const (
	suspectAt     = 3
	maxDeliveries = 5
)

// item is one accepted entry on its way through the pool.
type item struct {
	consumer *Consumer
	topic    *served
	cur      *current
	holder   string // the consumer id that claimed it
	receipt  string // "" for at_most_once
	raw      []byte
	entry    wire.Entry
	handlers []*handler

	job dispatch.Job // its work is the item itself
}

// accept takes what a claim brought: it decodes the entries and gives them to
// the pool. It returns whether there was a suspect among them.
func (c *Consumer) accept(t *served, cur *current, b poll.Batch, alone bool) (suspects bool) {
	c.alive()
	if now := t.current.Load(); now != nil {
		cur = now // the claim may have told of other settings than those that it was made under
	}
	receipts, jobs := b.Receipts(), make([]*dispatch.Job, 0, len(b.Entries))
	for i, raw := range b.Entries {
		it := &item{consumer: c, topic: t, cur: cur, holder: b.Consumer, receipt: receipts[i], raw: raw}
		it.entry = decode(cur.topic, i < b.Returned, raw, c.cfg.NewID)
		if it.entry.Deliveries >= suspectAt {
			suspects = true
			if !alone {
				it.end([]store.Part{{Kind: store.BackFirst, Entry: it.backAsItWas()}})
				continue
			}
		}
		if it.address() {
			jobs = append(jobs, &it.job)
		}
	}
	c.pool.Submit(jobs...)
	return suspects
}

// decode reads an entry. On a raw topic what producers push is a payload,
// whatever it looks like; what came back is always an envelope.
func decode(t *store.Topic, cameBack bool, raw []byte, newID func() string) wire.Entry {
	var e wire.Entry
	if t.Wire == store.WireRaw && !cameBack {
		e = wire.Bare(raw, newID)
	} else {
		e = wire.Decode(raw, newID)
	}
	if e.Type == "" {
		e.Type = t.Name
	}
	return e
}

// address makes the job of the handlers that the entry is for. Where this process
// has none of them it puts the entry off and returns false.
func (it *item) address() bool {
	it.job = dispatch.Job{Topic: it.topic.name, Handlers: it.topic.states, Work: it}
	it.handlers = it.topic.handlers
	if id := it.entry.Handler; id != "" {
		h := it.topic.handler(id)
		if h == nil {
			it.end([]store.Part{it.noHandler(id)})
			return false
		}
		it.job.Handlers, it.handlers = h.aloneState, h.alone
	}
	return true
}

// Run calls the i-th of the entry's handlers.
func (it *item) Run(ctx context.Context, i int) error { return it.handlers[i].Run(ctx, &it.entry) }

// end hands over what is left of the entry to be written.
func (it *item) end(parts []store.Part) {
	it.consumer.finisher.Add(finish.Item{
		Keys: &it.cur.keys, Consumer: it.holder, DeadLimit: it.cur.topic.DeadLimit,
		Ended: store.Ended{Receipt: it.receipt, Parts: parts},
	})
}

// restore is what backAsItWas is, for an entry that was not accepted.
func (c *Consumer) restore(k *store.Keys, receipt string, raw []byte) []byte {
	t := c.topics[k.Topic]
	if cur := t.current.Load(); cur != nil && cur.keys.Shared() {
		it := &item{cur: cur, raw: raw, entry: decode(cur.topic, store.CameBack(receipt), raw, c.cfg.NewID)}
		return it.backAsItWas()
	}
	return raw
}

// backAsItWas is the entry as it goes back to the queue unchanged. Where others
// read the queue, what comes back goes elsewhere, in an envelope.
func (it *item) backAsItWas() []byte {
	if it.cur.keys.Shared() && it.entry.Bare {
		return wire.Append(nil, &it.entry)
	}
	return it.raw
}
