// Command delayed measures delayed events, all figures in one run on one
// redis-server that it starts, with Redisson's algorithm beside the bus's:
//
//	go run ./delayed [-pending 1000000] [-size 100] [-only memory,lateness,burst,processes,transfer,redisson]
//
//	memory      what a pending event costs in Redis, in a CloudEvents and a raw topic
//	lateness    of 10 000 events due over 10 s while all the others are pending
//	burst       100 000 due in one millisecond, and what another topic notices of it
//	processes   50 000 due events shared by 5 processes: each once
//	transfer    all pending with random delays, then due: moved a second, longest call
//	redisson    the same by Redisson's algorithm, which scans a list for every event
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/bench/internal/server"
)

// bench is a run.
type bench struct {
	rdb     *redis.Client
	address string
	pending int // events that are delayed while the others are measured
	size    int // bytes of a payload
}

func main() {
	if len(os.Args) == 5 && os.Args[1] == workerArg {
		os.Exit(worker(os.Args[2], os.Args[3], os.Args[4]))
	}
	var b bench
	var only string
	flag.IntVar(&b.pending, "pending", 1_000_000, "delayed events")
	flag.IntVar(&b.size, "size", 100, "bytes of an event's payload")
	flag.StringVar(&only, "only", "memory,lateness,burst,processes,transfer,redisson", "what to measure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := b.run(ctx, strings.Split(only, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "delayed:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context, only []string) error {
	redisServer, err := server.Start(ctx)
	if err != nil {
		return err
	}
	defer redisServer.Stop()
	b.address = redisServer.Address
	b.rdb = redis.NewClient(&redis.Options{Addr: b.address, ReadTimeout: time.Minute})
	defer b.rdb.Close() //nolint:errcheck // the process ends
	for name, value := range map[string]string{"slowlog-log-slower-than": "1000", "slowlog-max-len": "1000000"} {
		if err := b.rdb.ConfigSet(ctx, name, value).Err(); err != nil {
			return err
		}
	}
	for _, part := range []struct {
		name string
		run  func(ctx context.Context) error
	}{
		{"memory", b.memory}, {"lateness", b.lateness}, {"burst", b.burst}, {"processes", b.processes},
		{"transfer", b.transfer}, {"redisson", b.redisson},
	} {
		if !slices.Contains(only, part.name) {
			continue
		}
		if err := b.rdb.SlowLogReset(ctx).Err(); err != nil {
			return err
		}
		if err := part.run(ctx); err != nil {
			return fmt.Errorf("measure %s: %w", part.name, err)
		}
	}
	return nil
}

// longestCall is the longest that one command or script has kept Redis busy since
// the part began. The reset of the slow log is not one of the part's: with a long log
// it takes tens of milliseconds, and stands in the new one.
func (b *bench) longestCall(ctx context.Context) (time.Duration, error) {
	calls, err := b.rdb.SlowLogGet(ctx, -1).Result()
	longest := time.Duration(0)
	for _, c := range calls {
		if c.Args[0] != "slowlog" {
			longest = max(longest, c.Duration)
		}
	}
	return longest, err
}

// cpu is the processor time that Redis has used, which a busy machine does not
// change.
func (b *bench) cpu(ctx context.Context) (time.Duration, error) {
	info, err := b.rdb.InfoMap(ctx, "cpu").Result()
	if err != nil {
		return 0, err
	}
	var user, sys float64
	_, err = fmt.Sscan(info["CPU"]["used_cpu_user"]+" "+info["CPU"]["used_cpu_sys"], &user, &sys)
	return time.Duration((user + sys) * float64(time.Second)), err
}

func (b *bench) used(ctx context.Context) (int64, error) {
	info, err := b.rdb.InfoMap(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	var n int64
	_, err = fmt.Sscan(info["Memory"]["used_memory"], &n)
	return n, err
}

func quantile(all []time.Duration, q float64) time.Duration {
	slices.Sort(all)
	return all[min(int(q*float64(len(all))), len(all)-1)].Round(10 * time.Microsecond)
}
