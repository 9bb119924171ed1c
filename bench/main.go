// Command bench measures the bus beside asynq and watermill-redisstream: all in
// one run, in turn, on one redis-server that it starts. What it prints are medians
// over the rounds, and each peer's ratio to the bus, round by round.
//
//	go run . [-events 50000] [-rounds 3] [-workers 64] [-size 200] [-only eventbus,asynq,watermill]
//
// Each system consumes a backlog of JSON events with a no-op handler, at least
// once, and then picks up single events on an idle system.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/bench/internal/server"
)

// settings of a run.
type settings struct {
	events  int
	rounds  int
	workers int
	size    int
	picks   int
}

// figures of one system in one round.
type figures struct {
	send    float64         // events a second
	consume float64         // events a second
	pickup  []time.Duration // sorted
}

// system is one that is measured.
type system struct {
	name string
	run  func(ctx context.Context, rdb *redis.Client, s settings) (figures, error)
}

func main() {
	var s settings
	var only string
	flag.IntVar(&s.events, "events", 50_000, "events of the backlog")
	flag.IntVar(&s.rounds, "rounds", 3, "rounds; medians are printed")
	flag.IntVar(&s.workers, "workers", 64, "concurrent handlers")
	flag.IntVar(&s.size, "size", 200, "bytes of an event's JSON payload")
	flag.IntVar(&s.picks, "picks", 50, "single events on the idle system")
	flag.StringVar(&only, "only", "eventbus,asynq,watermill", "systems to measure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, s, strings.Split(only, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, s settings, only []string) error {
	redisServer, err := server.Start(ctx)
	if err != nil {
		return err
	}
	defer redisServer.Stop()
	rdb := redis.NewClient(&redis.Options{Addr: redisServer.Address})
	defer rdb.Close() //nolint:errcheck // the process ends

	results := map[string][]figures{}
	systems := slices.DeleteFunc([]system{{"eventbus", runEventbus}, {"asynq", runAsynq}, {"watermill", runWatermill}},
		func(sys system) bool { return !slices.Contains(only, sys.name) })
	for round := range s.rounds {
		for _, sys := range systems {
			if err := rdb.FlushAll(ctx).Err(); err != nil { // of the server started here
				return err
			}
			f, err := sys.run(ctx, rdb, s)
			if err != nil {
				return fmt.Errorf("measure %s: %w", sys.name, err)
			}
			fmt.Fprintf(os.Stderr, "round %d, %s: consumed %.0f/s\n", round+1, sys.name, f.consume)
			results[sys.name] = append(results[sys.name], f)
		}
	}
	print(systems, results, s)
	return printRoundTrip(ctx, rdb, s)
}

// printRoundTrip tells what one PING takes under the same conditions as a pickup: on
// an idle system, after a pause in which both processes slept. A pickup cannot be
// quicker than one of these, and takes nearly two where the event is announced first
// and then claimed.
func printRoundTrip(ctx context.Context, rdb *redis.Client, s settings) error {
	run := newRun(0)
	pings, err := run.pickups(ctx, s.picks, func() error {
		err := rdb.Ping(ctx).Err()
		run.single <- time.Now()
		return err
	})
	if err != nil {
		return fmt.Errorf("measure PING: %w", err)
	}
	fmt.Printf("a PING on the idle system: p50 %v, p99 %v\n",
		quantile(pings, 0.5).Round(10*time.Microsecond), quantile(pings, 0.99).Round(10*time.Microsecond))
	return nil
}

func print(systems []system, results map[string][]figures, s settings) {
	fmt.Printf("medians of %d rounds: %d events of %d bytes, %d workers, no-op handler, at least once\n", s.rounds, s.events, s.size, s.workers)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "system\tsend/s\tconsume/s\tthe bus is faster by\tpickup p50\tpickup p99")
	for _, sys := range systems {
		rounds := results[sys.name]
		var send, consume, ratio []float64
		var p50, p99 []time.Duration
		for i, f := range rounds {
			send, consume = append(send, f.send), append(consume, f.consume)
			if bus := results["eventbus"]; len(bus) > i {
				ratio = append(ratio, bus[i].consume/f.consume)
			}
			p50, p99 = append(p50, quantile(f.pickup, 0.5)), append(p99, quantile(f.pickup, 0.99))
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.1f\t%v\t%v\n", sys.name, median(send), median(consume), median(ratio),
			median(p50).Round(10*time.Microsecond), median(p99).Round(10*time.Microsecond))
	}
	_ = w.Flush()
}

func median[T float64 | time.Duration](all []T) T {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// payload is a JSON value of about the wanted size.
func payload(size int) map[string]string {
	return map[string]string{"p": strings.Repeat("x", max(0, size-8))}
}
