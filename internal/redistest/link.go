package redistest

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"
)

// The most that a link holds in one direction. Beyond it the link stops
// reading, and the sender feels it as a full window.
const (
	chunkSize  = 32 << 10
	chunkQueue = 64
)

// link is one connection through a proxy. Each direction has a reader, a queue
// and a writer, so that latency does not lower the throughput:
//
//	client --read--> queue --(due? gate open?)--write--> server
//	client <--write--(dropped?)(gate open? due?)-- queue <--read-- server
type link struct {
	proxy  *Proxy
	client net.Conn
	ctx    context.Context // ends when the link is cut
	cancel context.CancelFunc

	mu     sync.Mutex
	server net.Conn // nil until it is dialled
}

// chunk is what one read returned and when it may be passed on.
type chunk struct {
	data []byte
	due  time.Time
}

func (l *link) run() {
	defer l.cut()
	if !l.awaitGate() || !l.dial() {
		return
	}
	var wg sync.WaitGroup
	for _, d := range []struct {
		from, to net.Conn
		replies  bool
	}{
		{from: l.client, to: l.server},
		{from: l.server, to: l.client, replies: true},
	} {
		queue := make(chan chunk, chunkQueue)
		wg.Go(func() { l.read(d.from, queue) })
		wg.Go(func() { l.write(d.to, queue, d.replies) })
	}
	wg.Wait()
}

// dial connects to the server. It tells whether the link is still wanted.
func (l *link) dial() bool {
	var dialer net.Dialer
	server, err := dialer.DialContext(l.ctx, "tcp", l.proxy.target)
	if err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		reset(server)
		return false
	}
	l.server = server
	return true
}

// read queues what arrives from one side until that side has closed.
func (l *link) read(from net.Conn, queue chan<- chunk) {
	defer close(queue)
	buffer := make([]byte, chunkSize)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			select {
			case queue <- chunk{data: slices.Clone(buffer[:n]), due: time.Now().Add(l.proxy.latency())}:
			case <-l.ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// write passes on what is queued, and last that the other side has closed.
func (l *link) write(to net.Conn, queue <-chan chunk, replies bool) {
	mute := false
	for c := range queue {
		if !l.awaitDue(c.due) || !l.awaitGate() {
			return
		}
		mute = mute || replies && l.proxy.dropping()
		if mute {
			continue
		}
		if _, err := to.Write(c.data); err != nil {
			l.cut()
			return
		}
	}
	if !l.awaitGate() {
		return
	}
	if half, ok := to.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		l.cut()
	}
}

// awaitDue and awaitGate tell whether the link is still there.
func (l *link) awaitDue(due time.Time) bool {
	wait := time.Until(due)
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.ctx.Done():
		return false
	}
}

func (l *link) awaitGate() bool {
	select {
	case <-l.proxy.open():
		return true
	case <-l.ctx.Done():
		return false
	}
}

// cut ends both connections at once.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return
	}
	l.cancel()
	reset(l.client)
	if l.server != nil {
		reset(l.server)
	}
	l.proxy.remove(l)
}

// reset closes the connection with an RST and without the bytes not yet sent.
// Errors say that the peer was faster.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
