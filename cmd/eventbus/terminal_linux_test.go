package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// terminal is a pseudo terminal, and what is written to it.
type terminal struct {
	master, slave *os.File

	mu   sync.Mutex
	text strings.Builder
}

func (b *bed) terminal() *terminal {
	b.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(b.t, err)
	require.NoError(b.t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(b.t, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(b.t, err)
	t := &terminal{master: master, slave: slave}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf) // ends when the last slave is closed
			t.mu.Lock()
			t.text.Write(buf[:n])
			t.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	b.t.Cleanup(func() {
		_ = slave.Close()
		<-done
		_ = master.Close()
	})
	return t
}

func (t *terminal) shown() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// startOn runs the binary with all three streams on the terminal.
func (b *bed) startOn(t *terminal, args ...string) (wait func() int) {
	b.t.Helper()
	c := b.command(args...)
	c.Stdin, c.Stdout, c.Stderr = t.slave, t.slave, t.slave
	require.NoError(b.t, c.Start())
	done := make(chan struct{})
	go func() {
		_ = c.Wait() // the code is asked for
		close(done)
	}()
	b.t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended
		<-done
	})
	return func() int {
		within(b, done, "the end of "+fmt.Sprint(args))
		return c.ProcessState.ExitCode()
	}
}

// On a terminal, discard --all asks, and takes nothing but yes for a yes.
func TestDiscardAsks(t *testing.T) { modes(t, testDiscardAsks) }

func testDiscardAsks(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	b.fail("orders", "mail", numbers(0, 3)...)
	for _, c := range []struct {
		answer string
		code   int
		says   string
	}{
		{"n\n", 1, "not confirmed: nothing was changed"},
		{"\n", 1, "not confirmed"},
		{"\x04", 1, "not confirmed"}, // an end
		{"y\n", 0, "discarded 3"},
	} {
		term := b.terminal()
		wait := b.startOn(term, "failures", "discard", "orders", "--all")
		b.eventually("the question", func() bool {
			return strings.Contains(term.shown(), "This discards all 3 failures in state dead of topic orders, group default, for good. Go on? [y/N] ")
		})
		_, err := term.master.WriteString(c.answer)
		require.NoError(t, err)
		require.Equal(t, c.code, wait())
		b.eventually("the outcome", func() bool { return strings.Contains(term.shown(), c.says) })
	}
}

// It speaks of one as of one, and does not ask where there is none.
func TestDiscardAsksOfOneAndOfNone(t *testing.T) { modes(t, testDiscardAsksOfOneAndOfNone) }

func testDiscardAsksOfOneAndOfNone(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	b.fail("orders", "mail", "1")
	term := b.terminal()
	wait := b.startOn(term, "failures", "discard", "orders", "--all")
	b.eventually("the question", func() bool {
		return strings.Contains(term.shown(), "This discards the only failure in state dead of topic orders, group default, for good. Go on? [y/N] ")
	})
	_, err := term.master.WriteString("y\n")
	require.NoError(t, err)
	require.Equal(t, 0, wait())
	b.eventually("the answer", func() bool { return strings.Contains(term.shown(), "discarded 1") })

	term = b.terminal()
	require.Equal(t, 0, b.startOn(term, "failures", "discard", "orders", "--all")())
	b.eventually("the answer", func() bool { return strings.Contains(term.shown(), "discarded 0") })
}

// So do the deletion of a topic and the removal of a group.
func TestDeletionAsks(t *testing.T) { modes(t, testDeletionAsks) }

func testDeletionAsks(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	b.ok("topic", "update", "orders", "--add-group", "mail")
	b.ok("send", "orders", "--data", "1")
	for _, args := range [][]string{{"topic", "update", "orders", "--remove-group", "mail"}, {"topic", "delete", "orders"}} {
		for _, c := range []struct {
			answer string
			code   int
		}{{"n\n", 1}, {"y\n", 0}} {
			term := b.terminal()
			wait := b.startOn(term, args...)
			b.eventually("the question", func() bool {
				return strings.Contains(term.shown(), "1 waiting, ") && strings.Contains(term.shown(), ". Go on? [y/N] ")
			})
			_, err := term.master.WriteString(c.answer)
			require.NoError(t, err)
			require.Equal(t, c.code, wait())
		}
	}
	require.Empty(t, b.ok("topic", "list", "-o", "json"))
}

// Ctrl-C at the question discards nothing.
func TestDiscardInterrupted(t *testing.T) { modes(t, testDiscardInterrupted) }

func testDiscardInterrupted(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	b.fail("orders", "mail", "1")
	term := b.terminal()
	c := b.command("failures", "discard", "orders", "--all")
	c.Stdin, c.Stdout, c.Stderr = term.slave, term.slave, term.slave
	require.NoError(t, c.Start())
	b.eventually("the question", func() bool { return strings.Contains(term.shown(), "[y/N]") })
	require.NoError(t, c.Process.Signal(os.Interrupt))
	var exit *exec.ExitError
	require.ErrorAs(t, c.Wait(), &exit)
	require.Equal(t, 1, exit.ExitCode())
	require.Contains(t, b.ok("stats", "orders", "-o", "json", "--interval", "0"), `"dead":1`)
}

// On a terminal long work tells how far it has come, a payload is escaped even
// where its bytes were asked for, and a typed line is sent.
func TestOnATerminal(t *testing.T) { modes(t, testOnATerminal) }

func testOnATerminal(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	b.fail("orders", "mail", hostile)
	f := objects[failureObject](b, b.ok("failures", "list", "orders", "-o", "json"))[0]
	term := b.terminal()
	require.Equal(t, 0, b.startOn(term, "failures", "show", "orders", f.ID, "--payload")())
	b.eventually("the payload", func() bool { return strings.Contains(term.shown(), `\x1b[31m\a\u009b2J\r\nnext\u202e`) })
	require.NotContains(t, term.shown(), "\x1b[31m")

	term = b.terminal()
	require.Equal(t, 0, b.startOn(term, "failures", "replay", "orders", "--all")())
	b.eventually("the answer", func() bool { return strings.Contains(term.shown(), "replayed 1") })

	term = b.terminal()
	require.Equal(t, 1, b.startOn(term, "failures", "replay", "nope", "--all")())
	b.eventually("the error", func() bool {
		return strings.Contains(term.shown(), `: replay failures of topic "nope", group "default": topic not found`)
	})

	term = b.terminal()
	wait := b.startOn(term, "send", "orders", "--lines", "-")
	_, err := term.master.WriteString("1\n")
	require.NoError(t, err)
	b.eventually("the progress", func() bool { return strings.Contains(term.shown(), "\r\x1b[Ksent 1") })
	_, err = term.master.WriteString("\x04")
	require.NoError(t, err)
	require.Equal(t, 0, wait())

	term = b.terminal()
	require.Equal(t, 2, b.startOn(term, "send", "orders")(), "nobody is waited for")
}
