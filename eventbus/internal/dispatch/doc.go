// Package dispatch runs the handlers of events in a bounded pool. It knows
// nothing of Redis or of wire formats: it is given jobs, each one event's
// handlers as functions, and gives back one result for each of them.
//
// # A job
//
// A job takes one slot of the pool and runs its tasks in it, one after another.
// When all have a result, Finish is called and the slot is free again. The
// goroutine that does this is the job's carrier. There is no goroutine for a
// single run: the carrier calls the handler itself, and goes on with the next job
// that holds a slot. Carriers without work are parked, and woken one at a time (see
// carrier.go). One timer watches over all runs (watch.go), and what stands behind a
// run's context is made when somebody asks for it (context.go).
//
//	Submit ──▶ waiting for a slot ──▶ task 1 ─▶ task 2 ─▶ … ──▶ Finish ──▶ slot free
//	                │ stop                       │ stop           ▲
//	                └────────── Unfinished ◀─────┴────────────────┘
//
// # A run
//
//	                     waiting                  for the handler's limit; no timeout yet
//	     Disabled,          │        stop
//	PutOff ◀────────────────┼──────────────────▶ Unfinished
//	     BreakerOpen,       │
//	     AtAbandonedCap     ▼
//	                     running ─────────────┬────────────────────┐
//	                        │ handler ends    │ timeout + 50 ms    │ hard stop + 1 s
//	                        ▼                 ▼                    ▼
//	                     returned          abandoned              cut
//	              Succeeded, Failed,        Failed             Unfinished
//	              PutOff, Unfinished
//
// One compare-and-swap leads out of running. Whoever wins it (the carrier, the
// watch or the stop) writes the result and carries on with the job; whoever
// loses touches the job no more. So a run has one result, and an event is never
// both given back and recorded.
//
// A handler that ignores its context can not be ended: Go has no means for
// that. The watch has the rest of its job taken over instead, by a new carrier,
// and the old goroutine, when the handler returns at last, only takes itself off
// the handler's count of abandoned runs. At the cap of that count the handler
// gets no more events. An abandoned run no longer counts against the handler's
// concurrency: it would otherwise keep others waiting in their slots, and one
// broken handler would fill the pool.
//
// # What it survives
//
//   - A handler that fails, panics (also with nil, or with an error whose own
//     methods panic) or ends its goroutine with runtime.Goexit: a failure of that
//     handler; the job's others run.
//   - A handler that ignores its context: recorded as timed out, the slot goes on.
//     At most Size goroutines carry jobs; beside them stand the abandoned ones, at
//     most MaxAbandoned and those that were already running, for each handler.
//   - A timeout that passes at the moment the handler returns: one of the two wins.
//   - A stop at any moment: what has not started is Unfinished at once; what runs
//     may end; what is cut off is Unfinished and nothing else. A stop is neither a
//     failed attempt nor counted by the breaker.
//   - Settings that change under load: a raised limit lets waiting tasks go on, a
//     lowered one lets running ones end, a disabled handler sends its waiters back.
//   - A dependency that is down: the breaker keeps tasks from being run, and uses up
//     no attempt. A probe that ends without saying anything (rejected, snoozed,
//     stopped) makes room for the next probe, so the breaker never sticks.
//   - A Finish that blocks: it keeps its slot, and so holds back whoever claims
//     more. No lock is held meanwhile.
package dispatch
