// Package told remembers of which errors the log has been told, for what is tried
// again and again: each is logged once, however often it is met and in whatever
// turns it is met with others, until all is well again.
package told

import (
	"slices"
	"sync"
)

// most is how many different errors in a row are logged of one place: texts that
// never repeat themselves must not fill the log, or the memory.
const most = 8

// Errors is what the log knows of places that are named by a K. It is safe for
// use by many goroutines, and its zero value knows of nothing.
type Errors[K comparable] struct {
	mu sync.Mutex
	of map[K][]string
}

// First reports whether the log is to be told of err: whether it has not been
// since the place was last well.
func (e *Errors[K]) First(place K, err error) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := err.Error()
	if known := e.of[place]; len(known) == most || slices.Contains(known, text) {
		return false
	}
	if e.of == nil {
		e.of = map[K][]string{}
	}
	e.of[place] = append(e.of[place], text)
	return true
}

// Ill reports whether the place has had an error since it was last well.
func (e *Errors[K]) Ill(place K) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.of[place] != nil
}

// Well says that the place is well, or is no more.
func (e *Errors[K]) Well(place K) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.of, place)
}
