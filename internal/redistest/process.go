package redistest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// childEnv names the function that a child process runs instead of the tests.
const childEnv = "EVENTBUS_TEST_CHILD"

// Main is what TestMain of a package calls that uses RunSelf:
//
//	func TestMain(m *testing.M) {
//		redistest.Main(m, map[string]func(){"worker": worker})
//	}
//
// In a child it runs the named function and exits with 0; elsewhere it runs the
// tests and then looks for leaked goroutines, with the given options. A child
// gets what it needs through its environment and reports on its stdout.
func Main(m *testing.M, children map[string]func(), options ...goleak.Option) {
	name, isChild := os.LookupEnv(childEnv)
	if !isChild {
		goleak.VerifyTestMain(m, options...)
		return
	}
	run, ok := children[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "redistest: run child %q: TestMain names no such function\n", name)
		os.Exit(2)
	}
	run()
	os.Exit(0)
}

// Process is a child that runs a function of the test binary.
type Process struct {
	t      testing.TB
	child  *child
	stdout *lines
	stderr buffer
}

// RunSelf runs the function that Main knows as name in a process of its own:
// the test binary again, with env ("KEY=value") added to the environment. It is
// killed when the test ends, if it still runs then; its stderr is logged when
// the test has failed.
func RunSelf(t testing.TB, name string, env ...string) *Process {
	t.Helper()
	if os.Getenv(childEnv) != "" {
		// Without this each child would run the tests, which start children.
		t.Fatalf("redistest: run child %q: this is a child already; TestMain must call redistest.Main", name)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatalf("redistest: run child %q: find the test binary: %v", name, err)
	}
	p := &Process{t: t, stdout: newLines()}
	cmd := exec.Command(self)
	cmd.Env = append(append(os.Environ(), env...), childEnv+"="+name)
	cmd.Stdout, cmd.Stderr = p.stdout, &p.stderr
	if p.child, err = spawn(cmd); err != nil {
		t.Fatalf("redistest: run child %q: %v", name, err)
	}
	ended := p.stdout.start(p.child.done)
	t.Cleanup(func() {
		p.Kill()
		p.stdout.stop()
		<-ended
		if t.Failed() && p.Stderr() != "" {
			t.Logf("redistest: child %q wrote to stderr:\n%s", name, p.Stderr())
		}
	})
	return p
}

// Pid returns the process id.
func (p *Process) Pid() int { return p.child.pid() }

// Kill ends the process with SIGKILL and returns when it is gone. It does
// nothing when the process has ended.
func (p *Process) Kill() {
	if err := p.child.kill(); err != nil {
		p.t.Errorf("redistest: %v", err)
	}
}

// Signal sends a signal. It does nothing when the process has ended.
func (p *Process) Signal(sig os.Signal) {
	if err := p.child.signal(sig); err != nil {
		p.t.Errorf("redistest: %v", err)
	}
}

// Dump ends a process that hangs with SIGQUIT, on which Go writes what every
// goroutine is at to stderr, and returns when it is gone. The test then logs it.
func (p *Process) Dump() {
	p.Signal(syscall.SIGQUIT)
	select {
	case <-p.child.done:
	case <-time.After(10 * time.Second):
		p.Kill()
	}
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.child.done }

// Wait returns when the process has ended: nil when it exited with 0, else an
// [exec.ExitError]. It may be called any number of times.
func (p *Process) Wait() error {
	<-p.child.done
	return p.child.err
}

// Lines returns the lines of the process's stdout without their ends. The
// channel is closed after the last one, and when the test ends. Lines that
// nobody takes are kept: the process never waits for its reader.
func (p *Process) Lines() <-chan string { return p.stdout.out }

// Stderr returns what the process has written to stderr so far.
func (p *Process) Stderr() string { return p.stderr.String() }

// buffer is a bytes.Buffer that may be read while it is written.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(data)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
