// Command eventbus runs and steers an event bus on Redis. See eventbus --help.
package main

import (
	"context"
	"os"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/cli"
	"github.com/seed4933/eventbus/cmd/eventbus/internal/stop"
)

func main() {
	// What go-redis logs of its connections comes back as errors of its calls.
	redis.SetLogger(silent{})
	// Calls of the admin service go on when their client goes away, so that nothing
	// need look for that: a goroutine and a ticker a call.
	thrift.ServerConnectivityCheckInterval = 0
	code := cli.Main(stop.Soft(context.Background()), cli.Env{
		Args: os.Args[1:], Getenv: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	})
	os.Exit(code)
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
