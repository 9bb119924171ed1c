package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/redis/go-redis/v9"
)

// server returns the URL of a Redis: that of REDIS_URL, or of one that is started
// on a free port of the loopback interface and ends with the program.
func server(ctx context.Context, dir string) (url string, stop func(), err error) {
	if url := os.Getenv("REDIS_URL"); url != "" {
		return url, func() {}, nil
	}
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return "", nil, fmt.Errorf("find redis-server: %w; install it (Debian: apt-get install redis-server) or set REDIS_URL", err)
	}
	for range 10 {
		port, err := freePort()
		if err != nil {
			return "", nil, err
		}
		cmd := exec.CommandContext(ctx, path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes", "--dir", dir)
		if err := cmd.Start(); err != nil {
			return "", nil, fmt.Errorf("start redis-server: %w", err)
		}
		stop = func() {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
		}
		address := net.JoinHostPort("127.0.0.1", port)
		if answers(ctx, address) {
			return "redis://" + address + "/0", stop, nil
		}
		stop()
	}
	return "", nil, fmt.Errorf("start redis-server: it does not answer")
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close() //nolint:errcheck // only its number is wanted
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

func answers(ctx context.Context, address string) bool {
	rdb := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1})
	defer rdb.Close() //nolint:errcheck // for a ping only
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		if rdb.Ping(ctx).Err() == nil {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}
