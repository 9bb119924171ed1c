package poll

import (
	"context"
	"sync"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/link"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// key is one key to listen on.
type key struct {
	st   *state
	name string
	// strict: what is popped here is an event, so that the key must not be
	// listened on any longer once it is not wanted.
	strict bool
}

// heard is what a listener has popped; key "" when its time was up.
type heard struct {
	key     string
	element []byte
	err     error
	row     int // the how manieth error in a row
	asked   []key
}

// strict returns the topic whose event was popped, nil when it was no event.
func (h *heard) strict() *state {
	for _, k := range h.asked {
		if k.name == h.key && k.strict {
			return k.st
		}
	}
	return nil
}

// listeners blocks in BLPOP for the loop. On one server that is one call over
// all keys; where one command cannot name keys of several topics, as on a
// Cluster, it is one call a topic.
type listeners struct {
	store *store.Store
	heard chan heard
	block *store.Blocker

	mu    sync.Mutex
	ears  map[string]*ear // by topic on a Cluster, else one under ""
	calls sync.WaitGroup
}

// ear is one blocking call at a time.
type ear struct {
	busy  bool
	asked map[string]bool // by key name, strict or not
	wake  string
	woken bool

	// after errors in a row: how many, and until when not to call again
	failed int
	pause  link.Pause
	quiet  time.Time
}

func newListeners(s *store.Store) *listeners {
	return &listeners{store: s, heard: make(chan heard), block: s.NewBlocker(), ears: map[string]*ear{}}
}

// listen makes sure that all the keys are listened on, and no strict one that is
// not among them. A call under way that does is left alone; another one is woken,
// and the next listen replaces it. After an error there is a pause, for which
// some of the keys are not listened on: wait is what is left of it.
func (l *listeners) listen(ctx context.Context, keys []key, consumer string) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	parts := map[string][]key{}
	if l.store.Spread() {
		for _, k := range keys {
			topic := k.st.Keys.Topic
			parts[topic] = append(parts[topic], k)
		}
	} else {
		parts[""] = keys
	}
	for part, e := range l.ears {
		if e.busy && !e.covers(parts[part]) {
			l.wakeUp(ctx, e)
		}
		if !e.busy && parts[part] == nil && time.Since(e.quiet) > link.Calm {
			delete(l.ears, part)
		}
	}
	for part, keys := range parts {
		e := l.ears[part]
		if e == nil {
			e = &ear{}
			l.ears[part] = e
		}
		left := time.Until(e.quiet)
		switch {
		case e.busy || len(keys) == 0:
		case left <= 0:
			l.start(ctx, part, e, keys, l.store.WakeKey(part, consumer))
		case wait == 0 || left < wait:
			wait = left
		}
	}
	return wait
}

// covers tells that the call under way listens on all the keys, and on no strict
// one beyond them.
func (e *ear) covers(keys []key) bool {
	wanted := make(map[string]bool, len(keys))
	for _, k := range keys {
		if _, ok := e.asked[k.name]; !ok {
			return false
		}
		wanted[k.name] = true
	}
	for name, strict := range e.asked {
		if strict && !wanted[name] {
			return false
		}
	}
	return true
}

func (l *listeners) start(ctx context.Context, part string, e *ear, keys []key, wake string) {
	e.busy, e.woken, e.wake = true, false, wake
	e.asked = make(map[string]bool, len(keys))
	names := make([]string, 0, len(keys)+1)
	names = append(names, wake)
	for _, k := range keys {
		e.asked[k.name] = k.strict
		names = append(names, k.name)
	}
	l.calls.Go(func() {
		name, element, err := l.block.Pop(names, blockTimeout)
		l.mu.Lock()
		e.busy = false
		if err == nil {
			e.failed, e.quiet = 0, time.Time{}
			e.pause.Reset()
		} else {
			e.failed++
			e.quiet = time.Now().Add(e.pause.Next())
		}
		row := e.failed
		l.mu.Unlock()
		select {
		case l.heard <- heard{key: name, element: element, err: err, row: row, asked: keys}:
		case <-ctx.Done():
		}
	})
}

// wakeUp ends a call by its own key. When that fails, the call ends by itself in
// time, or with the connection.
func (l *listeners) wakeUp(ctx context.Context, e *ear) {
	if e.woken {
		return
	}
	if l.store.Wake(ctx, e.wake) == nil {
		e.woken = true
	}
}

// closeGrace is how long a woken call may take to return before its connection
// is closed under it.
const closeGrace = 2 * time.Second

// close ends all calls: by waking them, so that nothing is popped into the void,
// and by closing their connections where that does not help. What they pop
// meanwhile goes to hear.
func (l *listeners) close(ctx context.Context, hear func(context.Context, heard)) {
	ended := make(chan struct{})
	go func() {
		l.calls.Wait()
		close(ended)
	}()
	grace, cancel := context.WithTimeout(ctx, closeGrace)
	defer cancel()
	l.mu.Lock()
	for _, e := range l.ears {
		if e.busy {
			l.wakeUp(grace, e)
		}
	}
	l.mu.Unlock()
	for done := false; !done; {
		select {
		case <-ended:
			done = true
		case h := <-l.heard:
			if h.err == nil {
				hear(ctx, h)
			}
		case <-grace.Done():
			done = true
		}
	}
	_ = l.block.Close() // nothing is read from it any more
	for _, e := range l.ears {
		if e.wake != "" && grace.Err() == nil {
			_ = l.store.Unwake(grace, e.wake) // it expires by itself as well
		}
	}
}
