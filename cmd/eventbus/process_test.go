package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// process is a call of the binary that goes on.
type process struct {
	b    *bed
	cmd  *exec.Cmd
	out  *stream
	err  *stream
	done chan struct{} // closed once it has ended
}

// stream is the lines that a process writes.
type stream struct {
	p     *process
	name  string
	lines chan string // closed at the end
}

func (b *bed) start(stdin io.Reader, args ...string) *process {
	b.t.Helper()
	p := &process{b: b, cmd: b.command(args...), done: make(chan struct{})}
	var out, errs io.WriteCloser
	p.out, out = p.stream("stdout")
	p.err, errs = p.stream("stderr")
	p.cmd.Stdout, p.cmd.Stderr = out, errs
	if stdin != nil {
		// by hand: Wait would wait for the end of what the test still holds open
		pipe, err := p.cmd.StdinPipe()
		require.NoError(b.t, err)
		go func() {
			_, _ = io.Copy(pipe, stdin) // it ends when the process does
			_ = pipe.Close()
		}()
	}
	require.NoError(b.t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait() // the code is asked for
		_ = out.Close()
		_ = errs.Close()
		close(p.done)
	}()
	b.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.done
	})
	return p
}

func (p *process) stream(name string) (*stream, io.WriteCloser) {
	r, w := io.Pipe()
	s := &stream{p: p, name: name, lines: make(chan string, 10_000)}
	go func() {
		defer close(s.lines)
		scan := bufio.NewScanner(r)
		scan.Buffer(nil, 4<<20)
		for scan.Scan() {
			s.lines <- scan.Text()
		}
	}()
	return s, w
}

// next waits for the next line.
func (s *stream) next() string {
	s.p.b.t.Helper()
	select {
	case line, ok := <-s.lines:
		require.True(s.p.b.t, ok, "%s ended", s.name)
		return line
	case <-time.After(patience):
		require.FailNow(s.p.b.t, "no line on "+s.name)
		panic("unreachable")
	}
}

// until waits for a line that contains text, and returns it.
func (s *stream) until(text string) string {
	s.p.b.t.Helper()
	for {
		if line := s.next(); strings.Contains(line, text) {
			return line
		}
	}
}

// rest returns the lines up to the end.
func (s *stream) rest() []string {
	var all []string
	for line := range s.lines {
		all = append(all, line)
	}
	return all
}

func (p *process) signal(sig os.Signal) {
	p.b.t.Helper()
	require.NoError(p.b.t, p.cmd.Process.Signal(sig))
}

// wait waits for the end and returns the exit code. What feeds the process is
// closed then.
func (p *process) wait(feeds ...io.Closer) int {
	p.b.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		require.FailNow(p.b.t, "the process does not end")
	}
	for _, f := range feeds {
		require.NoError(p.b.t, f.Close())
	}
	return p.cmd.ProcessState.ExitCode()
}
