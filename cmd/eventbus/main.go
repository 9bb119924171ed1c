// Command eventbus runs and steers an event bus on Redis. See eventbus --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/cli"
)

func main() {
	// What go-redis logs of its connections comes back as errors of its calls.
	redis.SetLogger(silent{})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal a second one ends the process, unless the command
	// itself waits for it.
	context.AfterFunc(ctx, stop)
	code := cli.Main(ctx, cli.Env{
		Args: os.Args[1:], Getenv: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	})
	os.Exit(code)
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
