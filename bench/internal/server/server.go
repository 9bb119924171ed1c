// Package server starts the redis-server on which the benchmarks run.
package server

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/redis/go-redis/v9"
)

// Server is a redis-server of its own, on the loopback interface.
type Server struct {
	Address string
	Stop    func()
}

// Start starts one that keeps nothing.
func Start(ctx context.Context) (*Server, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("find redis-server: %w; install it (Debian: apt-get install redis-server)", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	address := l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	if err := l.Close(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", dir)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start redis-server: %w", err)
	}
	s := &Server{Address: address, Stop: func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	}}
	rdb := redis.NewClient(&redis.Options{Addr: address})
	defer rdb.Close() //nolint:errcheck // for a ping only
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if rdb.Ping(ctx).Err() == nil {
			return s, nil
		}
	}
	s.Stop()
	return nil, fmt.Errorf("start redis-server: it does not answer on %s", address)
}
