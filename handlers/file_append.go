package handlers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// lineGuard is the first byte of every batch: written only where the file does
// not end with a newline, and otherwise left out. So ending a torn line and
// adding the batch is one write.
const lineGuard = '\n'

// appender writes batches of whole lines to the end of the file at path.
type appender struct {
	path string
	file *os.File // nil after a failed reopening
	// write is (*os.File).Write when nil.
	write func(*os.File, []byte) (int, error)
}

// open opens the file and makes sure that its name is on disk as well.
func (a *appender) open() error {
	// Looked at before it is opened: opening a pipe would block.
	if info, err := os.Stat(a.path); err == nil && !info.Mode().IsRegular() {
		reason := "it is not a regular file; events can be synced to a regular file only"
		if info.IsDir() {
			reason = "it is a directory; give the path of a file in it"
		}
		return a.invalid(reason, nil)
	}
	file, err := os.OpenFile(a.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return a.invalid(fmt.Sprintf("directory %s does not exist; create it first", filepath.Dir(a.path)), err)
	case errors.Is(err, fs.ErrPermission):
		return a.invalid("this process may not read and write it; change its owner or mode", err)
	case err != nil:
		return a.invalid(fmt.Sprintf("it cannot be opened (%v)", withoutPath(err)), err)
	}
	if err := syncDir(filepath.Dir(a.path)); err != nil {
		return errors.Join(fmt.Errorf("sync directory of %s: %w", a.path, err), file.Close())
	}
	a.file = file
	return nil
}

// withoutPath drops the path, which the message names already.
func withoutPath(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

func (a *appender) invalid(reason string, err error) error {
	return invalid("path", strconv.Quote(a.path), reason, err)
}

// append writes a batch, of which the first byte is lineGuard. The cost beside
// the write is two locks, two stats and a read of one byte.
func (a *appender) append(lines []byte) error {
	if err := a.follow(); err != nil {
		return err
	}
	if err := lockFile(a.file); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	defer unlockFile(a.file) // an error is without effect: closing unlocks too
	info, err := a.file.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	whole, err := a.endsWhole(size)
	if err != nil {
		return err
	}
	if whole {
		lines = lines[1:]
	}
	write := a.write
	if write == nil {
		write = (*os.File).Write
	}
	n, err := write(a.file, lines)
	if err != nil {
		return errors.Join(err, a.cut(size, int64(n)))
	}
	return nil
}

// follow opens the file anew when the path no longer leads to it. Writing on
// would report success for lines in a file that is gone.
func (a *appender) follow() error {
	if a.file != nil {
		here, err := a.file.Stat()
		if err != nil {
			return err
		}
		there, err := os.Stat(a.path)
		if err == nil && os.SameFile(here, there) {
			return nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := a.close(); err != nil {
			return err
		}
	}
	return a.open()
}

// endsWhole tells whether the file is empty or ends with a newline. It does not
// where a process died in the middle of a write.
func (a *appender) endsWhole(size int64) (bool, error) {
	if size == 0 {
		return true, nil
	}
	var last [1]byte
	if _, err := a.file.ReadAt(last[:], size-1); err != nil {
		return false, err
	}
	return last[0] == '\n', nil
}

// cut takes the n bytes that a failed write left behind size off again. When
// somebody who does not take the lock has appended meanwhile, or where there is
// no lock, they stay, and the next batch ends them with a newline.
func (a *appender) cut(size, n int64) error {
	if n == 0 || !canLock {
		return nil
	}
	info, err := a.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != size+n {
		return nil
	}
	return a.file.Truncate(size)
}

func (a *appender) close() error {
	if a.file == nil {
		return nil
	}
	file := a.file
	a.file = nil
	return file.Close()
}
