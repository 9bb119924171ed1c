// Package eventbus is an event bus on Redis: topics, handlers registered in
// process, events sent now and handled by every group that wants them, failures
// kept and replayed, all of it steered at run time.
//
// Where an event goes, and where the code for each step stands:
//
//	Send                 send.go, internal/send      into the queue of every group
//	  poll               internal/poll               out of the queue, into flight
//	    dispatch         internal/dispatch           through its handlers
//	      finish         internal/finish             out of flight: done, or a failure
//	        retry        internal/retry              back to the queue when due
//	        replay       failures.go                 back to the queue when asked
//	lease                internal/lease              what dead processes held, back
//
// internal/store alone knows Redis: its keys and scripts. internal/wire knows
// what an entry of a queue looks like. internal/consume puts the consuming side
// together.
package eventbus
