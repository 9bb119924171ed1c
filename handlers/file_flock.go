//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package handlers

import (
	"errors"
	"os"
	"syscall"
)

// canLock says that lockFile keeps other processes out.
const canLock = true

// lockFile waits until this process alone holds the lock of the file. The
// kernel drops the lock of a process that dies.
func lockFile(f *os.File) error { return flock(f, syscall.LOCK_EX) }

func unlockFile(f *os.File) error { return flock(f, syscall.LOCK_UN) }

func flock(f *os.File, how int) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		for {
			failed = syscall.Flock(int(fd), how)
			if !errors.Is(failed, syscall.EINTR) {
				return
			}
		}
	})
	return errors.Join(err, failed)
}

// syncDir brings a directory's entries to disk: an fsync of a new file alone
// leaves its name unsaved.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
