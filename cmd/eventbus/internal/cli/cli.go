// Package cli is the command line of the one binary: it reads flags, the
// environment and the settings file, calls the bus, and writes the answer. Each
// command has a file; what is shown of the bus's types stands in views.go.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/redisurl"
	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
)

// Env is the world of one call of the program.
type Env struct {
	Args   []string // without the program's name
	Getenv func(name string) string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// Main runs the program and returns its exit code. When ctx ends, it stops
// cleanly. On a failure it writes one line to Stderr.
func Main(ctx context.Context, env Env) int {
	a := &app{env: env}
	root := a.root()
	root.SetArgs(env.Args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	err := errors.Join(root.ExecuteContext(ctx), a.noHelp)
	if err == nil {
		return exitDone
	}
	fmt.Fprintln(env.Stderr, "eventbus: "+show.Line(a.explain(ctx, err)))
	return exitCode(err)
}

// app is what the commands of one call share.
type app struct {
	env   Env
	flags flags
	out   *show.Printer

	// For errors: what was called and what it is about, each once it is known.
	command *cobra.Command
	where   string          // which server and namespace
	target  redisurl.Target // where that is
	remote  bool            // it is an admin service, and target is not known
	secure  bool            // that is reached by TLS
	origin  origin          // what set the names
	noHelp  error           // help was asked on something that there is not
}

// origin says what set the names, such as --group or EVENTBUS_GROUP.
type origin struct{ namespace, group string }

const long = `eventbus runs and steers an event bus on Redis: topics, handlers, events that
are kept until they are handled, failures that are kept and replayed.

Each setting is taken from its flag, else from its environment variable, else
from the settings file (--config), else it has its default.

Exit codes: 0 done; 1 failed, with one line on stderr; 2 wrong usage.`

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:               "eventbus",
		Short:             "An event bus on Redis",
		Long:              long,
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return a.begin(c) },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return wrongUsage("%w; see %s --help", flagError(err), c.CommandPath())
	})
	a.flags.register(root.PersistentFlags())
	a.group(root, a.demo(), a.serve(), a.topic(), a.handler(), a.send(), a.delayed(), a.failures(), a.stats(), a.consumers(), a.bench())
	a.help(root)
	return root
}

// begin checks the flags that all commands have.
func (a *app) begin(c *cobra.Command) error {
	a.command = c
	switch a.flags.output {
	case "table", "json":
	default:
		return wrongUsage("-o is %q; table or json is right", a.flags.output)
	}
	a.out = show.NewPrinter(a.env.Stdout, a.flags.output == "json")
	return nil
}

// args demands the arguments that a command's usage names: one for each name,
// and any number for a last one in brackets.
func args(names ...string) cobra.PositionalArgs {
	more := len(names) > 0 && strings.HasPrefix(names[len(names)-1], "[")
	if more {
		names = names[:len(names)-1]
	}
	return func(c *cobra.Command, given []string) error {
		switch n := len(names); {
		case len(given) < n:
			is := "is"
			if n-len(given) > 1 {
				is = "are"
			}
			return wrongUsage("%s %s missing; see %s --help", strings.Join(names[len(given):], " and "), is, c.CommandPath())
		case len(given) > n && !more:
			return wrongUsage("the argument %q is one too many; see %s --help", given[n], c.CommandPath())
		}
		return nil
	}
}

// version is the module's, as the build knows it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return "eventbus " + info.Main.Version
	}
	return "eventbus (devel)"
}
