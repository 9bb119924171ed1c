// Package finish ends events: it collects what handlers have ended and writes
// it to Redis, many in one call.
//
// What has ended while a call was under way goes into the next one. Calls that
// follow one another closely are kept a little apart, so that under load batches
// grow; on an idle bus an event is finished at once.
//
// # What it survives
//
//   - Redis refuses or cannot be reached: the batch is kept and tried again
//     until it is written. Meanwhile events stay in flight, under a lease that
//     goes on, and Add blocks once enough is pending, so that handlers' slots
//     fill up and nothing more is claimed.
//   - Redis refuses what concerns one topic, such as over a key of another type:
//     that topic's failures are set aside and tried again at growing intervals;
//     what is simply done, and the other topics, go on. Stuck tells when so much
//     stands aside that no more should be claimed.
//   - A reply is lost: the batch is written again; receipts that are gone change
//     nothing. Entries without a receipt (at_most_once) may then leave a failure
//     twice: they are not promised more.
//   - The lease is lost: the receipts are gone, the call changes nothing.
package finish

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/link"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

const (
	// maxBatch bounds one call's entries, maxBatchBytes what it carries of them.
	maxBatch      = 500
	maxBatchBytes = 4 << 20
	// maxPending is how many ended events wait before Add blocks.
	maxPending = 4096
	// gatherFor is how long after one batch the next one is gathered, unless
	// enough is there before.
	gatherFor = time.Millisecond
	enough    = 200
)

// Store is what a Finisher needs of Redis.
type Store interface {
	Finish(ctx context.Context, k *store.Keys, consumer string, deadLimit int64, ended []store.Ended) (n, dropped int64, err error)
}

// Item is one event that has ended.
type Item struct {
	Keys      *store.Keys
	Consumer  string // who claimed it
	DeadLimit int64
	Ended     store.Ended
}

// Config is what a Finisher works with.
type Config struct {
	Store Store
	Link  *link.Link
	Log   *slog.Logger
	// Written is called after a batch was written, with its items, and with none
	// after one was set aside. Idle and Stuck tell by then what holds.
	Written func(items []Item)
}

// Finisher is safe for use by many goroutines.
type Finisher struct {
	cfg Config

	mu      sync.Mutex
	changed sync.Cond // something was added or written, or is due
	pending []Item
	spare   []Item // the buffer of the batch before, to be filled next
	writing int
	written time.Time         // when the last batch was
	gathers bool              // more is waited for
	stuck   map[string]*stuck // by stuckKey
	closed  bool
	quit    bool // Run has returned, or is about to
}

// New returns a finisher; Run makes it work.
func New(cfg Config) *Finisher {
	f := &Finisher{cfg: cfg, stuck: map[string]*stuck{}}
	f.changed.L = &f.mu
	return f
}

// Add hands over an event that has ended. It blocks while too much is pending,
// but not once Run has ended: the event then stays in flight in Redis.
func (f *Finisher) Add(item Item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.pending) >= maxPending && !f.closed && !f.quit {
		f.changed.Wait()
	}
	f.pending = append(f.pending, item)
	if !f.gathers || len(f.pending) == enough {
		f.changed.Broadcast()
	}
}

// Idle tells that all that was added is written, or stuck.
func (f *Finisher) Idle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.pending)+f.writing == 0
}

// Close makes Run return once all that was added is written.
func (f *Finisher) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.changed.Broadcast()
}

// Run writes until Close, and returns how many events were left unwritten
// because ctx ended first. Those stay in flight in Redis.
func (f *Finisher) Run(ctx context.Context) int {
	stop := context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.quit = true
		f.changed.Broadcast()
	})
	defer stop()
	for {
		f.gather(ctx)
		items := f.next(ctx)
		if len(items) == 0 {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.held()
		}
		left := f.write(ctx, items)
		clear(items) // the events go, the buffer stays
		f.mu.Lock()
		f.writing, f.spare, f.written = 0, items, time.Now()
		f.release()
		left += len(f.pending) + f.held()
		f.mu.Unlock()
		if ctx.Err() != nil && left > 0 {
			return left
		}
	}
}

// gather waits for more to write, where something was written just now.
func (f *Finisher) gather(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	until := f.written.Add(gatherFor)
	left := time.Until(until)
	if left <= 0 {
		return
	}
	defer time.AfterFunc(left, f.wake).Stop()
	f.gathers = true
	for len(f.pending) < enough && !f.closed && ctx.Err() == nil && time.Now().Before(until) {
		f.changed.Wait()
	}
	f.gathers = false
}

func (f *Finisher) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed.Broadcast()
}

// next waits for what is to be written now; nothing means the end.
func (f *Finisher) next(ctx context.Context) []Item {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		if ctx.Err() != nil && len(f.pending) == 0 {
			return nil
		}
		items := f.pending
		if len(f.stuck) > 0 {
			items = f.sort(items)
		}
		if len(items) > 0 {
			f.pending, f.spare, f.writing = f.spare[:0], nil, len(items)
			f.changed.Broadcast()
			return items
		}
		if len(f.pending) > 0 { // all of it joined what is stuck
			clear(f.pending)
			f.pending = f.pending[:0]
			f.changed.Broadcast()
		}
		if f.closed && len(f.stuck) == 0 {
			return nil
		}
		f.waitForStuck()
	}
}

// write writes all items, grouped by who holds them, and returns how many it
// could not write before ctx ended.
func (f *Finisher) write(ctx context.Context, items []Item) int {
	for len(items) > 0 {
		batch, rest := split(items)
		if !f.call(ctx, batch) {
			return len(items)
		}
		items = rest
	}
	return 0
}

// split takes the items that can share a call with the first one. Where that is
// all of them, as it mostly is, nothing is copied.
func split(items []Item) (batch, rest []Item) {
	first, bytes, n := items[0], 0, 0
	for ; n < len(items) && n < maxBatch && items[n].Keys == first.Keys && items[n].Consumer == first.Consumer && bytes <= maxBatchBytes; n++ {
		for _, p := range items[n].Ended.Parts {
			bytes += len(p.Entry)
		}
	}
	if n == len(items) {
		return items, nil
	}
	batch = append(make([]Item, 0, len(items)), items[:n]...)
	for _, it := range items[n:] {
		if it.Keys != first.Keys || it.Consumer != first.Consumer || len(batch) >= maxBatch || bytes > maxBatchBytes {
			rest = append(rest, it)
			continue
		}
		for _, p := range it.Ended.Parts {
			bytes += len(p.Entry)
		}
		batch = append(batch, it)
	}
	return batch, rest
}

// over takes what was written, or set aside, off the count of what is under way.
func (f *Finisher) over(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writing -= n
}

// call writes one batch, however often Redis cannot be reached, until ctx ends.
// What is refused over the topic is set aside.
func (f *Finisher) call(ctx context.Context, batch []Item) bool {
	ended := make([]store.Ended, len(batch))
	for i, it := range batch {
		ended[i] = it.Ended
	}
	first := batch[0]
	for {
		if f.cfg.Link.Wait(ctx) != nil {
			return false
		}
		_, dropped, err := f.cfg.Store.Finish(ctx, first.Keys, first.Consumer, first.DeadLimit, ended)
		if err == nil {
			if dropped > 0 {
				f.cfg.Log.Warn("dead failures were dropped at the topic's limit", "topic", first.Keys.Topic, "group", first.Keys.Group, "dropped", dropped, "limit", first.DeadLimit)
			}
			f.over(len(batch))
			f.cfg.Written(batch)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		if store.OfTopic(err) || store.OutOfMemory(err) {
			done := f.setAside(batch, err)
			f.over(len(batch) - len(done))
			f.cfg.Written(nil)
			return len(done) == 0 || f.call(ctx, done)
		}
		f.cfg.Link.Down(err)
	}
}
