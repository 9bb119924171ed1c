//go:build !linux

package main

import "os/exec"

// dieWithParent does nothing where the system has no means for it.
func dieWithParent(*exec.Cmd) {}
