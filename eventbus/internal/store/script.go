package store

import (
	"context"
	"embed"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed scripts/*.lua scripts/lib/*.lua
var scriptFiles embed.FS

// script is a script's text and its digest, by which a server knows it.
type script struct{ text, digest string }

// scripts maps the name of a file in scripts/ without its ending to its script. A
// line "-- include NAME" in it stands for the text of lib/NAME.lua.
type scripts map[string]script

var include = regexp.MustCompile(`(?m)^-- include (\w+)\n`)

func loadScripts() scripts {
	all := scripts{}
	names, err := fs.Glob(scriptFiles, "scripts/*.lua")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for _, name := range names {
		text, err := scriptFiles.ReadFile(name)
		if err != nil {
			panic(err) // the file is embedded
		}
		whole := include.ReplaceAllStringFunc(string(text), func(line string) string {
			part, err := scriptFiles.ReadFile("scripts/lib/" + include.FindStringSubmatch(line)[1] + ".lua")
			if err != nil {
				panic(err) // likewise
			}
			return string(part)
		})
		all[strings.TrimSuffix(path.Base(name), ".lua")] = script{text: whole, digest: redis.NewScript(whole).Hash()}
	}
	return all
}

// once is a call that is not repeated by the client when its reply is lost, also
// not by a ClusterClient, which repeats others whatever its MaxRetries says. It
// still follows MOVED and ASK.
type once struct{ redis.Cmder }

func (once) NoRetry() bool { return true }

// eval runs a script.
func (s *Store) eval(ctx context.Context, name string, keys []string, args ...any) *redis.Cmd {
	return evalAs(ctx, s, redis.NewCmd, name, keys, args)
}

// evalAs runs a script by its digest, and by its text where the server does not
// know it (after a restart, a failover, SCRIPT FLUSH): the server answers NOSCRIPT
// before anything has run, so that the second call is no repetition. newCmd makes
// the command that reads the reply.
func evalAs[C redis.Cmder](ctx context.Context, s *Store, newCmd func(context.Context, ...any) C, name string, keys []string, args []any) C {
	ctx, cancel := Within(ctx, callTimeout+transferTime(args))
	defer cancel()
	script := s.scripts[name]
	all := make([]any, 3, 3+len(keys)+len(args))
	all[0], all[1], all[2] = "evalsha", script.digest, len(keys)
	for i := range keys {
		all = append(all, &keys[i]) // a pointer, which costs no memory of its own
	}
	all = append(all, args...)
	cmd := newCmd(ctx, all...)
	cmd.SetFirstKeyPos(3)
	_ = s.rdb.Process(ctx, once{cmd}) // cmd has the error too
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		all[0], all[1] = "eval", script.text
		cmd = newCmd(ctx, all...)
		cmd.SetFirstKeyPos(3)
		_ = s.rdb.Process(ctx, once{cmd}) // likewise
	}
	return cmd
}

// transferTime is what large arguments may take beside the call itself.
func transferTime(args []any) time.Duration {
	size := 0
	for _, a := range args {
		if b, ok := a.([]byte); ok {
			size += len(b)
		}
	}
	return timeFor(size)
}

// timeFor is what so many bytes may take on a slow network: half a second for
// each MiB.
func timeFor(bytes int) time.Duration {
	return time.Duration(bytes>>20) * 500 * time.Millisecond
}
