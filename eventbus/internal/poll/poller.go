// Package poll takes events out of the queues, no more than can be run.
//
// # How it waits and how it takes
//
// Two goroutines share the work. The listener blocks in one BLPOP on the bells
// of all topics of which nothing is known (and on the lists themselves of
// at_most_once topics), and on a key of the consumer's own by which it is woken.
// The loop claims, without blocking, from the topics that are known to have
// something, and sees to the listener when there is nothing to claim, and every few
// milliseconds while there is:
//
//	        token popped           claimed fewer than asked, and none was heard meanwhile
//	quiet ───────────────▶ ready ─────────────────────────────────────────────────────▶ quiet
//	  ▲    sweep rang        │ ▲
//	  │                      │ └─ a slot of the pool was freed, events flow in
//	  └──────────────────────┘
//	     settings changed
//
// Under load the listener therefore costs little, and on an idle bus an event is
// claimed two round trips after it was sent: there the loop claims itself, and waits
// for the reply. A round of claims gives every ready topic its part of the pool's
// free room, starting with another topic each time; claims of one round go out
// together, so that a long round trip is paid once a round and not once a topic. Up
// to two rounds are under way, so that one is on its way through Redis while what
// another one brought is handed over; slots are kept for both. Replies of two claims
// of one topic may come in either order, which only events see that may run side by
// side: where a topic may run one at a time, one is asked for at a time.
//
// Where events come one by one but closely, as from many senders, the loop claims
// from the topic once a flowPause without asking the listener, until a claim brings
// nothing: each token would else cost two round trips, for few events.
//
// # What it survives
//
//   - A consumer that dies between popping a token and claiming: every consumer
//     looks over its queues each second and rings for those that have entries and
//     no token (Sweep). The same finds what foreign producers push.
//   - A claim whose reply is lost: the entries are in flight, and nobody knows.
//     The claim's number is kept, and the consumer's in-flight hash is searched
//     for it until a minute has passed without a find.
//   - A stop while the listener blocks: it is woken through its own key. A BLPOP
//     is never given up by cancelling: it could pop into a connection that nobody
//     reads.
//   - A key of another type under a bell: that topic is set aside and looked at
//     again later; the others go on.
//   - A topic whose events kill the process: see solo.go.
package poll

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/link"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/eventbus/internal/told"
)

const (
	// blockTimeout is how long one BLPOP waits.
	blockTimeout = 30 * time.Second
	// asideFor is how long a topic with an error of its own is left alone.
	asideFor = 5 * time.Second
	// leaseLook is how often a poller that may not claim looks whether its lease
	// was renewed.
	leaseLook = 200 * time.Millisecond
	// maxClaim bounds the entries of one claim.
	maxClaim = 500
	// maxTake bounds the entries of an at_most_once topic that one lost reply can
	// take along.
	maxTake = 32
)

// Topic is what a poller knows of one topic that its process serves.
type Topic struct {
	Keys       *store.Keys
	AtMostOnce bool
	// Room tells how many events of the topic may start now.
	Room func() int
	// Blocked tells whether, and for how long at least, no handler of the topic
	// can run. Its events are then left where they are.
	Blocked func() (bool, time.Duration)
	// Accept takes what was claimed. alone says that nothing else is in flight
	// in this process. It returns whether it gave back entries that must run so.
	Accept func(b Batch, alone bool) (suspects bool)
}

// Batch is what one claim brought.
type Batch struct {
	store.Claimed
	Consumer string // "" when the entries were taken for good
	Claim    uint64
}

// Receipts are the receipts of the entries, each "" when there is none.
func (b *Batch) Receipts() []string {
	if b.Consumer == "" {
		return make([]string, len(b.Entries))
	}
	return b.Claimed.Receipts(b.Claim)
}

// Config is what a Poller works with.
type Config struct {
	Store *store.Store
	Link  *link.Link
	Log   *slog.Logger
	// Consumer is the id under which to claim now; Valid whether its lease stands.
	Consumer func() string
	Valid    func() bool
	// Size is the number of the pool's slots, Free that of those that are free
	// now; Idle tells whether nothing is in flight in this process.
	Size int
	Free func() int
	Idle func() bool
	// Restore is an entry, which was claimed under the receipt and not handled, as
	// it goes back.
	Restore func(k *store.Keys, receipt string, entry []byte) []byte
	// Failed is called when a call showed that Redis does not serve.
	Failed func(err error)
	// Revision is called with the topic and the revision that a claim returned,
	// before its entries are accepted.
	Revision func(topic string, revision int64)
}

// Poller polls for one process.
type Poller struct {
	cfg Config

	mu         sync.Mutex
	topics     []*state
	byKey      map[string]*state
	solo       *state
	soloSince  time.Time           // when a suspect was last given back, or run
	told       told.Errors[string] // by the topic's bell
	lost       []lostClaim
	claims     uint64
	first      int // where the next round begins
	heardFirst int // where the next keys of the listener begin

	// the loop's own
	claimed   time.Time      // when the last claim was answered
	rounds    int            // under way
	again     time.Duration  // after what time a topic may be claimed from that must wait now; 0 for none
	ordered   int            // entries that were asked for and are not in the pool yet
	orderedOf map[string]int // the same by the topic's bell
	listened  time.Time      // when the loop last saw to the listener

	crowded  atomic.Bool // a topic is ready and has no room
	answered chan *order
	nudge    chan struct{} // something has changed: look again
	stopping chan struct{}
	stop     sync.Once
	ears     *listeners
}

// state is a topic and what the loop knows of it. Guarded by Poller.mu.
type state struct {
	*Topic
	ready bool
	rung  uint64    // how often the listener has heard of it
	pop   int       // how many entries a claim pops first, by the size of the last ones
	aside time.Time // left alone until then
	hot   time.Time // foreign producers push into it; looked at often until then
	fed   time.Time // when a claim last brought anything
	after time.Time // not claimed from before: more is to come together
}

// New returns a poller without topics.
func New(cfg Config) *Poller {
	return &Poller{cfg: cfg, byKey: map[string]*state{}, orderedOf: map[string]int{}, answered: make(chan *order), nudge: make(chan struct{}, 1), stopping: make(chan struct{})}
}

// Serve replaces the topics that are polled: those that are enabled and have
// handlers here.
func (p *Poller) Serve(topics []*Topic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	states := make([]*state, len(topics))
	byKey := map[string]*state{}
	for i, t := range topics {
		st := &state{Topic: t, ready: true, pop: store.PopFor(nil)}
		if old := p.byKey[t.Keys.Bell]; old != nil {
			st.hot = old.hot
		}
		states[i] = st
		byKey[t.Keys.Bell] = st
		if t.AtMostOnce {
			byKey[t.Keys.Queue] = st
			byKey[t.Keys.Returns] = st
		}
	}
	p.topics, p.byKey, p.solo = states, byKey, nil
	p.Nudge()
}

// Released tells that a slot was freed, and how many are free now. The loop looks
// again where that may be worth a claim: at the first one, from which on it waits
// for more, at half of them, which are worth a claim, at all, or where a topic waits
// for room of its own.
func (p *Poller) Released(free int) {
	if free == 1 || free == p.cfg.Size/2 || free == p.cfg.Size || p.crowded.Load() {
		p.Nudge()
	}
}

// Nudge makes the loop look again: settings have changed, something was finished.
func (p *Poller) Nudge() {
	select {
	case p.nudge <- struct{}{}:
	default:
	}
}

// Stop makes Run return, and claims nothing any more once it has returned.
func (p *Poller) Stop() { p.stop.Do(func() { close(p.stopping) }) }

func (p *Poller) stopped() bool {
	select {
	case <-p.stopping:
		return true
	default:
		return false
	}
}

// Run polls until Stop. ctx ends it too, without waiting for what the listener
// may just be popping: for the hard end of a stop.
func (p *Poller) Run(ctx context.Context) {
	p.ears = newListeners(p.cfg.Store)
	defer p.ears.close(ctx, p.hear)
	defer p.settleAll()
	for !p.stopped() && ctx.Err() == nil {
		if p.link(ctx) != nil || !p.wait(ctx, p.launch()) {
			return
		}
	}
}

// settleAll waits for the claims that are under way: what they bring is in flight.
func (p *Poller) settleAll() {
	for p.rounds > 0 {
		p.answer(<-p.answered)
	}
}

// link waits until Redis serves, or the poller stops. What is answered meanwhile
// is taken: errors that were there before the link worked again would each be taken
// for a failure of their own afterwards, one outage for every claim.
func (p *Poller) link(ctx context.Context) error {
	if _, err := p.cfg.Link.Err(); err == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	up := make(chan error, 1)
	go func() { up <- p.cfg.Link.Wait(ctx) }()
	for {
		select {
		case o := <-p.answered:
			p.answer(o)
		case err := <-up:
			return err
		case <-p.stopping:
			cancel()
			return <-up
		}
	}
}

// listenEvery is how often the loop sees to the listener while it claims.
const listenEvery = 5 * time.Millisecond

// wait waits until there is something to do, for no longer than most where that is
// not 0; false when the poller stops.
func (p *Poller) wait(ctx context.Context, most time.Duration) bool {
	delay := listenEvery - time.Since(p.listened)
	if p.rounds == 0 && most == 0 || delay <= 0 {
		p.listened = time.Now()
		var keys []key
		keys, delay = p.wanted()
		if pause := p.ears.listen(ctx, keys, p.cfg.Consumer()); pause > 0 {
			delay = min(delay, pause)
		}
	}
	if most > 0 {
		delay = min(delay, most)
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case o := <-p.answered:
		p.answer(o)
	case heard := <-p.ears.heard:
		p.hear(ctx, heard)
	case <-p.nudge:
	case <-timer.C:
	case <-p.stopping:
		return false
	case <-ctx.Done():
		return false
	}
	return true
}

// wanted lists the keys to listen on, in an order that begins elsewhere each
// time, and the time after which to look again anyway.
func (p *Poller) wanted() (keys []key, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delay = blockTimeout
	if !p.cfg.Valid() {
		delay = leaseLook
	}
	now := time.Now()
	p.heardFirst++ // a count of its own: that of the claims must not move with it
	for i := range p.topics {
		st := p.topics[(p.heardFirst+i)%len(p.topics)]
		if left := st.aside.Sub(now); left > 0 {
			delay = min(delay, left)
			continue
		}
		if blocked, left := st.Blocked(); blocked {
			delay = min(delay, max(left, time.Millisecond))
			continue
		}
		switch {
		case st.ready:
		case !st.AtMostOnce:
			keys = append(keys, key{st: st, name: st.Keys.Bell})
		case st.Room() <= 0:
			p.crowded.Store(true)
		default:
			keys = append(keys, key{st: st, name: st.Keys.Queue, strict: true})
			if st.Keys.Shared() {
				keys = append(keys, key{st: st, name: st.Keys.Returns, strict: true})
			}
		}
	}
	return keys, delay
}
