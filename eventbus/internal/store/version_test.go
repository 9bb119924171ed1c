package store_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// A server before 6.2 is refused, with its version and the one that is needed; a
// later one, and one whose version nobody can read, is taken.
func TestCheckRefusesServersThatAreTooOld(t *testing.T) {
	t.Parallel()
	for version, old := range map[string]bool{
		"6.0.16": true, "5.0.7": true, "6.1.240": true, "2.8.17": true,
		"6.2.0": false, "7.0.15": false, "10.0.1": false, "unknown": false, "": false,
	} {
		rdb := redis.NewClient(&redis.Options{Addr: versionServer(t, version)})
		err := open(t, rdb).Check(t.Context())
		if old {
			require.ErrorIs(t, err, errs.RedisTooOld, version)
			require.ErrorContains(t, err, version)
			require.ErrorContains(t, err, "6.2")
		} else {
			require.NoError(t, err, version)
		}
		require.NoError(t, rdb.Close())
	}
}

// versionServer speaks as much of Redis's protocol as a check needs, and says that
// it is of the version.
func versionServer(t *testing.T, version string) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	info := "# Server\r\n"
	if version != "" {
		info += "redis_version:" + version + "\r\n"
	}
	answers := map[string]string{
		"ping": "+PONG\r\n", "setnx": ":0\r\n", "set": "$-1\r\n", "get": "$1\r\n1\r\n", "info": fmt.Sprintf("$%d\r\n%s\r\n", len(info), info),
	}
	var all sync.WaitGroup
	t.Cleanup(func() { require.NoError(t, listener.Close()); all.Wait() })
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close() //nolint:errcheck // the client has ended
				for in := bufio.NewReader(conn); ; {
					command, err := readCommand(in)
					if err != nil {
						return
					}
					name, _, _ := strings.Cut(strings.ToLower(command), " ")
					answer, ok := answers[name]
					if !ok {
						answer = "-ERR unknown command\r\n" // as it says to HELLO
					}
					_, _ = io.WriteString(conn, answer)
				}
			})
		}
	})
	return listener.Addr().String()
}
