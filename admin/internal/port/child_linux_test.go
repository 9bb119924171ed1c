//go:build linux

package port

import "golang.org/x/sys/unix"

func limitFiles(files int) error {
	if files == 0 {
		return nil
	}
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(files), Max: uint64(files)})
}
