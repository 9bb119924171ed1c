package redistest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"
)

func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// awaitStopped returns when the process is stopped by SIGSTOP. The signal is
// acted on a moment after it was sent, and in that moment a server can still
// answer.
func (c *child) awaitStopped() error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.After(5 * time.Second)
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.pid()))
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it has ended, which is as silent as stopped
		}
		if err != nil {
			return fmt.Errorf("read the state of process %d: %w", c.pid(), err)
		}
		// "pid (name) state …"; the name may hold spaces and parentheses.
		if i := bytes.LastIndexByte(stat, ')'); i >= 0 && i+2 < len(stat) && stat[i+2] == 'T' {
			return nil
		}
		select {
		case <-c.done:
			return nil
		case <-limit:
			return fmt.Errorf("process %d did not stop within 5 s of SIGSTOP", c.pid())
		case <-tick.C:
		}
	}
}
