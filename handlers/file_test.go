package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func openFile(t *testing.T, path string) *File {
	t.Helper()
	f, err := NewFile(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// readLines returns the file's lines, each of which must be a CloudEvent.
func readLines(t *testing.T, path string) []line {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var lines []line
	for raw := range bytes.Lines(content) {
		require.Equal(t, byte('\n'), raw[len(raw)-1], "last line is torn")
		var l line
		require.NoError(t, json.Unmarshal(raw, &l), "line %q", raw)
		require.Equal(t, "1.0", l.SpecVersion)
		lines = append(lines, l)
	}
	return lines
}

func ids(lines []line) []string {
	out := []string{}
	for _, l := range lines {
		out = append(out, l.ID)
	}
	return out
}

func TestFile_AppendsOneLinePerEvent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out.ndjson")
	f := openFile(t, path)
	const indented = "{\n  \"n\": 130775545883395173\n}"
	require.NoError(t, f.Handle(t.Context(), newEvent("1", `{"a":[]}`)))
	require.NoError(t, f.Handle(t.Context(), newEvent("2", indented)))
	require.NoError(t, f.Close())

	// A second run adds to the file.
	f = openFile(t, path)
	require.NoError(t, f.Handle(t.Context(), newEvent("3", "\x00\xff")))
	lines := readLines(t, path)
	require.Equal(t, []string{"1", "2", "3"}, ids(lines))
	require.Equal(t, `{"a":[]}`, string(lines[0].Data))
	require.Equal(t, indented, string(lines[1].Base64))
	require.Equal(t, "\x00\xff", string(lines[2].Base64))
}

func TestFile_SucceedsOnlyAfterSync(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := openFile(t, filepath.Join(t.TempDir(), "out"))
		release := make(chan struct{})
		f.fsync = func(file *os.File) error { <-release; return file.Sync() }
		var result atomic.Value
		go func() { result.Store(fmt.Sprint(f.Handle(t.Context(), newEvent("1", "1")))) }()
		synctest.Wait()
		require.Nil(t, result.Load(), "returned before the sync")
		close(release)
		synctest.Wait()
		require.Equal(t, "<nil>", result.Load())
	})
}

func TestFile_ConcurrentCallsShareOneSync(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	synctest.Test(t, func(t *testing.T) {
		f := openFile(t, path)
		release := make(chan struct{})
		var syncs, writes atomic.Int32
		f.fsync = func(file *os.File) error { syncs.Add(1); <-release; return file.Sync() }
		f.out.write = func(file *os.File, p []byte) (int, error) { writes.Add(1); return file.Write(p) }
		var calls sync.WaitGroup
		handle := func(i int) {
			calls.Go(func() {
				if err := f.Handle(t.Context(), newEvent(fmt.Sprint(i), "1")); err != nil {
					t.Error(err)
				}
			})
		}
		handle(0)
		synctest.Wait() // the first is in its sync
		for i := 1; i < 100; i++ {
			handle(i)
		}
		synctest.Wait()
		close(release)
		calls.Wait()
		require.EqualValues(t, 2, syncs.Load())
		require.EqualValues(t, 2, writes.Load())
	})
	require.Len(t, readLines(t, path), 100)
}

func TestFile_FailedSyncFailsTheWholeBatchOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	broken := errors.New("broken disk")
	synctest.Test(t, func(t *testing.T) {
		f := openFile(t, path)
		f.fsync = func(*os.File) error { return broken }
		require.ErrorIs(t, f.Handle(t.Context(), newEvent("1", "1")), broken)
		f.fsync = (*os.File).Sync
		require.NoError(t, f.Handle(t.Context(), newEvent("1", "1")))
	})
	require.Equal(t, []string{"1", "1"}, ids(readLines(t, path)))
}

func TestFile_SeveralOnOnePath(t *testing.T) {
	t.Parallel()
	const files, callers, each = 3, 20, 10
	path := filepath.Join(t.TempDir(), "out")
	var calls sync.WaitGroup
	for n := range files {
		f := openFile(t, path)
		for c := range callers {
			calls.Go(func() {
				for i := range each {
					id := fmt.Sprintf("%d-%d-%d", n, c, i)
					if err := f.Handle(t.Context(), newEvent(id, `"some payload"`)); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	calls.Wait()
	seen := map[string]int{}
	for _, id := range ids(readLines(t, path)) {
		seen[id]++
	}
	require.Len(t, seen, files*callers*each)
}

func TestFile_ContextEnds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	synctest.Test(t, func(t *testing.T) {
		f := openFile(t, path)
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		release := make(chan struct{})
		f.fsync = func(file *os.File) error { <-release; return file.Sync() }
		result := make(chan error)
		go func() { result <- f.Handle(ctx, newEvent("1", "1")) }()
		synctest.Wait()
		cancel(why)
		require.ErrorIs(t, <-result, why, "while its batch is committed")
		close(release)
		synctest.Wait()
		require.ErrorIs(t, f.Handle(ctx, newEvent("2", "1")), why, "before it is written")
	})
	require.Equal(t, []string{"1"}, ids(readLines(t, path)))
}

func TestFile_Close(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	f := openFile(t, path)
	var calls sync.WaitGroup
	var written atomic.Int32
	started := make(chan struct{}, 50)
	for i := range 50 {
		calls.Go(func() {
			started <- struct{}{}
			switch err := f.Handle(t.Context(), newEvent(fmt.Sprint(i), "1")); {
			case err == nil:
				written.Add(1)
			case !errors.Is(err, os.ErrClosed):
				t.Error(err)
			}
		})
	}
	for range 25 {
		<-started
	}
	calls.Go(func() { _ = f.Close() })
	require.NoError(t, f.Close())
	calls.Wait()
	require.Len(t, readLines(t, path), int(written.Load()))
	require.ErrorIs(t, f.Handle(t.Context(), newEvent("x", "1")), os.ErrClosed)
	require.NoError(t, f.Close())
	require.Len(t, readLines(t, path), int(written.Load()))
}

func TestFile_CloseWaitsForCallsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := openFile(t, filepath.Join(t.TempDir(), "out"))
		release := make(chan struct{})
		f.fsync = func(file *os.File) error { <-release; return file.Sync() }
		handled, closed := make(chan error, 1), make(chan error, 1)
		go func() { handled <- f.Handle(t.Context(), newEvent("1", "1")) }()
		synctest.Wait()
		go func() { closed <- f.Close() }()
		synctest.Wait()
		require.Empty(t, closed)
		close(release)
		require.NoError(t, <-handled)
		require.NoError(t, <-closed)
	})
}

func BenchmarkFile_Handle(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			f, err := NewFile(filepath.Join(b.TempDir(), "out"))
			require.NoError(b, err)
			event := newEvent("1", `{"some":"payload"}`)
			b.SetParallelism(callers)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := f.Handle(b.Context(), event); err != nil {
						b.Error(err)
					}
				}
			})
			require.NoError(b, f.Close())
		})
	}
}
