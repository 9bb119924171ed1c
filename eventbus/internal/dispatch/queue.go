package dispatch

// queue is a doubly linked list of executions, chained through themselves so
// that a job costs no more than its execution. The pool's lock guards it.
type queue struct{ first, last *execution }

func (q *queue) push(e *execution) {
	e.before, e.after = q.last, nil
	if q.last == nil {
		q.first = e
	} else {
		q.last.after = e
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
	if e.before == nil {
		q.first = e.after
	} else {
		e.before.after = e.after
	}
	if e.after == nil {
		q.last = e.before
	} else {
		e.after.before = e.before
	}
	e.before, e.after = nil, nil
}
