package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// layoutVersion is the version of the keys and records described in this
// package. A bus that finds another one refuses to start.
const layoutVersion = "1"

// Check connects, and refuses a server that cannot work: unreachable, with
// other credentials, too old, or with data of another layout.
func (s *Store) Check(ctx context.Context) error {
	if err := s.check(ctx); err != nil {
		// Not by Doing: it stays where this is a step of something else.
		return fmt.Errorf("connect to Redis: %w", errs.Cause(err))
	}
	return nil
}

func (s *Store) check(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := s.rdb.Ping(ctx).Err(); err != nil {
		return s.wrap(ctx, "ping Redis", err)
	}
	if err := s.checkVersion(ctx); err != nil {
		return err
	}
	if err := s.rdb.SetNX(ctx, s.ns.layout(), layoutVersion, 0).Err(); err != nil && code(err) != "OOM" {
		return s.wrap(ctx, "write the layout", err, s.ns.layout())
	}
	found, err := s.rdb.Get(ctx, s.ns.layout()).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return s.wrap(ctx, "read the layout", err, s.ns.layout())
	}
	if found != layoutVersion && err == nil {
		return fmt.Errorf("%w: key %s says %q, this program knows %q; use another namespace or the release that wrote it",
			errs.LayoutMismatch, s.ns.layout(), found, layoutVersion)
	}
	return nil
}

// checkVersion demands Redis 6.2, whose LPOP and RPOP take a count. A server
// that does not tell its version, or may not be asked, is taken as new enough.
func (s *Store) checkVersion(ctx context.Context) error {
	info, err := s.rdb.Info(ctx, "server").Result()
	if err != nil {
		return nil
	}
	for line := range strings.Lines(info) {
		version, ok := strings.CutPrefix(strings.TrimSpace(line), "redis_version:")
		if !ok {
			continue
		}
		major, rest, _ := strings.Cut(version, ".")
		minor, _, _ := strings.Cut(rest, ".")
		a, errA := strconv.Atoi(major)
		b, errB := strconv.Atoi(minor)
		if errA == nil && errB == nil && (a < 6 || a == 6 && b < 2) {
			return fmt.Errorf("%w: the server is version %s, at least 6.2 is needed", errs.RedisTooOld, version)
		}
	}
	return nil
}

// Revision reads the counter that every change of settings raises.
func (s *Store) Revision(ctx context.Context) (int64, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	n, err := s.rdb.Get(ctx, s.ns.revision()).Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return n, s.wrap(ctx, "look for changed settings", err, s.ns.revision())
}

// Ping asks Redis for a sign of life.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return s.wrap(ctx, "ping Redis", s.rdb.Ping(ctx).Err())
}
