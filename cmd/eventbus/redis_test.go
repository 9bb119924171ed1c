package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// redisServer is a redis-server of the tests' own, on a free port of 127.0.0.1.
type redisServer struct {
	addr string
	cmd  *exec.Cmd
	done chan struct{} // closed once it is reaped
}

func (s *redisServer) url() string { return "redis://" + s.addr + "/0" }

// startRedis starts a server on a free port, with further arguments, and waits
// until it answers.
func startRedis(dir string, args ...string) (*redisServer, error) {
	var failed error
	// Another process may take the port between its choice and its use.
	for range 5 {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		s, err := startRedisOn(port, dir, args...)
		if err == nil {
			return s, nil
		}
		failed = err
	}
	return nil, failed
}

// durable has a server keep every write on disk before it answers. Without the last
// two, a write may wait for a slow disk for two seconds, and is lost by a kill.
func durable() []string { return []string{"--appendonly", "yes", "--appendfsync", "always"} }

func startRedisOn(port int, dir string, args ...string) (*redisServer, error) {
	base := []string{
		"--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no",
		"--logfile", filepath.Join(dir, fmt.Sprintf("redis-%d.log", port)), "--daemonize", "no",
	}
	s := &redisServer{addr: fmt.Sprintf("127.0.0.1:%d", port), done: make(chan struct{})}
	s.cmd = exec.Command("redis-server", append(base, args...)...)
	if err := s.start(); err != nil {
		return nil, err
	}
	if err := s.wait(); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// start keeps the thread that forks until the child has ended: what ends a child
// with its parent looks at that thread.
func (s *redisServer) start() error {
	dieWithParent(s.cmd)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := s.cmd.Start()
		started <- err
		if err == nil {
			_ = s.cmd.Wait() // it is killed at the end
			close(s.done)
		}
	}()
	return <-started
}

// wait waits until the server answers, be it with a refusal.
func (s *redisServer) wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	rdb := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1, DialerRetries: 1})
	defer rdb.Close()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := rdb.Ping(ctx).Err()
		var reply redis.Error
		if err == nil || errors.As(err, &reply) {
			return nil
		}
		select {
		case <-s.done:
			return fmt.Errorf("redis-server on %s ended: %w", s.addr, err)
		case <-ctx.Done():
			return fmt.Errorf("redis-server on %s does not answer: %w", s.addr, err)
		case <-ticker.C:
		}
	}
}

func (s *redisServer) stop() {
	_ = s.cmd.Process.Kill() // it may have ended
	<-s.done
}

// redisFor starts a server for one test.
func redisFor(t *testing.T, args ...string) *redisServer {
	t.Helper()
	s, err := startRedis(t.TempDir(), args...)
	require.NoError(t, err)
	t.Cleanup(s.stop)
	return s
}

// freePort returns a port that nobody listens on, nor on the one 10000 above it,
// which a server in a Cluster needs too.
func freePort() (int, error) {
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		port := l.Addr().(*net.TCPAddr).Port
		if err := l.Close(); err != nil {
			return 0, err
		}
		if port > 10_000 && port < 55_000 {
			return port, nil
		}
	}
	return 0, errors.New("no free port below 55000")
}

// sentinelFor starts a Sentinel that watches a server under the name main.
func sentinelFor(t *testing.T, of *redisServer) *redisServer {
	t.Helper()
	dir := t.TempDir()
	_, port, err := net.SplitHostPort(of.addr)
	require.NoError(t, err)
	own, err := freePort()
	require.NoError(t, err)
	conf := filepath.Join(dir, "sentinel.conf")
	require.NoError(t, os.WriteFile(conf, fmt.Appendf(nil,
		"port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor main 127.0.0.1 %s 1\n", own, dir, port), 0o600))
	s := &redisServer{addr: fmt.Sprintf("127.0.0.1:%d", own), done: make(chan struct{})}
	s.cmd = exec.Command("redis-server", conf, "--sentinel")
	require.NoError(t, s.start())
	t.Cleanup(s.stop)
	require.NoError(t, s.wait())
	return s
}

// makeCluster makes a server that runs in cluster mode a Cluster of one.
func makeCluster(t *testing.T, s *redisServer) {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: s.addr})
	defer rdb.Close()
	require.NoError(t, rdb.ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	require.Eventually(t, func() bool {
		info, err := rdb.ClusterInfo(t.Context()).Result()
		return err == nil && strings.Contains(info, "cluster_state:ok")
	}, patience, 20*time.Millisecond)
}
