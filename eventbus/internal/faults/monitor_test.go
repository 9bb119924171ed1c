package faults_test

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/internal/redistest"
)

// command is one command as MONITOR shows it.
type command struct {
	from   string // address of the client; "lua" for one that a script called
	name   string // in lower case
	args   []string
	inside bool // a script called it
}

func (c command) String() string { return c.name + " " + strings.Join(c.args, " ") }

// arg returns the i-th argument, from 0, and the last one for -1; "" when there
// is none.
func (c command) arg(i int) string {
	if i < 0 {
		i += len(c.args)
	}
	if i < 0 || i >= len(c.args) {
		return ""
	}
	return c.args[i]
}

// monitor watches the commands that a server carries out.
type monitor struct {
	conn net.Conn
	over sync.WaitGroup

	mu       sync.Mutex
	commands []command
	broken   error
}

// watch starts a monitor that sees every command from now on. It ends with the
// test.
func watch(t *testing.T, server *redistest.Server) *monitor {
	t.Helper()
	conn, err := net.Dial("tcp", server.Addr())
	require.NoError(t, err)
	m := &monitor{conn: conn}
	in := bufio.NewReaderSize(conn, 1<<20)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	ask := func(command string) {
		t.Helper()
		_, err := fmt.Fprint(conn, command+"\r\n")
		require.NoError(t, err)
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "+OK\r\n", line)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		m.over.Wait()
	})
	if password := server.Options().Password; password != "" {
		ask("AUTH " + password)
	}
	ask("MONITOR")
	require.NoError(t, conn.SetReadDeadline(time.Time{}))
	m.over.Go(func() { m.read(in) })
	return m
}

func (m *monitor) read(in *bufio.Reader) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return // the test has ended, or the server
		}
		c, err := parseMonitor(strings.TrimRight(line, "\r\n"))
		m.mu.Lock()
		if err != nil {
			m.broken = err
		} else {
			m.commands = append(m.commands, c)
		}
		m.mu.Unlock()
	}
}

// parseMonitor reads a line such as
// +1700000000.123456 [0 127.0.0.1:1234] "GET" "key".
func parseMonitor(line string) (command, error) {
	head, rest, ok := strings.Cut(line, "] ")
	_, from, known := strings.Cut(head, "[0 ")
	if !ok || !known {
		return command{}, fmt.Errorf("read %q: not a line of MONITOR", line)
	}
	c := command{from: from, inside: from == "lua"}
	for i := 0; rest != ""; i++ {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return command{}, fmt.Errorf("read %q of %q: %w", rest, line, err)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return command{}, fmt.Errorf("read %q: %w", quoted, err)
		}
		rest = strings.TrimPrefix(rest[len(quoted):], " ")
		if i == 0 {
			c.name = strings.ToLower(word)
			continue
		}
		c.args = append(c.args, word)
	}
	return c, nil
}

// seen returns the commands seen so far for which pick is true.
func (m *monitor) seen(t *testing.T, pick func(command) bool) []command {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	require.NoError(t, m.broken)
	var picked []command
	for _, c := range m.commands {
		if pick(c) {
			picked = append(picked, c)
		}
	}
	return picked
}

// named picks the commands of that name.
func named(name string) func(command) bool {
	return func(c command) bool { return c.name == name }
}
