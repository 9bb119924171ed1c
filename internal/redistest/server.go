package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	binary       = "redis-server"
	logFile      = "redis.log"
	startTimeout = 60 * time.Second // a loaded machine, or a long append-only file
	stopTimeout  = 10 * time.Second
)

// errPortTaken says that somebody else listens on the server's port.
var errPortTaken = errors.New("port is taken")

// Server is a redis-server process that belongs to one test.
type Server struct {
	t        testing.TB // nil for a Shared one
	options  Options
	dir      string
	claim    *claim
	password atomic.Value // string: what clients must give now
	admin    *redis.Client
	sent     tally // what admin sent since the server started

	mu    sync.Mutex // held by whoever changes the state of the process
	child *child     // nil before the first start
}

// Start runs the redis-server on the PATH on a free port of 127.0.0.1, in a
// temporary directory of the test, and returns when it answers. It is stopped
// when the test ends. Without a redis-server the test fails.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := open(t.TempDir(), o)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	s.t = t
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Errorf("redistest: %v", err)
		}
	})
	return s
}

// open starts a server in dir, on one port after another until it can bind one.
func open(dir string, o Options) (*Server, error) {
	if _, err := exec.LookPath(binary); err != nil {
		return nil, fmt.Errorf("find %s, which these tests need on the PATH (Debian: apt-get install redis-server): %w", binary, err)
	}
	var offsets []int
	if o.Cluster {
		offsets = []int{busOffset}
	}
	var failures []error
	for range bindTries {
		claim, err := claimPort(offsets...)
		if err != nil {
			return nil, err
		}
		s := &Server{options: o, dir: dir, claim: claim}
		s.password.Store(o.Password)
		s.admin = s.newAdmin()
		err = s.start()
		if err == nil {
			return s, nil
		}
		failures = append(failures, err, s.close())
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	return nil, errors.Join(failures...)
}

func (s *Server) close() error {
	return errors.Join(s.stop(), s.admin.Close(), s.claim.release())
}

// Addr returns the server's host and port.
func (s *Server) Addr() string { return s.claim.addr() }

// URL returns the server's address as redis:// URL, with the password.
func (s *Server) URL() string {
	u := url.URL{Scheme: "redis", Host: s.Addr(), Path: "/0"}
	if password := s.secret(); password != "" {
		u.User = url.UserPassword("", password)
	}
	return u.String()
}

// Options returns new options with address and password; all else is go-redis's
// default.
func (s *Server) Options() *redis.Options {
	return &redis.Options{Addr: s.Addr(), Password: s.secret()}
}

// Client returns a new client of the server, which is closed when t ends.
func (s *Server) Client(t testing.TB) *redis.Client {
	return closing(t, redis.NewClient(s.Options()))
}

// SetPassword changes the password that the server demands; the empty one means
// none. Admin, and what Options, URL and Client return from then on, use the new
// one. Connections that are authenticated already stay so, as always in Redis.
func (s *Server) SetPassword(password string) {
	if err := s.admin.ConfigSet(context.Background(), "requirepass", password).Err(); err != nil {
		s.report(fmt.Errorf("set the password: %w", err))
		return
	}
	s.password.Store(password)
}

func (s *Server) secret() string { return s.password.Load().(string) }

// Start starts the server again, after Stop, Kill or a SHUTDOWN, on the same
// port and directory, and returns when it answers. It does nothing when the
// server runs.
func (s *Server) Start() { s.report(s.start()) }

// Stop ends the server as its administrator would (SIGTERM): clients are cut
// off, the append-only file is complete, and a snapshot is written only where
// Extra asks for snapshots. It does nothing when the server does not run.
func (s *Server) Stop() { s.report(s.stop()) }

// Restart is Stop, then Start.
func (s *Server) Restart() {
	s.Stop()
	s.Start()
}

// Kill ends the server with SIGKILL and returns when it is gone.
func (s *Server) Kill() {
	s.report(s.with(func(c *child) error { return c.kill() }))
}

// Pause stops the process with SIGSTOP: its connections stay up, and once Pause
// has returned it answers nothing until Resume. Stop and Kill work on it.
func (s *Server) Pause() {
	s.report(s.with(func(c *child) error {
		if err := c.signal(syscall.SIGSTOP); err != nil {
			return err
		}
		return c.awaitStopped()
	}))
}

// Resume lets a paused server go on.
func (s *Server) Resume() {
	s.report(s.with(func(c *child) error { return c.signal(syscall.SIGCONT) }))
}

func (s *Server) report(err error) {
	switch {
	case err == nil:
	case s.t == nil:
		panic(fmt.Errorf("redistest: %w", err))
	default:
		s.t.Errorf("redistest: %v", err)
	}
}

// with calls f with the process, if it runs.
func (s *Server) with(f func(c *child) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child == nil || !s.child.running() {
		return nil
	}
	return f(s.child)
}

func (s *Server) stop() error {
	return s.with(func(c *child) error {
		// A paused process handles its SIGTERM once it is let go on.
		if err := errors.Join(c.signal(syscall.SIGTERM), c.signal(syscall.SIGCONT)); err != nil {
			return err
		}
		select {
		case <-c.done:
			return nil
		case <-time.After(stopTimeout):
			// A running script, or an append-only file that cannot be written,
			// holds a soft stop up.
			return c.kill()
		}
	})
}

func (s *Server) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child != nil && s.child.running() {
		return nil
	}
	conf := filepath.Join(s.dir, "redis.conf")
	if err := os.WriteFile(conf, s.options.file(s.claim.port, s.secret()), 0o600); err != nil {
		return fmt.Errorf("write the configuration of %s: %w", binary, err)
	}
	log, err := os.OpenFile(filepath.Join(s.dir, logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", binary, err)
	}
	defer log.Close() // the child has its own descriptor
	skew, err := skewed(s.dir, s.options.Skew)
	if err != nil {
		return err
	}
	args := []string{conf}
	if s.options.sentinel {
		args = append(args, "--sentinel")
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), skew...)
	cmd.Stdout, cmd.Stderr = log, log
	s.child, err = spawn(cmd)
	if err != nil {
		return err
	}
	if err := s.awaitReady(s.child); err != nil {
		return errors.Join(err, s.child.kill())
	}
	return nil
}

// awaitReady returns when this very process answers a PING.
func (s *Server) awaitReady(c *child) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		last := s.answers(ctx, c.pid())
		if last == nil && s.options.sentinel {
			return nil // it counts no commands
		}
		if last == nil {
			// So that what was sent up to here, perhaps without an answer, does not
			// count.
			return s.admin.ConfigResetStat(ctx).Err()
		}
		select {
		case <-c.done:
			if !portFree(s.claim.port) {
				return fmt.Errorf("start %s on %s: %w", binary, s.Addr(), errPortTaken)
			}
			return fmt.Errorf("start %s on %s: it ended: %v; it says:\n%s", binary, s.Addr(), c.err, s.lastLog())
		case <-ctx.Done():
			return fmt.Errorf("start %s on %s: no answer within %v: %w; it says:\n%s", binary, s.Addr(), startTimeout, last, s.lastLog())
		case <-tick.C:
		}
	}
}

// answers returns nil when the process pid listens on the port and is ready.
func (s *Server) answers(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	// Asking by hand first spares the client's pool: after some failed dials it
	// tries only once a second.
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", s.Addr())
	if err != nil {
		return err
	}
	if err := conn.Close(); err != nil {
		return err
	}
	if err := s.admin.Ping(ctx).Err(); err != nil {
		return err
	}
	info, err := s.admin.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "process_id:"); ok && value == strconv.Itoa(pid) {
			return nil
		}
	}
	return fmt.Errorf("another process than %d answers on %s: %w", pid, s.Addr(), errPortTaken)
}

func (s *Server) lastLog() string {
	const most = 2000
	log, err := os.ReadFile(filepath.Join(s.dir, logFile))
	if err != nil {
		return err.Error()
	}
	return string(log[max(0, len(log)-most):])
}
