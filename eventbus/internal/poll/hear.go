package poll

import (
	"context"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/link"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// hear acts on what the listener has popped.
func (p *Poller) hear(ctx context.Context, h heard) {
	if h.err != nil {
		p.unheard(ctx, h)
		return
	}
	p.mu.Lock()
	if st := p.byKey[h.key]; st != nil {
		st.ready = true
		st.rung++
	}
	p.mu.Unlock()
	st := h.strict()
	if st == nil {
		return
	}
	// The topic as it was when it was asked for: what is popped is handled, also
	// when the topic was switched off in that moment.
	batch := Batch{Claimed: store.Claimed{Entries: [][]byte{h.element}}}
	if h.key == st.Keys.Returns && st.Keys.Shared() {
		batch.Returned = 1
	}
	suspects := st.Accept(batch, false)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.afterAccept(st, suspects, false)
}

// deafAfter is after how many errors in a row the log says so.
const deafAfter = 3

// unheard acts on an error of the listener. That may be one of its connection or
// its command alone, so that the topics are looked at without it, once a pause.
func (p *Poller) unheard(ctx context.Context, h heard) {
	if store.OfTopic(h.err) && p.setAsideCulprits(ctx, h.asked) {
		return
	}
	p.cfg.Link.Suspect()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range h.asked {
		k.st.ready = true
	}
	if h.row == deafAfter {
		p.cfg.Log.Error("waiting for events fails again and again; looking for them at intervals instead", "at most", link.MaxPause, "err", h.err)
	}
}

// setAsideCulprits finds the topics whose keys made a BLPOP over many fail, and
// tells whether there are any.
func (p *Poller) setAsideCulprits(ctx context.Context, asked []key) (found bool) {
	for _, k := range asked {
		kind, err := p.cfg.Store.TypeOf(ctx, k.name)
		if err == nil && (kind == "list" || kind == "none") {
			continue
		}
		if err == nil {
			err = &wrongType{key: k.name, kind: kind}
		} else if !store.OfTopic(err) {
			p.cfg.Failed(err)
			return found
		}
		found = true
		p.mu.Lock()
		if st := p.byKey[k.name]; st != nil {
			p.setAside(st, err)
		}
		p.mu.Unlock()
	}
	return found
}

// setAside leaves a topic alone for a while and says why, once.
func (p *Poller) setAside(st *state, err error) {
	st.aside = time.Now().Add(asideFor)
	st.ready = true // look by itself then
	if p.told.First(st.Keys.Bell, err) {
		p.cfg.Log.Error("a topic cannot be polled; it is set aside and looked at again", "topic", st.Keys.Topic, "group", st.Keys.Group, "every", asideFor, "err", err)
	}
}
