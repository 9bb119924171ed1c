//go:build java

package java_test

import (
	"bufio"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process is a process that goes on until it ends by itself or with the test. What
// it writes, on both of its outputs, is kept.
type process struct {
	t    *testing.T
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed once it has ended

	mu    sync.Mutex
	lines []string
}

func startProcess(t *testing.T, name string, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, name: name, cmd: cmd, done: make(chan struct{})}
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	require.NoError(t, cmd.Start())
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines := bufio.NewScanner(r); lines.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, lines.Text())
			p.mu.Unlock()
		}
		_, _ = io.Copy(io.Discard, r) // a line that is too long must not hold it up
	})
	go func() {
		_ = cmd.Wait() // the code is asked for
		_ = w.Close()
		reading.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s ended with %v and said:\n%s", name, cmd.ProcessState, p.said())
		}
	})
	return p
}

// said is all that it has written so far.
func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// count is how many of its lines match so far.
func (p *process) count(pattern string) int {
	return len(regexp.MustCompile(`(?m)`+pattern).FindAllString(p.said(), -1))
}

// until waits for a line that matches and returns what its first group matched.
func (p *process) until(pattern string) string {
	p.t.Helper()
	re := regexp.MustCompile(`(?m)` + pattern)
	var found []string
	require.Eventually(p.t, func() bool {
		found = re.FindStringSubmatch(p.said())
		return found != nil
	}, patience, 10*time.Millisecond, "%s does not say %s", p.name, pattern)
	return found[len(found)-1]
}

// wait waits for its end and returns the exit code.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		require.FailNow(p.t, p.name+" does not end")
	}
	return p.cmd.ProcessState.ExitCode()
}

// kill ends it as a crash would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

// stop asks it to end, and demands that it does so well.
func (p *process) stop(code int) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(p.t, code, p.wait(), "%s", p.name)
}

// newestLibrary goes before the library that the programs were built with.
var newestLibrary = []string{"thrift/target/newest/libthrift-0.25.0.jar"}

// startJava runs one of the Java programs that speak Thrift; options goes to Java
// itself.
func startJava(t *testing.T, options []string, class string, args ...string) *process {
	t.Helper()
	return startJavaWith(t, nil, options, class, args...)
}

// startJavaWith is startJava with jars before the program's own.
func startJavaWith(t *testing.T, jars []string, options []string, class string, args ...string) *process {
	t.Helper()
	for _, jar := range jars {
		require.FileExists(t, jar) // Java does not mind
	}
	java := append([]string{"-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}, options...)
	java = append(java, "-cp", strings.Join(append(slices.Clone(jars), "thrift/target/thrift.jar"), string(filepath.ListSeparator)), "examples.thrift."+class)
	return startProcess(t, class, exec.Command("java", append(java, args...)...))
}
