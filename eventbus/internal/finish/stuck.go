package finish

import (
	"slices"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/link"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// maxStuck is how many ended events of a topic may stand aside before no more of
// them should be claimed.
const maxStuck = 500

// stuck is what Redis refuses to write of one topic and group. It is tried again
// as a whole; what fails meanwhile joins it.
type stuck struct {
	items []Item
	pause link.Pause
	due   time.Time
}

// stuckKey tells topics and groups apart, also when their settings were read
// anew.
func stuckKey(k *store.Keys) string { return k.Failures }

// Stuck tells that too many ended events of a topic cannot be written.
func (f *Finisher) Stuck(k *store.Keys) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.stuck[stuckKey(k)]
	return s != nil && len(s.items) >= maxStuck
}

// simple tells that nothing is left of an event but to remove its receipt.
func simple(it Item) bool { return len(it.Ended.Parts) == 0 }

// setAside keeps a refused batch for later, and says so when it is the first of
// its topic. Where only some of it may be what was refused it returns the rest.
func (f *Finisher) setAside(batch []Item, err error) (done []Item) {
	k := batch[0].Keys
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.stuck[stuckKey(k)]
	if s == nil {
		s = &stuck{}
		f.stuck[stuckKey(k)] = s
		f.cfg.Log.Error("ended events cannot be written; they stay in flight and are tried again", "topic", k.Topic, "group", k.Group, "events", len(batch), "err", err)
	}
	if len(s.items) == 0 { // the first batch of this try
		s.due = time.Now().Add(s.pause.Next())
	}
	if slices.ContainsFunc(batch, func(it Item) bool { return !simple(it) }) {
		for _, it := range batch {
			if simple(it) {
				done = append(done, it)
			} else {
				s.items = append(s.items, it)
			}
		}
		return done
	}
	s.items = append(s.items, batch...)
	return nil
}

// sort returns what is to be tried of the stuck and the given items. A new
// failure of a topic that is stuck joins it. The lock is held.
func (f *Finisher) sort(items []Item) []Item {
	var now []Item
	for _, s := range f.stuck {
		if time.Until(s.due) <= 0 {
			now = append(now, s.items...)
			s.items = nil
		}
	}
	for _, it := range items {
		if s := f.stuck[stuckKey(it.Keys)]; s != nil && len(s.items) > 0 && !simple(it) {
			s.items = append(s.items, it)
			continue
		}
		now = append(now, it)
	}
	return now
}

// release forgets topics of which nothing is stuck any more. The lock is held.
func (f *Finisher) release() {
	for key, s := range f.stuck {
		if len(s.items) == 0 {
			delete(f.stuck, key)
		}
	}
}

// held is how many events are stuck. The lock is held.
func (f *Finisher) held() (n int) {
	for _, s := range f.stuck {
		n += len(s.items)
	}
	return n
}

// waitForStuck waits until something is added, or the first of the stuck is due.
// The lock is held.
func (f *Finisher) waitForStuck() {
	if len(f.stuck) == 0 {
		f.changed.Wait()
		return
	}
	wait := link.MaxPause
	for _, s := range f.stuck {
		wait = min(wait, time.Until(s.due))
	}
	timer := time.AfterFunc(max(wait, 0), f.wake)
	defer timer.Stop()
	f.changed.Wait()
}
