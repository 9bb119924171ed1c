//go:build unix

package port

import (
	"math"

	"golang.org/x/sys/unix"
)

// openFiles returns how many files the process may open, 0 when that is unknown
// or more than an int holds.
func openFiles() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	if files := uint64(limit.Cur); files <= math.MaxInt32 { // it is signed on some systems
		return int(files)
	}
	return 0
}
