// Command admin measures the Thrift admin service: reads of a topic and sends, by
// one client and by several, beside the same calls made on Redis directly by as
// many callers. The service is a process of its own, on one redis-server that the
// command starts; clients speak the framed binary protocol over a connection each,
// as Java's do. Two rows say what can be expected: direct sends by callers that do
// not share a bus, and so no calls to Redis; and an echo, which has the bytes of a
// send go to the service's process and back and does nothing else. What it prints are
// medians over the rounds.
//
//	go run ./admin [-rounds 5] [-seconds 2] [-callers 1,32] [-size 200] [-failures 1000000]
//
// With -failures it then replays as many through the service.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/bench/internal/server"
	"github.com/seed4933/eventbus/eventbus"
)

const topic = "bench"

func main() {
	if address := os.Getenv(childVariable); address != "" {
		exit(serve(address))
	}
	rounds := flag.Int("rounds", 5, "rounds; medians are printed")
	seconds := flag.Float64("seconds", 2, "seconds of each measurement")
	size := flag.Int("size", 200, "bytes of an event's payload")
	failures := flag.Int("failures", 0, "dead failures to replay; 0 for none")
	callers := flag.String("callers", "1,32", "numbers of callers")
	flag.Parse()
	var numbers []int
	for text := range strings.SplitSeq(*callers, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			exit(fmt.Errorf("-callers: %q is no number of callers", text))
		}
		numbers = append(numbers, n)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exit(measure(ctx, *rounds, time.Duration(*seconds*float64(time.Second)), *size, numbers, *failures))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// caller is one caller of an operation; it is called again and again.
type caller func(ctx context.Context) error

// operation is what is measured.
type operation struct {
	of, name string // of is the one to compare it with, if any
	callers  func(n int) (calls []caller, end func() error, err error)
}

// figures of one measurement.
type figures struct {
	rate     float64 // calls a second
	p50, p99 time.Duration
}

func measure(ctx context.Context, rounds int, last time.Duration, size int, callers []int, failures int) (err error) {
	redisServer, err := server.Start(ctx)
	if err != nil {
		return err
	}
	defer redisServer.Stop()
	rdb := redis.NewClient(&redis.Options{Addr: redisServer.Address, PoolSize: 64})
	bus, err := eventbus.New(rdb, eventbus.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bus.Close(), rdb.Close()) }()
	if err := bus.Topics().Create(ctx, topic, eventbus.TopicConfig{}); err != nil {
		return err
	}
	service, err := start(ctx, redisServer.Address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.stop()) }()
	operations := []operation{
		{"", "echo", func(n int) ([]caller, func() error, error) { return service.echo(n, size) }},
		{"", "get topic, direct", direct(func(ctx context.Context) error { _, err := bus.Topics().Get(ctx, topic); return err })},
		{"get topic, direct", "get topic, Thrift", service.getTopic},
		{"", "send, direct", direct(func(ctx context.Context) error {
			_, err := bus.Send(ctx, topic, eventbus.Raw{Payload: payload(size)})
			return err
		})},
		{"send, direct", "send, direct, a bus each", apart(redisServer.Address, size)},
		{"send, direct", "send, Thrift", func(n int) ([]caller, func() error, error) { return service.send(n, size) }},
	}
	results := map[string][]figures{}
	for range rounds {
		for _, n := range callers {
			for _, o := range operations {
				f, err := run(ctx, o, n, last)
				if err != nil {
					return fmt.Errorf("%s, %d callers: %w", o.name, n, err)
				}
				key := fmt.Sprint(o.name, n)
				results[key] = append(results[key], f)
				// The backlog is not what is measured.
				if err := rdb.Del(ctx, "eventbus:{"+topic+"}:queue:default").Err(); err != nil {
					return err
				}
			}
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CALLERS\tOPERATION\tCALLS/S\tP50\tP99\tOF DIRECT")
	for _, n := range callers {
		for _, o := range operations {
			all := results[fmt.Sprint(o.name, n)]
			of := ""
			if o.of != "" { // beside the one of the same round
				before := results[fmt.Sprint(o.of, n)]
				ratios := make([]float64, len(all))
				for r := range all {
					ratios[r] = all[r].rate / before[r].rate
				}
				of = fmt.Sprintf("%.0f %%", 100*median(ratios))
			}
			fmt.Fprintf(w, "%d\t%s\t%.0f\t%v\t%v\t%s\n", n, o.name, median(each(all, func(f figures) float64 { return f.rate })),
				median(each(all, func(f figures) time.Duration { return f.p50 })).Round(time.Microsecond),
				median(each(all, func(f figures) time.Duration { return f.p99 })).Round(time.Microsecond), of)
		}
	}
	if err := w.Flush(); err != nil || failures == 0 {
		return err
	}
	if err := rdb.ConfigSet(ctx, "slowlog-log-slower-than", "1000").Err(); err != nil {
		return err
	}
	return replay(ctx, rdb, service.address, failures)
}

// run has n callers call as fast as they are answered.
func run(ctx context.Context, o operation, n int, last time.Duration) (f figures, err error) {
	calls, end, err := o.callers(n)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, end()) }()
	took := make([][]time.Duration, n)
	errs := make([]error, n)
	var all sync.WaitGroup
	began := time.Now()
	for i := range n {
		all.Go(func() {
			for errs[i] == nil && time.Since(began) < last {
				from := time.Now()
				errs[i] = calls[i](ctx)
				took[i] = append(took[i], time.Since(from))
			}
		})
	}
	all.Wait()
	sorted := slices.Sorted(slices.Values(slices.Concat(took...)))
	return figures{
		rate: float64(len(sorted)) / time.Since(began).Seconds(),
		p50:  sorted[len(sorted)/2], p99: sorted[len(sorted)*99/100],
	}, errors.Join(errs...)
}

// direct has all callers make the same call.
func direct(call caller) func(n int) ([]caller, func() error, error) {
	return func(n int) ([]caller, func() error, error) {
		return slices.Repeat([]caller{call}, n), func() error { return nil }, nil
	}
}

func payload(size int) []byte {
	return []byte(`{"text":"` + strings.Repeat("x", max(size-len(`{"text":""}`), 0)) + `"}`)
}

func each[A, B any](list []A, f func(A) B) []B {
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}

func median[T cmp.Ordered](list []T) T { return slices.Sorted(slices.Values(list))[len(list)/2] }
