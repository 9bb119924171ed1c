package eventbustest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/seed4933/eventbus/eventbus"
)

// recorder keeps what the handlers of a server's buses were given and returned.
type recorder struct {
	mu      sync.Mutex
	runs    []*run
	running map[place]int
}

// place is a topic in a group.
type place struct{ topic, group string }

// run is one run of a handler.
type run struct {
	event *eventbus.Event
	ended bool
	err   error
}

// errNoReturn stands for a handler that panicked or ended its goroutine.
var errNoReturn = errors.New("handler did not return")

func newRecorder() *recorder { return &recorder{running: map[place]int{}} }

func (r *recorder) middleware(next eventbus.EventHandle) eventbus.EventHandle {
	return eventbus.HandleFunc(func(ctx context.Context, event *eventbus.Event) error {
		this := r.begin(event)
		err := errNoReturn
		defer func() { r.end(this, err) }()
		err = next.Handle(ctx, event)
		return err
	})
}

func (r *recorder) begin(event *eventbus.Event) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	this := &run{event: event}
	r.runs = append(r.runs, this)
	r.running[place{event.Topic, event.Group}]++
	return this
}

func (r *recorder) end(this *run, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	this.ended, this.err = true, err
	r.running[place{this.event.Topic, this.event.Group}]--
}

// succeeded lists the events that the handler has handled, in the order in which
// it was given them.
func (r *recorder) succeeded(at place, handler string) []*eventbus.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var events []*eventbus.Event
	for _, this := range r.runs {
		e := this.event
		if e.Topic == at.topic && e.Group == at.group && e.Handler == handler && this.ended && this.err == nil {
			events = append(events, e)
		}
	}
	return events
}

// seen lists the events that any handler was given, each once.
func (r *recorder) seen(at place) []*eventbus.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var events []*eventbus.Event
	known := map[string]bool{}
	for _, this := range r.runs {
		if e := this.event; e.Topic == at.topic && e.Group == at.group && !known[e.ID] {
			known[e.ID] = true
			events = append(events, e)
		}
	}
	return events
}

// progress tells how many runs were begun and how many of them go on.
func (r *recorder) progress(at place) (begun, running int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, this := range r.runs {
		if this.event.Topic == at.topic && this.event.Group == at.group {
			begun++
		}
	}
	return begun, r.running[at]
}

// handlers lists the handlers that ran for a topic, for messages.
func (r *recorder) handlers(at place) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ids []string
	for _, this := range r.runs {
		if this.event.Topic == at.topic && this.event.Group == at.group && !slices.Contains(ids, this.event.Handler) {
			ids = append(ids, this.event.Handler)
		}
	}
	return ids
}
