//go:build java

package java_test

import (
	"context"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// startRedis runs a redis-server on a free port of the loopback interface, and
// ends it with the test. It returns a client of it.
func startRedis(t *testing.T) *redis.Client {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	require.NoError(t, err, "install redis-server (Debian: apt-get install redis-server)")
	for range 10 {
		address := freeAddress(t)
		_, port, err := net.SplitHostPort(address)
		require.NoError(t, err)
		server := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
		require.NoError(t, server.Start())
		rdb := redis.NewClient(&redis.Options{Addr: address})
		t.Cleanup(func() {
			_ = rdb.Close()
			_ = server.Process.Kill() // it may have ended
			_ = server.Wait()
		})
		if answers(rdb, server.Process.Pid) {
			return rdb
		}
	}
	t.Fatal("redis-server does not answer on any of ten ports")
	return nil
}

// freeAddress is free now; another process may take it before the server does.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // only its address is wanted
	return l.Addr().String()
}

// answers tells whether the client comes to reach the server that is this process.
func answers(rdb *redis.Client, pid int) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		if info, err := rdb.Info(ctx, "server").Result(); err == nil {
			return strings.Contains(info, "process_id:"+strconv.Itoa(pid)+"\r\n")
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}
