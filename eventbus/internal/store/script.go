package store

import (
	"context"
	"embed"
	"io/fs"
	"path"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed scripts/*.lua
var scriptFiles embed.FS

// scripts maps the name of a file in scripts/ without its ending to its script.
type scripts map[string]*redis.Script

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
		all[strings.TrimSuffix(path.Base(name), ".lua")] = redis.NewScript(string(text))
	}
	return all
}

// eval runs a script by its digest, and by its text where the server does not
// know it (after a restart, a failover, SCRIPT FLUSH): the server answers
// NOSCRIPT before anything has run, so that the second call is no repetition.
func (s *Store) eval(ctx context.Context, name string, keys []string, args ...any) *redis.Cmd {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return s.scripts[name].Run(ctx, s.rdb, keys, args...)
}
