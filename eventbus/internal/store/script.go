package store

import (
	"context"
	"embed"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed scripts/*.lua
var scriptFiles embed.FS

// script is a script's text and its digest, by which a server knows it.
type script struct{ text, digest string }

// scripts maps the name of a file in scripts/ without its ending to its script.
type scripts map[string]script

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
		all[strings.TrimSuffix(path.Base(name), ".lua")] = script{text: string(text), digest: redis.NewScript(string(text)).Hash()}
	}
	return all
}

// once is a call that is not repeated by the client when its reply is lost, also
// not by a ClusterClient, which repeats others whatever its MaxRetries says. It
// still follows MOVED and ASK.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// eval runs a script by its digest, and by its text where the server does not
// know it (after a restart, a failover, SCRIPT FLUSH): the server answers
// NOSCRIPT before anything has run, so that the second call is no repetition.
func (s *Store) eval(ctx context.Context, name string, keys []string, args ...any) *redis.Cmd {
	ctx, cancel := context.WithTimeout(ctx, callTimeout+transferTime(args))
	defer cancel()
	script := s.scripts[name]
	cmd := s.call(ctx, "evalsha", script.digest, keys, args)
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		cmd = s.call(ctx, "eval", script.text, keys, args)
	}
	return cmd
}

// transferTime is what large arguments may take on a slow network beside the
// call itself: half a second for each MiB.
func transferTime(args []any) time.Duration {
	size := 0
	for _, a := range args {
		if b, ok := a.([]byte); ok {
			size += len(b)
		}
	}
	return time.Duration(size>>20) * 500 * time.Millisecond
}

func (s *Store) call(ctx context.Context, verb, script string, keys []string, args []any) *redis.Cmd {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, verb, script, len(keys))
	for _, k := range keys {
		all = append(all, k)
	}
	cmd := redis.NewCmd(ctx, append(all, args...)...)
	cmd.SetFirstKeyPos(3)
	_ = s.rdb.Process(ctx, once{cmd}) // cmd has the error too
	return cmd
}
