//go:build !linux

package redistest

import "os/exec"

// dieWithParent does nothing: only Linux can tie a child to its parent. The
// cleanups of the tests end the children; a killed test binary leaves them.
func dieWithParent(*exec.Cmd) {}

// awaitStopped does not wait: there is no portable way to see the state.
func (c *child) awaitStopped() error { return nil }
