//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package handlers

import "os"

// canLock says that lockFile keeps other processes out: here it does not.
const canLock = false

func lockFile(*os.File) error { return nil }

func unlockFile(*os.File) error { return nil }

// syncDir does nothing: directories cannot be synced on every such system.
func syncDir(string) error { return nil }
