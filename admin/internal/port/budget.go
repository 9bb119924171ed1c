package port

import (
	"cmp"
	"container/list"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// What a message costs, in bytes of memory, reckoned high on purpose: garbage
// that is not collected yet is memory too.
const (
	// freeCost is what each message has without asking, its answer included, so
	// that small calls never wait for big ones. An event of 12 KiB stays within it.
	freeCost = 16 << 10
	// grain is what is taken from the budget at once: asking costs a lock.
	grain = 64 << 10
	// muchGarbage is how much is worth a collection.
	muchGarbage = 1 << 20
	// elementCost is the room of a list's or set's element in the slice that
	// is made for it, before any element has come.
	elementCost = 24
	// entryCost is the same for an entry of a map.
	entryCost = 96
	// structCost is a struct of the generated code.
	structCost = 256
	// stringCost is a string's header and the least that is allocated for it.
	stringCost = 48
)

// claimShare is which share of a long string must have come before it is given
// room for all of it: an eighth.
const claimShare = 8

// bytesCost is what n bytes on the wire cost: a share of a long string is there
// twice for a moment (see exchange.bytes).
func bytesCost(n int) int64 { return int64(n) + int64(n)/claimShare }

// errNoMemory is returned when a message was not given memory in time.
var errNoMemory = errors.New("the memory for messages is in use; try again later")

// errTooCostly is returned for a message that costs more than one message may.
var errTooCostly = errors.New("the message takes up more memory than one message may, with its answer")

// budget is the memory of all messages of a server. It has two parts:
//
//	common   whoever comes first takes from it, as its message grows
//	lane     enough for one whole message; one message at a time has it
//
// A message that finds the common part used up waits for the lane and, once
// it has it, can always be read to its end. So messages that together are too
// big are read one after another, where with the common part alone each would
// hold a piece and wait for the others' for ever. Who waits is served in order; but
// every other time the lane goes to the smallest message, in MiB, and among equals to
// the one that has begun last, or one that has only come would wait for a crowd of
// clients that are slow or stuck.
//
// What was given back is garbage until it is collected, and the collector may
// let it grow to as much again as is in use. So who gets the lane collects
// first, when there is much of it: once for a message that is large itself.
//
// Who has memory and is slow to send or to take its bytes is closed when others wait:
// see pace.
type budget struct {
	mu      sync.Mutex
	common  int64 // what is left of it
	lane    int64 // how much one message may take of it
	holder  *account
	garbage int64        // how much was given back since the lane was last given
	waiting list.List    // of *request
	begun   atomic.Int64 // how many messages have
	first   bool         // the lane goes next to who has asked first, and not to the smallest
	owners  map[*account]struct{}
}

type request struct {
	account *account
	cost    int64
	lane    int64 // what it takes of the lane, where it gets that
	collect bool  // before it goes on
	granted chan struct{}
}

// newBudget returns a budget of total bytes, or more when one message of
// largest bytes costs more.
func newBudget(total int64, largest int) *budget {
	lane := bytesCost(largest) + grain
	return &budget{common: max(total-lane, 0), lane: lane, owners: map[*account]struct{}{}}
}

// account is what one message has of the budget. It is for one goroutine.
type account struct {
	budget *budget
	number int         // the messages are counted
	size   int         // how many bytes the message has at most, as far as it is known
	entry  *entry      // of the connection; nil when it is not known
	pace   *pace       // of its client
	slow   atomic.Bool // the connection was closed for its pace
	barred error       // not nil: the message is to have its free cost alone, and this is why
	credit int64       // taken and not used yet
	asked  bool        // it has asked for more than its free cost
	common int64       // taken from the common part; under the budget's lock
	lane   int64       // taken from the lane; under the budget's lock
}

// unsized is the size of what may be as large as it can: a message without a frame, or
// an answer.
const unsized = math.MaxInt

func (b *budget) open(e *entry, p *pace) *account {
	return &account{budget: b, number: int(b.begun.Add(1)), size: unsized, entry: e, pace: p, credit: freeCost}
}

// take returns once the message may cost so much more, or with an error when
// that is not so by the given time.
func (a *account) take(cost int64, until time.Time) error {
	if cost <= a.credit {
		a.credit -= cost
		return nil
	}
	if a.barred != nil {
		return a.barred
	}
	want := max(cost-a.credit, grain)
	if err := a.grow(want, until); err != nil {
		return err
	}
	a.credit += want - cost
	return nil
}

func (a *account) grow(want int64, until time.Time) error {
	b := a.budget
	a.asked = true
	b.mu.Lock()
	switch {
	case want > b.lane || b.holder == a && a.lane+want > b.lane:
		b.mu.Unlock()
		return errTooCostly
	case b.holder == a:
		a.lane += want
		b.mu.Unlock()
		return nil
	case b.waiting.Len() == 0 && b.common >= want:
		b.give(a, want)
		b.mu.Unlock()
		return nil
	}
	return a.ask(&request{account: a, cost: want, lane: want}, until)
}

// room returns once the call of the message may take up so much besides the message and
// its answer. Where that is not to be had, it has the lane: one such call at a time.
func (a *account) room(cost int64, until time.Time) error {
	if a.barred != nil {
		return a.barred
	}
	b := a.budget
	a.asked, a.size = true, unsized
	b.mu.Lock()
	switch {
	case b.holder == a:
		b.mu.Unlock()
		return nil
	case b.waiting.Len() == 0 && b.common >= cost:
		b.give(a, cost)
		b.mu.Unlock()
		return nil
	}
	return a.ask(&request{account: a, cost: cost}, until)
}

// ask has a request wait for its turn. The budget is locked, and is not any more then.
func (a *account) ask(r *request, until time.Time) error {
	r.granted = make(chan struct{})
	place := a.budget.waiting.PushBack(r)
	a.budget.grant()
	a.budget.mu.Unlock()
	return a.wait(r, place, until)
}

func (a *account) wait(r *request, place *list.Element, until time.Time) (err error) {
	if a.entry == nil {
		return a.granted(r, place, until)
	}
	a.entry.waits(func() { err = a.granted(r, place, until) })
	return err
}

// granted returns nil once a request is.
func (a *account) granted(r *request, place *list.Element, until time.Time) error {
	b := a.budget
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	tick := time.NewTicker(hurryEvery)
	defer tick.Stop()
	var gone <-chan struct{}
	if a.entry != nil {
		gone = a.entry.gone
	}
	for waits := true; waits; {
		b.hurry()
		select {
		case <-r.granted:
			if r.collect {
				runtime.GC()
			}
			return nil
		case <-tick.C:
		case <-timer.C:
			waits = false
		case <-gone:
			waits = false
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-r.granted: // at the last moment
		return nil
	default:
	}
	b.waiting.Remove(place)
	b.grant() // who stood behind may want less
	return errNoMemory
}

// hurryEvery is how often who waits looks at whether others are too slow.
const hurryEvery = 50 * time.Millisecond

// hurry closes the connections that have memory and do not keep up with the pace, and
// the one that holds up the lane. Who only pauses, and has taken little of the lane,
// gives it up: what it has counts as taken from the common part, which may owe maxDebt.
func (b *budget) hurry() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for a := range b.owners {
		if a.entry == nil || a.slow.Load() {
			continue
		}
		if a.pace.behind(mayLag, a.entry.conn) || b.holder == a && a.pace.holdsUp(a.entry.conn) {
			a.slow.Store(true)
			a.entry.close()
		}
	}
	if a := b.holder; a != nil && a.entry != nil && b.common-a.lane >= -maxDebt && a.pace.behind(mayPause, a.entry.conn) {
		b.give(a, a.lane)
		a.lane, b.holder = 0, nil
		b.grant()
	}
}

// maxDebt is how many bytes those may have together, beyond the common part, who have
// lost the lane.
const maxDebt = 4 << 20

// give gives memory of the common part. The budget is locked.
func (b *budget) give(a *account, cost int64) {
	b.common -= cost
	a.common += cost
	b.owners[a] = struct{}{}
}

// grant serves those who wait, as far as it goes. The budget is locked.
func (b *budget) grant() {
	for b.waiting.Len() > 0 {
		next := b.waiting.Front()
		switch first := next.Value.(*request); {
		case b.common >= first.cost:
			b.give(first.account, first.cost)
		case b.holder == nil:
			if b.waiting.Len() > 1 {
				if !b.first {
					next = b.smallest()
				}
				b.first = !b.first
			}
			b.giveLane(next.Value.(*request))
		default:
			return
		}
		b.waiting.Remove(next)
		close(next.Value.(*request).granted)
	}
}

// smallest is the request of the smallest message, in MiB, and among equals of the one
// that has begun last.
func (b *budget) smallest() *list.Element {
	best := b.waiting.Front()
	for e := best.Next(); e != nil; e = e.Next() {
		one, other := e.Value.(*request).account, best.Value.(*request).account
		if cmp.Or(cmp.Compare(one.size>>20, other.size>>20), cmp.Compare(other.number, one.number)) < 0 {
			best = e
		}
	}
	return best
}

func (b *budget) giveLane(r *request) {
	b.holder = r.account
	if r.account.pace != nil {
		r.account.pace.begin()
	}
	r.account.lane += r.lane
	b.owners[r.account] = struct{}{}
	if b.garbage >= muchGarbage {
		r.collect, b.garbage = true, 0
	}
}

// close gives everything back.
func (a *account) close() {
	if !a.asked {
		return
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.common += a.common
	b.garbage += a.common + a.lane
	delete(b.owners, a)
	if b.holder == a {
		b.holder = nil
	}
	a.common, a.lane, a.credit = 0, 0, 0
	b.grant()
}
