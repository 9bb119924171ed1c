package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/bench"
	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
	"github.com/seed4933/eventbus/eventbus"
)

func (a *app) bench() *cobra.Command {
	var cfg bench.Config
	c := &cobra.Command{
		Use: "bench", Args: args(), Short: "Measure sending and consuming on the given server",
		Long: `Measure on the given server, in a topic of its own that is removed at the end: in
the namespace that --namespace, the environment or the settings file names, else
in a namespace of its own, which is removed too.

  send        events sent by --senders, --batch in a call, while nobody consumes
  consume     that backlog handled by a handler that does nothing, until Redis
              holds none, waiting or in flight
  end to end  as many events again, sent and handled at the same time
  pickup      one event at a time on an idle bus, from before it is sent until
              its handler begins

Senders and handlers run in this process, and so does the server with --redis
embedded, which is for trying out and becomes slow as the backlog grows.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.refuseAdmin("measures Redis itself"); err != nil {
				return err
			}
			for _, f := range []struct {
				name               string
				value, least, most int
			}{
				{"events", cfg.Events, 1, 100_000_000}, {"size", cfg.Size, 0, eventbus.MaxPayloadLimit}, {"senders", cfg.Senders, 1, 10_000},
				{"batch", cfg.Batch, 1, eventbus.MaxBatch}, {"concurrency", cfg.Concurrency, 1, eventbus.MaxConcurrency},
				{"samples", cfg.Samples, 1, 1_000_000},
			} {
				if f.value < f.least || f.value > f.most {
					return wrongUsage("--%s is %d; from %d to %d is right", f.name, f.value, f.least, f.most)
				}
			}
			if cfg.Batch*cfg.Size > eventbus.MaxPayloadLimit {
				return wrongUsage("--batch times --size is %d bytes; at most %d are right", cfg.Batch*cfg.Size, eventbus.MaxPayloadLimit)
			}
			return a.runBench(c.Context(), cfg)
		},
	}
	f := c.Flags()
	f.IntVar(&cfg.Events, "events", 10_000, "how many events are sent and consumed, twice")
	f.IntVar(&cfg.Size, "size", 200, "size of a payload in bytes")
	f.IntVar(&cfg.Senders, "senders", 8, "how many goroutines send at once")
	f.IntVar(&cfg.Batch, "batch", 1, "events in one call of send")
	f.IntVar(&cfg.Concurrency, "concurrency", eventbus.DefaultConcurrency, "how many events are handled at once")
	f.IntVar(&cfg.Samples, "samples", 200, "how many events measure the pickup")
	return c
}

func (a *app) runBench(ctx context.Context, cfg bench.Config) (err error) {
	chosen, err := a.choose()
	if err != nil {
		return err
	}
	r, err := reach(chosen.target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	cfg.Progress = func(string) {}
	if isTerminal(a.env.Stderr) {
		cfg.Progress = func(text string) { fmt.Fprintf(a.env.Stderr, "\r\x1b[K%s", text) }
		defer fmt.Fprint(a.env.Stderr, "\r\x1b[K")
	}
	if r.embedded != nil {
		fmt.Fprintln(a.env.Stderr, embeddedNote)
	}
	cfg.Namespace, cfg.Group = chosen.config.Namespace, chosen.config.Group
	result, err := bench.Run(ctx, r.rdb, cfg)
	if err != nil {
		return err
	}
	v := viewBench(chosen.target.String(), cfg, result)
	if a.out.JSON() {
		err = a.out.Object(v)
	} else {
		err = show.List(a.out, true, benchColumns, v.rows())
	}
	return a.out.FlushAfter(err)
}

// benchView is what was measured, as JSON shows it. Latencies are in
// milliseconds, to the microsecond.
type benchView struct {
	Server      string      `json:"server"`
	Events      int         `json:"events"`
	Size        int         `json:"size"`
	Senders     int         `json:"senders"`
	Batch       int         `json:"batch"`
	Concurrency int         `json:"concurrency"`
	Send        sendView    `json:"send"`
	Consume     rateView    `json:"consume"`
	EndToEnd    rateView    `json:"end_to_end"`
	Pickup      latencyView `json:"pickup"`
	Repeated    int64       `json:"repeated"`
}

type rateView struct {
	TookMS    float64 `json:"took_ms"`
	PerSecond float64 `json:"events_per_second"`
}

type sendView struct {
	rateView
	Call latencyView `json:"call"`
}

type latencyView struct {
	Samples int64   `json:"samples"`
	P50MS   float64 `json:"p50_ms"`
	P90MS   float64 `json:"p90_ms"`
	P99MS   float64 `json:"p99_ms"`
	MaxMS   float64 `json:"max_ms"`
}

func viewBench(server string, cfg bench.Config, r bench.Result) benchView {
	return benchView{
		Server: server, Events: cfg.Events, Size: cfg.Size, Senders: cfg.Senders, Batch: cfg.Batch, Concurrency: cfg.Concurrency,
		Send: sendView{viewRate(r.Send.Rate), viewLatency(r.Send.Call)}, Consume: viewRate(r.Consume), EndToEnd: viewRate(r.EndToEnd),
		Pickup: viewLatency(r.Pickup), Repeated: r.Repeated,
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func viewRate(r bench.Rate) rateView {
	return rateView{TookMS: ms(r.Took), PerSecond: float64(int64(r.PerSecond()*10)) / 10}
}

func viewLatency(l bench.Latency) latencyView {
	return latencyView{Samples: l.Samples, P50MS: ms(l.P50), P90MS: ms(l.P90), P99MS: ms(l.P99), MaxMS: ms(l.Max)}
}

// benchRow is one line of the table.
type benchRow struct {
	name    string
	rate    *rateView
	latency *latencyView
}

func (v benchView) rows() []benchRow {
	return []benchRow{
		{"send", &v.Send.rateView, &v.Send.Call}, {"consume", &v.Consume, nil},
		{"end to end", &v.EndToEnd, nil}, {"pickup", nil, &v.Pickup},
	}
}

func (r benchRow) percentile(f func(l latencyView) float64) string {
	if r.latency == nil {
		return "-"
	}
	return fmt.Sprintf("%.3fms", f(*r.latency))
}

var benchColumns = []show.Column[benchRow]{
	{Head: "MEASURED", Text: func(r benchRow) string { return r.name }},
	{Head: "EVENTS/S", Text: func(r benchRow) string {
		if r.rate == nil {
			return "-"
		}
		return fmt.Sprintf("%.0f", r.rate.PerSecond)
	}},
	{Head: "P50", Text: func(r benchRow) string { return r.percentile(func(l latencyView) float64 { return l.P50MS }) }},
	{Head: "P90", Text: func(r benchRow) string { return r.percentile(func(l latencyView) float64 { return l.P90MS }) }},
	{Head: "P99", Text: func(r benchRow) string { return r.percentile(func(l latencyView) float64 { return l.P99MS }) }},
	{Head: "MAX", Text: func(r benchRow) string { return r.percentile(func(l latencyView) float64 { return l.MaxMS }) }},
}
