// Command github-webhooks sends 329 real webhook payloads, each as an event of
// the topic github.<name>, through a real Redis to three handlers in two
// processes: one appends to a file, one is a typed Go function, one posts to a
// webhook that fails now and then. Half way it kills one of the processes. At the
// end it shows that each payload has reached each handler, byte for byte, and
// what was retried and replayed.
//
//	github-webhooks INDEX.JSON    with REDIS_URL, or redis-server on the PATH
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case os.Getenv(workerEnv) != "":
		err = work(ctx)
	case len(os.Args) == 2:
		ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
		defer cancel()
		err = run(ctx, os.Args[1])
	default:
		fmt.Fprintln(os.Stderr, "usage: github-webhooks INDEX.JSON (api.github.com/index.json of the npm package @octokit/webhooks-examples)")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "github-webhooks:", err)
		os.Exit(1)
	}
}
