package handlers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/seed4933/eventbus/eventbus"
)

// File is an EventHandle that appends each event to a file: one line, the
// CloudEvents JSON object (newline-delimited JSON). When Handle returns nil,
// the line is on disk.
//
// Calls that run at once share one write and one fsync (group commit). While a
// batch is being committed, the lines of further calls gather in the next one:
//
//	Handle ──┐                    ┌─ write ── fsync ── wake the batch's callers
//	Handle ──┼─ pending batch ────┤
//	Handle ──┘   (fills while     └─ then the next pending batch, until there
//	              this one runs)     is none
//
// What that survives:
//
//   - A process killed at any instant: every line whose Handle had returned nil
//     is there and whole. At most the last line is torn, and whoever writes next
//     ends it with a newline first, so that it spoils no other.
//   - Several processes on one file: each batch is written under an exclusive
//     lock of the file (flock), so that lines never mix. On systems without
//     flock one process at a time may have the file.
//   - A full disk or another error half way through a write: what was written of
//     the batch is cut off again, unless something else was appended meanwhile;
//     each call of the batch gets the error.
//   - Rotation: a file that was renamed or removed is seen before the next
//     batch, which goes to a new file under the path.
//
// A call whose context ends while its batch is being committed returns the
// context's error although its line may still reach the file, and so does the
// error of an fsync leave the lines where they are; the next attempt then writes
// the line again. Delivery is at least once.
type File struct {
	path  string
	fsync func(*os.File) error

	mu      sync.Mutex
	pending *batch // what the next commit takes; nil when nobody waits
	spare   []byte // a buffer to fill next
	running bool   // a goroutine is in commit
	closed  bool

	commits sync.WaitGroup
	closing sync.Once
	out     appender // of the goroutine in commit, then of Close
}

// batch is the lines that one write and one fsync bring to disk.
type batch struct {
	lines []byte // begins with lineGuard
	done  chan struct{}
	err   error // set before done is closed
}

// maxSpare bounds the buffer that is kept between batches, in bytes.
const maxSpare = 1 << 20

// NewFile opens the file at path for appending and creates it when it is not
// there (mode 0644 before umask). A path that cannot be used, because its
// directory does not exist, it is not a regular file, or permission is missing,
// is an *eventbus.ArgumentError, beside which errors.Is sees the cause, such as
// fs.ErrNotExist. Close the File when the bus has stopped.
func NewFile(path string) (*File, error) {
	if path == "" {
		return nil, invalid("path", "", "it is empty; give the file's path", nil)
	}
	// Made absolute so that a later change of directory does not move the file.
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find directory of %s: %w", path, err)
	}
	f := &File{path: absolute, fsync: (*os.File).Sync, out: appender{path: absolute}}
	if err := f.out.open(); err != nil {
		return nil, err
	}
	return f, nil
}

// Handle appends the event and returns when it is on disk, or when ctx ends.
// After Close its error wraps os.ErrClosed.
func (f *File) Handle(ctx context.Context, event *eventbus.Event) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("append to %s: %w", f.path, context.Cause(ctx))
	}
	b, err := f.join(event)
	if err != nil {
		return fmt.Errorf("append to %s: %w", f.path, err)
	}
	select {
	case <-b.done:
		if b.err != nil {
			return fmt.Errorf("append to %s: %w", f.path, b.err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for append to %s: %w", f.path, context.Cause(ctx))
	}
}

// join adds the event's line to the pending batch and sees to it that a
// goroutine will commit it.
func (f *File) join(event *eventbus.Event) (*batch, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, os.ErrClosed
	}
	if f.pending == nil {
		f.pending = &batch{lines: append(f.spare[:0], lineGuard), done: make(chan struct{})}
		f.spare = nil
	}
	f.pending.lines = event.AppendCloudEventLine(f.pending.lines)
	if !f.running {
		f.running = true
		f.commits.Go(f.commit)
	}
	return f.pending, nil
}

// commit brings batches to disk until none is pending. At most one goroutine
// is in it, and none while the File is idle.
func (f *File) commit() {
	for {
		f.mu.Lock()
		b := f.pending
		f.pending = nil
		f.running = b != nil
		f.mu.Unlock()
		if b == nil {
			return
		}
		lines := b.lines
		b.lines = nil
		b.err = f.out.append(lines)
		if b.err == nil {
			b.err = f.fsync(f.out.file)
		}
		close(b.done)
		if cap(lines) <= maxSpare {
			f.mu.Lock()
			f.spare = lines
			f.mu.Unlock()
		}
	}
}

// Close waits for the calls under way and closes the file. It is idempotent:
// later calls return nil.
func (f *File) Close() error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	var err error
	f.closing.Do(func() {
		f.commits.Wait()
		err = f.out.close()
	})
	return err
}
