// Package stop turns signals into stops: the first one stops softly, the next one
// hard, and the one after that ends the process, as one that nothing catches.
//
//	signal ──▶ soft stop ── Same ──▶ signal ──▶ hard stop ── Same ──▶ signal ──▶ end
//
// Terminals and process managers may send one wish twice, to the process and to
// its group, or as two kinds of signal: what comes within Same of a signal that
// has counted is the same wish, and does not count.
package stop

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Same is how long after a signal further ones are the same wish.
const Same = 500 * time.Millisecond

func listen() chan os.Signal {
	signals := make(chan os.Signal, 1) // more at once would not count
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	return signals
}

// Soft returns a context that ends at the first signal. From Same after that on,
// a signal ends the process, unless Hard waits for it.
func Soft(parent context.Context) context.Context {
	ctx, cancel := context.WithCancel(parent)
	signals := listen()
	go func() {
		defer signal.Stop(signals)
		first(signals, parent.Done(), cancel)
	}()
	return ctx
}

// first calls stop at the first signal, or when it is over.
func first(signals <-chan os.Signal, over <-chan struct{}, stop func()) {
	select {
	case <-signals:
		stop()
		pass(signals, over)
	case <-over:
		stop()
	}
}

// Hard returns a context that ends at the next signal after the one that has
// ended soft. Before it waits for that one it calls armed. done ends the waiting;
// the context ends too.
func Hard(soft context.Context, armed func()) (hard context.Context, done func()) {
	hard, cancel := context.WithCancel(context.WithoutCancel(soft))
	over := make(chan struct{})
	signals := listen()
	go func() {
		defer signal.Stop(signals)
		second(soft, signals, over, armed, cancel)
	}()
	return hard, func() { close(over); cancel() }
}

// second calls stop at the second signal that counts.
func second(soft context.Context, signals <-chan os.Signal, over <-chan struct{}, armed, stop func()) {
	select {
	case <-soft.Done():
	case <-over:
		return
	}
	if !pass(signals, over) {
		return
	}
	armed()
	select {
	case <-signals:
	case <-over:
		return
	}
	stop()
	pass(signals, over)
}

// pass lets go by what comes within Same; false when it was over before.
func pass(signals <-chan os.Signal, over <-chan struct{}) bool {
	timer := time.NewTimer(Same)
	defer timer.Stop()
	for {
		select {
		case <-signals:
		case <-timer.C:
			return true
		case <-over:
			return false
		}
	}
}
