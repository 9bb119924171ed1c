package redistest

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy is a TCP proxy that can break the network between a client and a
// server. Each fault can be switched on and off at any time and applies to what
// is sent after the call has returned; several can be on at once.
type Proxy struct {
	t      testing.TB
	target string
	claim  *claim
	wg     sync.WaitGroup

	mu          sync.Mutex
	listener    net.Listener // nil while connections are refused
	links       map[*link]struct{}
	gate        chan struct{} // closed while bytes may pass
	dropReplies bool
	delay       time.Duration
}

// NewProxy starts a proxy for the server at target, a host and port. All is
// closed when the test ends.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	p := &Proxy{t: t, target: target, links: map[*link]struct{}{}, gate: make(chan struct{})}
	close(p.gate)
	var err error
	for range bindTries {
		if p.claim, err = claimPort(); err != nil {
			break
		}
		if err = p.listen(); err == nil {
			break
		}
		_ = p.claim.release()
	}
	if err != nil {
		t.Fatalf("redistest: start a proxy for %s: %v", target, err)
	}
	t.Cleanup(p.close)
	return p
}

// Addr returns the host and port at which clients reach the server through
// the proxy.
func (p *Proxy) Addr() string { return p.claim.addr() }

// Connections returns how many connections are open through the proxy.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Blackhole makes the network silent, as when packets are dropped: connections
// stay up and new ones are accepted, but nothing passes in either direction,
// not even that one side has closed. Once it is off, what was held is delivered,
// as TCP does when packets pass again: also a request whose sender has long
// given up.
func (p *Proxy) Blackhole(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gate:
		if on {
			p.gate = make(chan struct{})
		}
	default:
		if !on {
			close(p.gate)
		}
	}
}

// DropReplies lets requests through to the server and throws its replies away.
// A connection that lost a reply stays mute after DropReplies(false) too: the
// next reply would be taken for the lost one's.
func (p *Proxy) DropReplies(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropReplies = on
}

// Delay makes each direction slower by d: a round trip takes 2d longer. Bytes
// sent while others are under way do not wait for them.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// CutAll resets all connections, on both sides. Bytes under way are lost.
func (p *Proxy) CutAll() {
	for _, l := range p.snapshot() {
		l.cut()
	}
}

// Refuse makes new connections fail with "connection refused". Those that are
// up stay up.
func (p *Proxy) Refuse(on bool) {
	if on {
		p.unlisten()
		return
	}
	if err := p.listen(); err != nil {
		p.t.Errorf("redistest: accept connections again at %s: %v", p.Addr(), err)
	}
}

func (p *Proxy) close() {
	p.unlisten()
	p.CutAll()
	p.wg.Wait()
	if err := p.claim.release(); err != nil {
		p.t.Errorf("redistest: release the port of the proxy: %v", err)
	}
}

func (p *Proxy) listen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		return nil
	}
	listener, err := net.Listen("tcp", p.Addr())
	if err != nil {
		return err
	}
	p.listener = listener
	p.wg.Go(func() { p.accept(listener) })
	return nil
}

func (p *Proxy) unlisten() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener == nil {
		return
	}
	if err := p.listener.Close(); err != nil {
		p.t.Errorf("redistest: close the listener of the proxy: %v", err)
	}
	p.listener = nil
}

func (p *Proxy) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return // the listener was closed
		}
		if l := p.add(listener, conn); l != nil {
			p.wg.Go(l.run)
		}
	}
}

// add registers a connection, unless the listener was closed meanwhile.
func (p *Proxy) add(listener net.Listener, conn net.Conn) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != listener {
		reset(conn)
		return nil
	}
	l := &link{proxy: p, client: conn}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	p.links[l] = struct{}{}
	return l
}

func (p *Proxy) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

func (p *Proxy) snapshot() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	return links
}

func (p *Proxy) open() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gate
}

func (p *Proxy) dropping() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropReplies
}

func (p *Proxy) latency() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delay
}
