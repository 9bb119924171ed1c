package poll

import "time"

// An event that ends its process takes all that is in flight beside it along,
// and each of these is delivered once more. To tell the one from the others, an
// entry that has been delivered often (a suspect) runs while nothing else is in
// flight: then only it can be to blame.
//
// When a claim brings suspects, Accept gives them back and says so. The poller
// then waits until the process holds nothing, claims a single entry of that
// topic, and again nothing else until that has ended; so on until an entry comes
// that is no suspect. The other topics wait meanwhile: that happens only after
// several deaths, and is bounded, since anybody who may write into a queue can
// mark an entry as a suspect. After soloPatience the suspect runs beside what
// still runs then. That costs no innocent event its life: what was in flight in
// all the deaths before is a suspect as well, and all others have deliveries left
// for the few that the suspect has.

// soloPatience is how long a suspect waits for handlers to end before it runs
// beside them. It is the default timeout of a handler.
const soloPatience = 10 * time.Second

// planSolo claims one entry once nothing is in flight, or nothing has ended for
// too long. It leaves solo mode when the topic may not have another one now: the
// others need not wait for that.
func (p *Poller) planSolo() []*order {
	if p.ordered > 0 || !p.cfg.Idle() && time.Since(p.soloSince) < soloPatience {
		return nil
	}
	if p.solo.Room() <= 0 {
		p.solo = nil
		return nil
	}
	p.soloSince = time.Now()
	return []*order{p.newOrder(p.solo, 1)}
}

// afterAccept enters solo mode when suspects came, and leaves it when a claim of
// a single entry brought none. Called with p.mu held.
func (p *Poller) afterAccept(st *state, suspects, alone bool) {
	switch {
	case suspects:
		p.solo, p.soloSince = st, time.Now()
		st.ready = true
	case alone && p.solo == st:
		p.solo = nil
	}
}
