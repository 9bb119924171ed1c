package redistest

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are taken from [firstPort, lastPort], below the range from which
// systems choose the local port of an outgoing connection (from 32768 on
// Linux): a server that is down for a while finds its port free when it starts
// again. Redis Cluster's second port, 10000 above, lies below it too.
const (
	firstPort  = 10000
	lastPort   = 21999
	busOffset  = 10000
	portTries  = 500
	bindTries  = 10
	localhost  = "127.0.0.1"
	claimsName = "eventbus-redistest"
)

// claim keeps a port, and those at some offsets from it, for one user of this
// package among all test binaries that run at the same time, also while nobody
// listens on it.
type claim struct {
	port  int
	locks []io.Closer
}

// claimPort finds a port that nobody claims and nobody listens on. Programs
// other than these tests can still take it before it is bound; who binds it
// must be ready to try another.
func claimPort(offsets ...int) (*claim, error) {
	for range portTries {
		c := &claim{port: firstPort + rand.IntN(lastPort-firstPort+1)}
		if c.take(append([]int{0}, offsets...)) {
			return c, nil
		}
		c.release()
	}
	return nil, fmt.Errorf("find a port between %d and %d on %s that is free: %d tries, all taken", firstPort, lastPort, localhost, portTries)
}

func (c *claim) take(offsets []int) bool {
	for _, offset := range offsets {
		lock, err := lockPort(c.port + offset)
		if err != nil {
			return false
		}
		c.locks = append(c.locks, lock)
		if !portFree(c.port + offset) {
			return false
		}
	}
	return true
}

func (c *claim) addr() string { return addr(c.port) }

// release gives the port up.
func (c *claim) release() error {
	errs := make([]error, 0, len(c.locks))
	for _, lock := range c.locks {
		errs = append(errs, lock.Close())
	}
	c.locks = nil
	return errors.Join(errs...)
}

func addr(port int) string { return net.JoinHostPort(localhost, strconv.Itoa(port)) }

func portFree(port int) bool {
	listener, err := net.Listen("tcp", addr(port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}
