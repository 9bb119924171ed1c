package redistest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// child is a process that this one started and will reap.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed once the process is reaped
	err  error         // what Wait returned; to be read after done
}

// spawn starts cmd such that it does not outlive this process, however this
// one ends. Linux can send a signal when the parent dies, but takes the parent
// to be the thread that forked, not the process. Go ends a thread when a
// goroutine returns that is locked to it, which would kill the children that
// happened to be started there. So each child gets a goroutine that locks its
// thread before the fork and keeps it until the child is reaped; the price is
// one idle thread per child.
func spawn(cmd *exec.Cmd) (*child, error) {
	dieWithParent(cmd)
	// A grandchild that inherited the output must not hold up the reaping.
	cmd.WaitDelay = time.Second
	c := &child{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		c.err = cmd.Wait()
		close(c.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return c, nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) running() bool {
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// signal sends sig. A process that has ended already is no error.
func (c *child) signal(sig os.Signal) error {
	if err := c.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %v to process %d: %w", sig, c.pid(), err)
	}
	return nil
}

// kill ends the process at once and returns when it is reaped. A stopped
// process dies of it too.
func (c *child) kill() error {
	if err := c.signal(os.Kill); err != nil {
		return err
	}
	<-c.done
	return nil
}
