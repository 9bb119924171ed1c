package store

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A client for Sentinel finds its server by dialling: its dialer asks a Sentinel
// for the master each time. When the master changes, go-redis closes connections
// of that client's own pool alone. The old master may answer for many seconds yet
// (eight after a planned failover), until it is made a replica and forgets what it
// has acknowledged meanwhile. So connections that were made with that dialer must
// follow by themselves:
//
//	a Sentinel says so (sentinel.go) ──┐
//	                                   ├─▶ look: dial ──▶ elsewhere than before? ──▶ close all others
//	a second has passed ───────────────┘
//
// What it survives:
//
//   - No Sentinel can be listened to: a look each second finds the change.
//   - Sentinels that do not answer: looks become rare, and nothing is closed.
//   - A dial that began before another one and ended after it: it does not lead back.
//
// Writes that the old master acknowledges before the Sentinels themselves have seen
// the new one are lost; nobody can know of that here.
const (
	// lookEvery is how long it takes to find out where no Sentinel tells.
	lookEvery = time.Second
	// calmLooks is how often to look where one does.
	calmLooks = 10 * time.Second
	// rareLooks is how often to look at most where looking fails.
	rareLooks = 30 * time.Second
	// eagerFor and eagerLook are for how long, and how often, to look after a hint:
	// the Sentinel that the dialer asks may learn of it later than the one that told.
	eagerFor  = 3 * time.Second
	eagerLook = 100 * time.Millisecond
)

var errMoved = errors.New("the master has changed meanwhile")

// choosesServer tells that the dialer of the options finds the server by itself:
// their address is none that could be dialled.
func choosesServer(o *redis.Options) bool {
	if o.Network != "tcp" {
		return false
	}
	_, _, err := net.SplitHostPort(o.Addr)
	return err != nil
}

// follower dials, and keeps all connections at the server that the dialer chose last.
type follower struct {
	conns   *connections
	dialer  dialer
	network string
	address string
	tls     *tls.Config          // of the Sentinels, too
	hello   func() *redis.PubSub // a new subscription at the server, to nothing yet

	ctx    context.Context // ends when the store is closed
	cancel context.CancelFunc
	loops  sync.WaitGroup
	hints  chan struct{} // somebody says that the master is another one

	mu      sync.Mutex
	at      string // where the newest dial went
	dials   uint64 // that have begun
	newest  uint64 // the one that at is known from
	started bool
	watched bool // a Sentinel is listened to
}

func newFollower(o *redis.Options, conns *connections) *follower {
	f := &follower{conns: conns, dialer: o.Dialer, network: o.Network, address: o.Addr, tls: o.TLSConfig, hints: make(chan struct{}, 1)}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

// dial is the dialer of every connection.
func (f *follower) dial(ctx context.Context, network, address string) (net.Conn, error) {
	f.mu.Lock()
	f.dials++
	nth := f.dials
	f.mu.Unlock()
	p, err := f.conns.dial(ctx, f.dialer, network, address)
	if err != nil {
		return nil, err
	}
	at, ok := f.admit(p, nth)
	for _, other := range f.conns.all(func(p *patient) bool { return p.RemoteAddr().String() != at }) {
		_ = other.Close() // whoever reads from it sees that
	}
	if !ok {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: p.RemoteAddr(), Err: errMoved}
	}
	return p.asConn(), nil
}

// admit judges a connection that the nth dial brought. It returns where all of them
// should go, which the newest dial decides, and whether this one does.
func (f *follower) admit(p *patient, nth uint64) (at string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if nth > f.newest {
		f.newest, f.at = nth, p.RemoteAddr().String()
	}
	if !f.started && f.ctx.Err() == nil {
		f.started = true
		f.loops.Go(f.run)
		f.loops.Go(f.listen)
	}
	return f.at, f.at == p.RemoteAddr().String()
}

// close ends all that was begun. The connections must be halted before.
func (f *follower) close() {
	f.mu.Lock()
	f.cancel()
	f.mu.Unlock()
	f.loops.Wait()
}

// run looks at intervals, and more often where a hint asks for it.
func (f *follower) run() {
	var eager time.Time // until when
	var failing time.Duration
	looked := time.Now()
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	for {
		select {
		case <-f.ctx.Done():
			return
		case <-f.hints:
			if failing == 0 {
				eager = time.Now().Add(eagerFor)
			}
		case <-timer.C:
		}
		wait := max(lookEvery, failing)
		if eagerly := time.Now().Before(eager); eagerly || failing > 0 || !f.calm(looked) {
			moved, err := f.look()
			looked = time.Now()
			switch {
			case err != nil:
				failing = min(max(2*failing, lookEvery), rareLooks)
				wait, eager = failing, time.Time{}
			case moved:
				failing, eager = 0, time.Time{}
			case eagerly:
				wait = eagerLook
			default:
				failing = 0
			}
		}
		timer.Reset(wait)
	}
}

// calm tells that there is no need to look yet.
func (f *follower) calm(looked time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.watched && time.Since(looked) < calmLooks
}

// look dials, which leads everybody to where that goes.
func (f *follower) look() (moved bool, err error) {
	f.mu.Lock()
	before := f.at
	f.mu.Unlock()
	conn, err := f.dial(f.ctx, f.network, f.address)
	if err != nil {
		return false, err
	}
	return conn.RemoteAddr().String() != before, conn.Close()
}

// hint asks for looks.
func (f *follower) hint() {
	select {
	case f.hints <- struct{}{}:
	default:
	}
}
