package port

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// child is a server in a process of its own, whose memory can be told from
// that of the test.
type child struct {
	addr string
	cmd  *exec.Cmd
	in   io.Writer
	out  *bufio.Scanner
}

// startChild starts one, with a limit for its open files when that is not 0.
func startChild(t *testing.T, files int) *child {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self) // it ends with its input
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", childEnv, files))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := &child{cmd: cmd, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(func() {
		_ = in.Close()
		require.NoError(t, cmd.Wait(), "the server has ended with an error")
	})
	c.addr = c.line(t)
	return c
}

func (c *child) line(t *testing.T) string {
	t.Helper()
	require.True(t, c.out.Scan(), "the server has ended")
	return c.out.Text()
}

// memory collects the child's garbage and returns its memory, from where on the
// peak is measured; or, when end is true, the peak.
func (c *child) memory(t *testing.T, end bool) int64 {
	t.Helper()
	command := "begin"
	if end {
		command = "end"
	}
	_, err := fmt.Fprintln(c.in, command)
	require.NoError(t, err)
	var n int64
	_, err = fmt.Sscan(c.line(t), &n)
	require.NoError(t, err)
	return n
}

// serveAsChild serves until its input ends.
func serveAsChild() error {
	var files int
	if _, err := fmt.Sscan(os.Getenv(childEnv), &files); err != nil {
		return err
	}
	if err := limitFiles(files); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	mux := http.NewServeMux()
	s := New(Config{Processor: newProcessor(newFakeAdmin()), HTTP: mux, Log: log})
	mux.Handle("/thrift", s.ThriftHandler())
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	fmt.Println(l.Addr())
	var peak atomic.Int64
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
				peak.Store(max(peak.Load(), inUse()))
			}
		}
	}()
	for commands := bufio.NewScanner(os.Stdin); commands.Scan(); {
		if commands.Text() == "begin" {
			runtime.GC()
			peak.Store(inUse())
		}
		fmt.Println(peak.Load())
	}
	close(done)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		return err
	}
	return <-served
}

// inUse is the memory that the process uses, garbage included.
func inUse() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
