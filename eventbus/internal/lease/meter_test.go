package lease

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// meter measures what goes over connections between a call's last byte and the
// next call: the size of each reply and of each request, and how long the reply
// was allowed to take.
type meter struct {
	mu             sync.Mutex
	reply, request int // the greatest, in bytes
	short          []string
}

// dial is a redis.Options.Dialer.
func (m *meter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &metered{Conn: conn, meter: m}, nil
}

func (m *meter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reply, m.request, m.short = 0, 0, nil
}

// metered is one connection, which carries one call at a time.
type metered struct {
	net.Conn
	meter *meter

	mu          sync.Mutex
	sent, got   int
	replyWithin time.Duration
}

func (c *metered) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.got > 0 { // the call before is over
		c.sent, c.got = 0, 0
	}
	c.sent += n
	c.meter.mu.Lock()
	defer c.meter.mu.Unlock()
	c.meter.request = max(c.meter.request, c.sent)
	return n, err
}

func (c *metered) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got += n
	c.meter.mu.Lock()
	defer c.meter.mu.Unlock()
	c.meter.reply = max(c.meter.reply, c.got)
	// Five seconds are for the call itself, a few of which the test may have used up.
	if want := 4*time.Second + time.Duration(c.got>>20)*500*time.Millisecond; c.replyWithin < want {
		c.meter.short = append(c.meter.short, fmt.Sprintf("%d bytes within %v", c.got, c.replyWithin))
	}
	return n, err
}

func (c *metered) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replyWithin = time.Until(t)
	return c.Conn.SetReadDeadline(t)
}
