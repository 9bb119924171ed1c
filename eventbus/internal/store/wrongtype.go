package store

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// maxCulprits bounds the keys that an error names, and maxSuspects those that are
// looked at for it.
const (
	maxCulprits = 3
	maxSuspects = 1000
)

// culprits returns those of the keys that hold another type than they should, in
// their order, after a call has failed over one of them: Redis does not say which. A
// single key is to blame without a look. Where the look fails there are none.
func (s *Store) culprits(ctx context.Context, keys []string) (found []string) {
	if len(keys) <= 1 {
		return keys
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	keys = keys[:min(len(keys), maxSuspects)]
	kinds := make([]*redis.StatusCmd, len(keys))
	// A user may be refused one of the keys: the others are told all the same.
	_, _ = s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			kinds[i] = p.Type(ctx, key)
		}
		return nil
	})
	for i, key := range keys {
		kind := kinds[i].Val()
		if kind == "" || kind == "none" || kind == s.ns.kind(key) || slices.Contains(found, key) {
			continue
		}
		if found = append(found, key); len(found) == maxCulprits {
			break
		}
	}
	return found
}

// kind is the type that a key of the bus should have, as TYPE names it. Whatever is
// not the bus's own is a queue of the user's.
func (ns keyspace) kind(key string) string {
	switch key {
	case ns.topics():
		return "set"
	case ns.consumers():
		return "zset"
	case ns.runs():
		return "hash"
	case ns.layout(), ns.revision():
		return "string"
	}
	if strings.HasPrefix(key, delayedPrefix+":") {
		return "zset"
	}
	rest, own := strings.CutPrefix(key, ns.own())
	_, part, named := strings.Cut(rest, "}:")
	if !own || !named {
		return "list"
	}
	part, _, _ = strings.Cut(part, ":")
	switch part {
	case "config", "inflight", "failures", "counts", "delayed":
		return "hash"
	case "holders":
		return "set"
	case "retry", "dead":
		return "zset"
	}
	return "list" // queue, returns, bell, unreadable, wake
}
