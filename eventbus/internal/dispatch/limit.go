package dispatch

import "container/list"

// limit is a semaphore that serves in the order of arrival and can be resized
// while it is in use. The caller holds the handler's lock for every call.
//
// While anybody waits, every place is taken: whatever makes room calls admit.
// So a newcomer can not overtake.
type limit struct {
	max     int // 0 = none
	running int
	waiters list.List // of *waiter
}

// waiter is one task in the line. ready is closed when it has left the line:
// granted says whether it holds a place now or was turned away.
type waiter struct {
	ready   chan struct{}
	granted bool
	at      *list.Element
}

func (l *limit) room() bool { return l.max <= 0 || l.running < l.max }

// acquire takes a place if one is free.
func (l *limit) acquire() bool {
	if !l.room() {
		return false
	}
	l.running++
	return true
}

// release gives a place back, to the first in the line if there is one.
func (l *limit) release() {
	l.running--
	l.admit()
}

// resize changes the number of places. Runs beyond a lowered one end by themselves.
func (l *limit) resize(places int) {
	l.max = places
	l.admit()
}

func (l *limit) admit() {
	for l.waiters.Len() > 0 && l.acquire() {
		l.dismiss(l.waiters.Front(), true)
	}
}

// enqueue lines up at the end.
func (l *limit) enqueue() *waiter {
	w := &waiter{ready: make(chan struct{})}
	w.at = l.waiters.PushBack(w)
	return w
}

// withdraw leaves the line without a place. It returns false when w had left it
// before, served or turned away.
func (l *limit) withdraw(w *waiter) bool {
	if w.at == nil {
		return false
	}
	l.dismiss(w.at, false)
	return true
}

// turnAway empties the line without serving anybody.
func (l *limit) turnAway() {
	for l.waiters.Len() > 0 {
		l.dismiss(l.waiters.Front(), false)
	}
}

func (l *limit) dismiss(at *list.Element, granted bool) {
	w := l.waiters.Remove(at).(*waiter)
	w.at, w.granted = nil, granted
	close(w.ready)
}
