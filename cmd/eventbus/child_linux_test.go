package main

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the child killed when this process ends, however it does.
func dieWithParent(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
