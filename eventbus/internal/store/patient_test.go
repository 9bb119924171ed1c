package store_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// slowServer answers each command with an array of two numbers and one entry, whose
// bytes come one by one, a pause apart; after so many it says nothing more.
func slowServer(t *testing.T, size, upto int, pause time.Duration) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended); require.NoError(t, listener.Close()); all.Wait() })
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close() //nolint:errcheck // the test is over
				all.Go(func() { <-ended; _ = conn.Close() })
				commands := bufio.NewReader(conn)
				for {
					command, err := readCommand(commands)
					if err != nil {
						return
					}
					if !strings.HasPrefix(command, "eval") {
						_, _ = io.WriteString(conn, "-ERR unknown command\r\n")
						continue
					}
					_, _ = fmt.Fprintf(conn, "*3\r\n:1\r\n:0\r\n$%d\r\n", size)
					for range upto {
						select {
						case <-time.After(pause):
						case <-ended:
							return
						}
						_, _ = io.WriteString(conn, "x")
					}
					if upto == size {
						_, _ = io.WriteString(conn, "\r\n")
					}
				}
			})
		}
	})
	return listener.Addr().String()
}

// readCommand returns the first word of a command.
func readCommand(r *bufio.Reader) (string, error) {
	var words int
	if _, err := fmt.Fscanf(r, "*%d\r\n", &words); err != nil {
		return "", err
	}
	first := ""
	for i := range words {
		var size int
		if _, err := fmt.Fscanf(r, "$%d\r\n", &size); err != nil {
			return "", err
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(r, word); err != nil {
			return "", err
		}
		if i == 0 {
			first = strings.ToLower(string(word[:size]))
		}
	}
	if first == "" {
		return "", errors.New("no command")
	}
	return first, nil
}

// A claim whose reply takes longer than a call may be silent is not given up while
// it still comes: its entries would be put back and claimed again, without end. One
// that stops coming is.
func TestSlowReplyIsAwaitedWhileItComes(t *testing.T) {
	t.Parallel()
	const silence = 5 * time.Second // of a call
	for name, test := range map[string]struct {
		size, upto int
		pause      time.Duration
		arrives    bool
	}{
		"slow":  {size: 8, upto: 8, pause: time.Second, arrives: true},
		"stuck": {size: 8, upto: 1, pause: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb := redis.NewClient(&redis.Options{Addr: slowServer(t, test.size, test.upto, test.pause), Protocol: 2})
			defer func() { require.NoError(t, rdb.Close()) }()
			s := open(t, rdb)
			began := time.Now()
			keys := s.Keys(&store.Topic{Name: "t"}, store.Group{Name: "g"})
			got, err := s.Claim(t.Context(), &keys, "c", 1, 1, 1)
			if test.arrives {
				require.NoError(t, err)
				require.Equal(t, strings.Repeat("x", test.size), string(got.Entries[0]))
				require.Greater(t, time.Since(began), silence, "the reply was to take longer")
				return
			}
			require.ErrorIs(t, err, errs.Unavailable)
			require.Less(t, time.Since(began), 2*silence)
		})
	}
}
