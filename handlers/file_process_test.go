//go:build unix

package handlers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// children are the roles that the test binary plays as a child process.
var children = map[string]func(args []string) error{
	"write":      childWrite,
	"limited":    childLimited,
	"permission": childPermission,
}

// child prepares the test binary in a role; it is killed when the test ends.
func child(t *testing.T, role string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), childEnv+"="+role)
	return cmd
}

// childWrite appends events until it is killed and prints the id of each after
// its Handle has returned.
func childWrite(args []string) error {
	f, err := NewFile(args[0])
	if err != nil {
		return err
	}
	var writers sync.WaitGroup
	failed := make(chan error, 16)
	for w := range cap(failed) {
		writers.Go(func() {
			payload := `"` + strings.Repeat("x", 1000*w) + `"`
			for i := 0; ; i++ {
				id := fmt.Sprintf("%s-%d-%d", args[1], w, i)
				if err := f.Handle(context.Background(), newEvent(id, payload)); err != nil {
					failed <- err
					return
				}
				// One write, and thus one line, though many write at once.
				_, _ = os.Stdout.WriteString(id + "\n")
			}
		})
	}
	writers.Wait()
	return <-failed
}

func TestFile_KilledWhileWriting(t *testing.T) {
	t.Parallel()
	const rounds, processes, acknowledged = 3, 2, 300
	path := filepath.Join(t.TempDir(), "out")
	var mu sync.Mutex
	handled := map[string]bool{}
	for round := range rounds {
		var running sync.WaitGroup
		for p := range processes {
			cmd := child(t, "write", path, fmt.Sprintf("%d-%d", round, p))
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			running.Go(func() {
				scanner := bufio.NewScanner(out)
				for n := 1; scanner.Scan(); n++ {
					mu.Lock()
					handled[scanner.Text()] = true
					mu.Unlock()
					if n == acknowledged {
						_ = cmd.Process.Kill()
					}
				}
				_ = cmd.Wait()
			})
		}
		running.Wait()
	}
	require.GreaterOrEqual(t, len(handled), rounds*processes*acknowledged)

	// The next process finds the file in order.
	f := openFile(t, path)
	require.NoError(t, f.Handle(t.Context(), newEvent("last", "1")))
	handled["last"] = true

	content, err := os.ReadFile(path)
	require.NoError(t, err)
	torn := 0
	for raw := range bytes.Lines(content) {
		var l line
		if json.Unmarshal(raw, &l) != nil {
			torn++
			continue
		}
		delete(handled, l.ID)
	}
	require.Empty(t, handled, "acknowledged, but not in the file")
	require.LessOrEqual(t, torn, rounds*processes, "at most one per kill")
}

// childLimited appends to a file that the kernel does not let grow beyond what
// one and a half events need.
func childLimited(args []string) error {
	f, err := NewFile(args[0])
	if err != nil {
		return err
	}
	event := newEvent("1", `"`+strings.Repeat("x", 8000)+`"`)
	size := uint64(len(event.AppendCloudEventLine(nil)))
	signal.Ignore(syscall.SIGXFSZ)
	limit := &syscall.Rlimit{Cur: size * 3 / 2, Max: size * 3}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, limit); err != nil {
		return err
	}
	if err := f.Handle(context.Background(), event); err != nil {
		return err
	}
	if err := f.Handle(context.Background(), event); !errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("second event: got %w, want EFBIG", err)
	}
	info, err := os.Stat(args[0])
	if err != nil {
		return err
	}
	if uint64(info.Size()) != size {
		return fmt.Errorf("file has %d bytes, want %d", info.Size(), size)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, limit); err != nil {
		return err
	}
	if err := f.Handle(context.Background(), event); err != nil {
		return err
	}
	return f.Close()
}

func TestFile_NoRoom(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	out, err := child(t, "limited", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, []string{"1", "1"}, ids(readLines(t, path)))
}

// childPermission gives up being root, for whom no file is forbidden.
func childPermission(args []string) error {
	if os.Geteuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			return err
		}
	}
	for _, path := range args {
		_, err := NewFile(path)
		if !errors.Is(err, fs.ErrPermission) || !errors.Is(err, eventbus.ErrInvalidArgument) {
			return fmt.Errorf("%s: got %w", path, err)
		}
	}
	return nil
}

func TestNewFile_NoPermission(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	readOnly := filepath.Join(dir, "read-only")
	require.NoError(t, os.WriteFile(readOnly, nil, 0o444))
	closed := filepath.Join(dir, "closed")
	require.NoError(t, os.Mkdir(closed, 0o555))
	out, err := child(t, "permission", readOnly, filepath.Join(closed, "out")).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestNewFile_Pipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := NewFile(path)
	require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
	require.ErrorContains(t, err, "not a regular file")
}
