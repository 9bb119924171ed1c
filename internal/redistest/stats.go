package redistest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Admin returns the test's own client, for INFO, CONFIG SET and the like.
// CommandStats and TotalCommands leave out what it sends. It is closed with
// the server, and follows restarts and SetPassword.
func (s *Server) Admin() *redis.Client { return s.admin }

func (s *Server) newAdmin() *redis.Client {
	admin := redis.NewClient(&redis.Options{
		Addr:                     s.Addr(),
		CredentialsProvider:      func() (string, string) { return "", s.secret() },
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	admin.AddHook(&s.sent)
	return admin
}

// CommandStats returns how often each command was called since the server
// started or since CONFIG RESETSTAT, by its name in INFO commandstats ("get",
// "config|set"). Calls that scripts make count, and so do calls that were
// refused before they ran (OOM, MISCONF, LOADING, NOAUTH), which Redis counts
// apart: to the server they are load all the same. A blocking command counts
// once it has ended. What Admin sent does not count, unless it is sending just
// then.
func (s *Server) CommandStats(t testing.TB) map[string]int64 {
	t.Helper()
	info, err := s.admin.Info(context.Background(), "commandstats").Result()
	if err != nil {
		t.Fatalf("redistest: read the command statistics: %v", err)
	}
	// The INFO itself is in the tally by now, but not yet in its own answer.
	own := s.sent.counts()
	own["info"]--
	stats, err := parseCommandStats(info)
	if err != nil {
		t.Fatalf("redistest: read the command statistics: %v", err)
	}
	for name, calls := range own {
		if _, ok := stats[name]; !ok {
			name, _, _ = strings.Cut(name, "|") // Redis 6 does not tell subcommands apart
		}
		if _, ok := stats[name]; !ok {
			continue // a command that the server does not know is not in its list
		}
		if stats[name] -= calls; stats[name] <= 0 {
			delete(stats, name)
		}
	}
	return stats
}

// TotalCommands returns the sum of CommandStats: INFO's total_commands_processed
// with the refused calls and without Admin's.
func (s *Server) TotalCommands(t testing.TB) int64 {
	t.Helper()
	var total int64
	for _, calls := range s.CommandStats(t) {
		total += calls
	}
	return total
}

// parseCommandStats reads lines such as
// "cmdstat_get:calls=2,usec=3,usec_per_call=1.50,rejected_calls=0,failed_calls=0".
func parseCommandStats(info string) (map[string]int64, error) {
	stats := map[string]int64{}
	for line := range strings.Lines(info) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "cmdstat_")
		if !ok {
			continue
		}
		name, fields, _ := strings.Cut(line, ":")
		for field := range strings.SplitSeq(fields, ",") {
			key, value, _ := strings.Cut(field, "=")
			if key != "calls" && key != "rejected_calls" {
				continue
			}
			calls, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("parse %s of %s: %w", key, name, err)
			}
			stats[name] += calls
		}
	}
	return stats, nil
}

// tally is a hook that counts the commands which a client sent and the server
// answered, those of the handshake included.
type tally struct {
	mu   sync.Mutex
	sent map[string]int64
}

func (y *tally) counts() map[string]int64 {
	y.mu.Lock()
	defer y.mu.Unlock()
	counts := maps.Clone(y.sent)
	if counts == nil {
		counts = map[string]int64{}
	}
	return counts
}

func (y *tally) count(cmd redis.Cmder) {
	var refused redis.Error
	if err := cmd.Err(); err != nil && !errors.As(err, &refused) {
		return // it may not have reached the server
	}
	name := statsName(cmd)
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.sent == nil || name == "config|resetstat" {
		y.sent = map[string]int64{}
	}
	y.sent[name]++
}

// statsName returns the name under which Redis 7 counts the command.
func statsName(cmd redis.Cmder) string {
	name, args := cmd.Name(), cmd.Args()
	if len(args) < 2 {
		return name
	}
	switch name {
	case "acl", "client", "cluster", "command", "config", "function", "latency", "memory",
		"module", "object", "pubsub", "script", "slowlog", "xgroup", "xinfo":
		return name + "|" + strings.ToLower(fmt.Sprint(args[1]))
	}
	return name
}

// DialHook passes the dial on.
func (y *tally) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook counts one command.
func (y *tally) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		y.count(cmd)
		return err
	}
}

// ProcessPipelineHook counts the commands of a pipeline.
func (y *tally) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			y.count(cmd)
		}
		return err
	}
}
