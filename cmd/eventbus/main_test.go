package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/scratch"
	"github.com/seed4933/eventbus/internal/redistest"
)

// What the tests of this package share: the binary, as users run it, and a real
// server, on which each test has a namespace of its own.
var (
	binary string
	server *redistest.Server
)

func TestMain(m *testing.M) {
	redis.SetLogger(silent{})
	var end func() error
	dir, err := os.MkdirTemp("", "eventbus-cli")
	if err == nil {
		binary, err = build(dir)
	}
	if err == nil {
		server, end, err = redistest.Shared(redistest.Options{})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent(), goleak.Cleanup(func(code int) {
		if err := errors.Join(end(), os.RemoveAll(dir)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
		os.Exit(code)
	}))
}

func build(dir string) (string, error) {
	path := filepath.Join(dir, "eventbus")
	args := []string{"build", "-o", path}
	if raceEnabled {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	return path, nil
}

// patience bounds every wait: for what should take a moment.
const patience = 30 * time.Second

// bed is a test's world: the shared server and a namespace of its own.
type bed struct {
	t         *testing.T
	url       string
	stop      func() // of the server
	namespace string
	rdb       *redis.Client
	dir       string
	env       []string
	group     string // of the admin service; "" for the default
	admin     string // the address of the admin service that commands go through; "" for none
}

func setup(t *testing.T) *bed {
	t.Parallel()
	return setupOn(t, server)
}

// setupOn is a bed on a server.
func setupOn(t *testing.T, s *redistest.Server) *bed {
	b := &bed{t: t, url: s.URL(), stop: s.Kill, namespace: scratch.Name("test"), dir: t.TempDir()}
	opts, err := redis.ParseURL(b.url)
	require.NoError(t, err)
	b.rdb = redis.NewClient(opts)
	t.Cleanup(func() { require.NoError(t, b.rdb.Close()) })
	return b
}

// ownThrift in a bed's env leaves to serve where its Thrift port listens.
const ownThrift = "TEST_THRIFT=1"

// command is a call of the binary with the bed's server and namespace.
func (b *bed) command(args ...string) *exec.Cmd {
	if len(args) > 0 && args[0] == "serve" && !slices.Contains(args, "--thrift") && !slices.Contains(b.env, ownThrift) {
		args = append(args, "--thrift", "") // tests side by side cannot all have the default port
	}
	c := exec.Command(binary, args...)
	c.Dir = b.dir
	c.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir, "GORACE=halt_on_error=1",
		"EVENTBUS_REDIS=" + b.url, "EVENTBUS_NAMESPACE=" + b.namespace,
	}, b.env...)
	return c
}

// result is what a call came to.
type result struct {
	code     int
	out, err string
}

func (b *bed) call(stdin io.Reader, args ...string) result {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	c := b.command(args...)
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = stdin, &out, &errs
	require.NoError(b.t, c.Start())
	defer context.AfterFunc(ctx, func() { _ = c.Process.Kill() })()
	err := c.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(b.t, err)
	}
	require.NoError(b.t, ctx.Err(), "%v took too long", args)
	return result{c.ProcessState.ExitCode(), out.String(), errs.String()}
}

// ok demands success without a word on stderr, and returns the answer.
func (b *bed) ok(args ...string) string {
	b.t.Helper()
	return b.okIn("", args...)
}

func (b *bed) okIn(stdin string, args ...string) string {
	b.t.Helper()
	r := b.call(strings.NewReader(stdin), args...)
	require.Equal(b.t, 0, r.code, "%v: %s", args, r.err)
	require.Empty(b.t, r.err)
	return r.out
}

// fails demands the exit code and exactly one line on stderr, without what a
// terminal would obey, and returns the line.
func (b *bed) fails(code int, args ...string) string {
	b.t.Helper()
	r := b.call(nil, args...)
	require.Equal(b.t, code, r.code, "%v: %s%s", args, r.out, r.err)
	require.Empty(b.t, r.out, "%v", args)
	return b.oneLine(r.err)
}

func (b *bed) oneLine(text string) string {
	b.t.Helper()
	require.Equal(b.t, 1, strings.Count(text, "\n"), "one line: %q", text)
	require.True(b.t, strings.HasPrefix(text, "eventbus: ") && strings.HasSuffix(text, "\n"), "%q", text)
	require.False(b.t, strings.ContainsFunc(strings.TrimSuffix(text, "\n"), control), "%q", text)
	return strings.TrimSuffix(text, "\n")
}

func control(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }

// file writes a file into the bed's directory and returns its path.
func (b *bed) file(name, text string) string {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	require.NoError(b.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// keys lists what is left of a namespace's prefix on the server.
func (b *bed) keys(pattern string) []string {
	b.t.Helper()
	var all []string
	it := b.rdb.Scan(b.t.Context(), 0, pattern, 1000).Iterator()
	for it.Next(b.t.Context()) {
		all = append(all, it.Val())
	}
	require.NoError(b.t, it.Err())
	return all
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// free returns an address of this machine on which nobody listens.
func (b *bed) free() string {
	b.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b.t, err)
	require.NoError(b.t, l.Close())
	return l.Addr().String()
}
