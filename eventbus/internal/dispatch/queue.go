package dispatch

// queue is a doubly linked list of executions, chained through themselves so
// that a job costs no more than its execution. The pool's lock guards it.
type queue struct{ first, last *execution }

func (q *queue) push(e *execution) {
	e.prev, e.next = q.last, nil
	if q.last == nil {
		q.first = e
	} else {
		q.last.next = e
	}
	q.last = e
}

func (q *queue) pop() *execution {
	e := q.first
	if e != nil {
		q.remove(e)
	}
	return e
}

func (q *queue) remove(e *execution) {
	if e.prev == nil {
		q.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		q.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
}
