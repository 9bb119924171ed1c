package consume

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/lease"
	"github.com/seed4933/eventbus/eventbus/internal/record"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// Pauses of what is put off, each lengthened by up to a half at random.
const (
	noHandlerPause = 2 * time.Second  // another process has the handler
	nobodyPause    = time.Minute      // no process has it
	shutPause      = 30 * time.Second // the handler is disabled, or at its cap
	breakerSpread  = time.Second      // after a breaker has half-opened
	leastSnooze    = 50 * time.Millisecond
	// putOffEvery keeps those apart that one process puts off for one handler.
	// However many stand for a handler that cannot run, they cost Redis no more
	// than so many moves a second.
	putOffEvery = 200 * time.Microsecond
	// maxPutOff bounds the rows that are kept in mind: foreign producers can
	// address entries to any name.
	maxPutOff = 1000
)

func (c *Consumer) jittered(d time.Duration) time.Duration {
	return d + time.Duration(c.cfg.Random(int64(d/2)+1))
}

// address is a handler of a topic.
type address struct{ topic, handler string }

// row is what comes back in a row: what was put off for a handler, by the same pause.
type row struct {
	address
	pause time.Duration
}

// putOffs knows when the last entry of each row comes back. The zero value is ready.
type putOffs struct {
	mu   sync.Mutex
	last map[row]time.Time
}

// after returns when an entry is to come back that should be put off for d: then,
// or after those of its row that come back then.
func (p *putOffs) after(r row, d time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil || len(p.last) > maxPutOff {
		p.last = map[row]time.Time{}
	}
	now := time.Now()
	at := now.Add(d)
	if last, ok := p.last[r]; ok && at.Before(last.Add(putOffEvery)) {
		at = last.Add(putOffEvery)
	}
	p.last[r] = at
	return at.Sub(now)
}

// putOff is a part that runs again after the wait, the pause and somewhat more, with
// no attempt used.
func (it *item) putOff(handler string, reason record.Reason, why string, wait, pause time.Duration) store.Part {
	c := it.consumer
	d := c.putOffs.after(row{address{it.topic.name, handler}, pause}, wait+c.jittered(pause))
	return it.part(store.Later, it.addressed(handler), reason, why, d)
}

// noHandler is a part for a handler that this process does not have. Where others
// have it, one of them takes the entry soon.
func (it *item) noHandler(handler string) store.Part {
	pause := noHandlerPause
	if !it.consumer.fleet.mayHave(address{it.topic.name, handler}) {
		pause = nobodyPause
	}
	return it.putOff(handler, record.NoHandler, "not run: the process that took it has no such handler", 0, pause)
}

// freshFor is how long what was read of other processes counts. It is read anew
// only while entries come for handlers that this one has not.
const freshFor = 5 * time.Second

// fleet is what handlers the processes of the group have.
type fleet struct {
	asked atomic.Bool // something has come for a handler that is not here
	known atomic.Pointer[handlersOfAll]
}

type handlersOfAll struct {
	read time.Time
	has  map[address]bool
}

// mayHave tells whether some process has the handler; also where that is not known,
// since a process that has it may just have started.
func (f *fleet) mayHave(a address) bool {
	known := f.known.Load()
	if known == nil || time.Since(known.read) > freshFor {
		f.asked.Store(true)
		return true
	}
	return known.has[a]
}

// lookAtFleet reads what other processes have, where somebody has asked.
func (c *Consumer) lookAtFleet(ctx context.Context) error {
	if !c.fleet.asked.Load() {
		return nil
	}
	known := handlersOfAll{read: time.Now(), has: map[address]bool{}}
	consumers, err := c.cfg.Store.Consumers(ctx)
	if err != nil {
		return err
	}
	for _, other := range consumers {
		var runs lease.Runs
		if json.Unmarshal(other.Runs, &runs) != nil || runs.Group != c.cfg.Group {
			continue
		}
		for topic, handlers := range runs.Topics {
			for _, h := range handlers {
				known.has[address{topic, h.ID}] = true
			}
		}
	}
	c.fleet.known.Store(&known)
	c.fleet.asked.Store(false)
	return nil
}
