package port

import (
	"container/list"
	"errors"
	"runtime"
	"sync"
	"time"
)

// What a message costs, in bytes of memory, reckoned high on purpose: garbage
// that is not collected yet is memory too.
const (
	// freeCost is what each message has without asking, so that small calls
	// never wait for big ones.
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
// hold a piece and wait for the others' for ever. Who waits is served in order.
//
// What was given back is garbage until it is collected, and the collector may
// let it grow to as much again as is in use. So who gets the lane collects
// first, when there is much of it: once for a message that is large itself.
type budget struct {
	mu      sync.Mutex
	common  int64 // what is left of it
	lane    int64 // how much one message may take of it
	holder  *account
	garbage int64     // how much was given back since the lane was last given
	waiting list.List // of *request
}

type request struct {
	account *account
	cost    int64
	collect bool // before it goes on
	granted chan struct{}
}

// newBudget returns a budget of total bytes, or more when one message of
// largest bytes costs more.
func newBudget(total int64, largest int) *budget {
	lane := bytesCost(largest) + grain
	return &budget{common: max(total-lane, 0), lane: lane}
}

// account is what one message has of the budget. It is for one goroutine.
type account struct {
	budget *budget
	gone   <-chan struct{} // closed: wait no longer
	barred error           // not nil: the message is to have its free cost alone, and this is why
	credit int64           // taken and not used yet
	common int64           // taken from the common part
	lane   int64           // taken from the lane
}

func (b *budget) open(gone <-chan struct{}) *account {
	return &account{budget: b, gone: gone, credit: freeCost}
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
		b.common -= want
		a.common += want
		b.mu.Unlock()
		return nil
	}
	r := &request{account: a, cost: want, granted: make(chan struct{})}
	place := b.waiting.PushBack(r)
	b.grant()
	b.mu.Unlock()
	return a.wait(r, place, until)
}

func (a *account) wait(r *request, place *list.Element, until time.Time) error {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-r.granted:
		if r.collect {
			runtime.GC()
		}
		return nil
	case <-timer.C:
	case <-a.gone:
	}
	b := a.budget
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

// grant serves those who wait, in order, as far as it goes. The budget is locked.
func (b *budget) grant() {
	for b.waiting.Len() > 0 {
		first := b.waiting.Front()
		r := first.Value.(*request)
		switch {
		case b.common >= r.cost:
			b.common -= r.cost
			r.account.common += r.cost
		case b.holder == nil:
			b.holder = r.account
			r.account.lane += r.cost
			if b.garbage >= muchGarbage {
				r.collect, b.garbage = true, 0
			}
		default:
			return
		}
		b.waiting.Remove(first)
		close(r.granted)
	}
}

// close gives everything back.
func (a *account) close() {
	if a.common == 0 && a.lane == 0 {
		return // it never asked
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.common += a.common
	b.garbage += a.common + a.lane
	if b.holder == a {
		b.holder = nil
	}
	a.common, a.lane, a.credit = 0, 0, 0
	b.grant()
}
