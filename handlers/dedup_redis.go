package handlers

import (
	"context"
	_ "embed" // for the script
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// DefaultDedupPrefix begins the keys of a RedisDedup by default.
const DefaultDedupPrefix = "eventbus:dedup:"

// dedupDone is the value of a key that is marked done. No token is equal to it.
const dedupDone = "done"

//go:embed dedup_release.lua
var dedupReleaseSource string

// RedisDedup is a DedupStore in Redis, for groups of several processes. Each
// event is one string key that Redis expires by itself: it holds the token of
// the run under way, until the lease ends, or "done", until the window ends. A
// run costs two commands: SET NX PX before it, SET PX after it.
type RedisDedup struct {
	rdb     redis.UniversalClient
	prefix  string
	release *redis.Script
}

// NewRedisDedup returns a store whose keys begin with prefix, and with
// DefaultDedupPrefix when prefix is empty. The client stays the caller's and is
// not closed.
func NewRedisDedup(rdb redis.UniversalClient, prefix string) *RedisDedup {
	if prefix == "" {
		prefix = DefaultDedupPrefix
	}
	return &RedisDedup{rdb: rdb, prefix: prefix, release: redis.NewScript(dedupReleaseSource)}
}

// Claim is DedupStore's.
func (r *RedisDedup) Claim(ctx context.Context, key, token string, lease time.Duration) (DedupState, error) {
	key = r.prefix + key
	err := r.rdb.SetArgs(ctx, key, token, redis.SetArgs{Mode: "NX", TTL: wholeMillis(lease)}).Err()
	if err == nil {
		return DedupClaimed, nil
	}
	if !errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("set %s: %w", key, err)
	}
	// SET NX GET would be one command, but only from Redis 7.0 on.
	holder, err := r.rdb.Get(ctx, key).Result()
	switch {
	case errors.Is(err, redis.Nil):
		// It ended between the two; the next look will find it free.
		return DedupInProgress, nil
	case err != nil:
		return 0, fmt.Errorf("get %s: %w", key, err)
	case holder == dedupDone:
		return DedupDone, nil
	case holder == token:
		// The client sent the SET twice because the first reply was lost.
		return DedupClaimed, nil
	}
	return DedupInProgress, nil
}

// Done is DedupStore's.
func (r *RedisDedup) Done(ctx context.Context, key string, window time.Duration) error {
	key = r.prefix + key
	if err := r.rdb.Set(ctx, key, dedupDone, wholeMillis(window)).Err(); err != nil {
		return fmt.Errorf("set %s: %w", key, err)
	}
	return nil
}

// Release is DedupStore's.
func (r *RedisDedup) Release(ctx context.Context, key, token string) error {
	key = r.prefix + key
	if err := r.release.Run(ctx, r.rdb, []string{key}, token).Err(); err != nil {
		return fmt.Errorf("release %s: %w", key, err)
	}
	return nil
}

// wholeMillis rounds d up to what Redis can keep: a time of 0 would mean no
// expiry.
func wholeMillis(d time.Duration) time.Duration {
	return max((d + time.Millisecond - 1).Truncate(time.Millisecond), time.Millisecond)
}
