package redistest

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func line(t *testing.T, p *Process) string {
	t.Helper()
	select {
	case got, ok := <-p.Lines():
		require.True(t, ok, "stdout has ended; stderr: %s", p.Stderr())
		return got
	case <-time.After(patience):
		require.Fail(t, "no line came")
		return ""
	}
}

func TestRunSelfReportsHowTheChildEnded(t *testing.T) {
	t.Parallel()
	require.NoError(t, RunSelf(t, "exit").Wait())

	var exit *exec.ExitError
	failing := RunSelf(t, "fail")
	require.ErrorAs(t, failing.Wait(), &exit)
	require.Equal(t, 7, exit.ExitCode())
	require.ErrorAs(t, failing.Wait(), &exit, "Wait may be called again")
	failing.Kill() // and Kill does nothing more
	failing.Signal(syscall.SIGTERM)

	panicking := RunSelf(t, "panic")
	require.Error(t, panicking.Wait())
	require.Contains(t, panicking.Stderr(), "on purpose")

	unknown := RunSelf(t, "no such child")
	require.ErrorAs(t, unknown.Wait(), &exit)
	require.Equal(t, 2, exit.ExitCode())
	require.Contains(t, unknown.Stderr(), "no such child")
}

func TestRunSelfPassesEnvironmentAndLines(t *testing.T) {
	t.Parallel()
	p := RunSelf(t, "echo", "ECHO=hello there")
	require.Equal(t, "hello there", line(t, p))
	require.Eventually(t, func() bool { return p.Stderr() == "to stderr\n" }, patience, time.Millisecond)
	p.Kill()
	require.Equal(t, "unfinished", line(t, p), "the last line needs no end")
	_, open := <-p.Lines()
	require.False(t, open)
}

func TestKillAndSignalEndTheChild(t *testing.T) {
	t.Parallel()
	for name, end := range map[syscall.Signal]func(*Process){
		syscall.SIGKILL: (*Process).Kill,
		syscall.SIGTERM: func(p *Process) { p.Signal(syscall.SIGTERM) },
	} {
		p := RunSelf(t, "echo")
		line(t, p)
		end(p)
		<-p.Done()
		var exit *exec.ExitError
		require.ErrorAs(t, p.Wait(), &exit)
		require.Equal(t, name, exit.Sys().(syscall.WaitStatus).Signal())
		require.ErrorIs(t, syscall.Kill(p.Pid(), 0), syscall.ESRCH, "the child is reaped")
	}
}

func TestAChildWithoutAReaderDoesNotBlock(t *testing.T) {
	t.Parallel()
	p := RunSelf(t, "flood")
	require.NoError(t, p.Wait())
	for i := range floodLines {
		number, _, _ := strings.Cut(line(t, p), " ")
		require.Equal(t, strconv.Itoa(i), number)
	}
	_, open := <-p.Lines()
	require.False(t, open)
}

func TestCleanupKillsAChildThatNobodyReads(t *testing.T) {
	t.Parallel()
	var p *Process
	t.Run("inner", func(t *testing.T) {
		p = RunSelf(t, "echo")
	})
	require.ErrorIs(t, syscall.Kill(p.Pid(), 0), syscall.ESRCH)
}
