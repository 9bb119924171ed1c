package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
	"github.com/seed4933/eventbus/eventbus"
)

// handlerView is a handler as JSON shows it.
type handlerView struct {
	Topic string `json:"topic"`
	Group string `json:"group"`
	ID    string `json:"id"`
	// Settings hold now; null when no process runs it.
	Settings *settingsView `json:"settings"`
	// Changed is what was set at run time.
	Changed   changedView `json:"changed"`
	Consumers []string    `json:"consumers"`
	// OpenBreakers are those of them in which its circuit breaker is open.
	OpenBreakers []string `json:"open_breakers"`
}

type settingsView struct {
	Enabled         bool  `json:"enabled"`
	TimeoutMS       int64 `json:"timeout_ms"`
	MaxAttempts     int   `json:"max_attempts"`
	RetryInitialMS  int64 `json:"retry_initial_ms"`
	RetryMaxMS      int64 `json:"retry_max_ms"`
	Concurrency     int   `json:"concurrency"`
	MaxAbandoned    int   `json:"max_abandoned"`
	BreakerFailures int   `json:"breaker_failures"`
	BreakerOpenMS   int64 `json:"breaker_open_ms"`
}

type changedView struct {
	Enabled         *bool  `json:"enabled,omitempty"`
	TimeoutMS       *int64 `json:"timeout_ms,omitempty"`
	MaxAttempts     *int   `json:"max_attempts,omitempty"`
	RetryInitialMS  *int64 `json:"retry_initial_ms,omitempty"`
	RetryMaxMS      *int64 `json:"retry_max_ms,omitempty"`
	Concurrency     *int   `json:"concurrency,omitempty"`
	MaxAbandoned    *int   `json:"max_abandoned,omitempty"`
	BreakerFailures *int   `json:"breaker_failures,omitempty"`
	BreakerOpenMS   *int64 `json:"breaker_open_ms,omitempty"`
}

func viewSettings(s eventbus.HandlerSettings) settingsView {
	return settingsView{
		Enabled: s.Enabled, TimeoutMS: s.Timeout.Milliseconds(), MaxAttempts: s.MaxAttempts,
		RetryInitialMS: s.RetryInitial.Milliseconds(), RetryMaxMS: s.RetryMax.Milliseconds(),
		Concurrency: s.Concurrency, MaxAbandoned: s.MaxAbandoned,
		BreakerFailures: s.BreakerFailures, BreakerOpenMS: s.BreakerOpen.Milliseconds(),
	}
}

func viewHandler(h eventbus.HandlerInfo) handlerView {
	v := handlerView{
		Topic: h.Topic, Group: h.Group, ID: h.ID, Consumers: h.Consumers,
		OpenBreakers: append([]string{}, h.OpenBreakers...),
		Changed: changedView{
			Enabled: h.Changed.Enabled, TimeoutMS: millis(h.Changed.Timeout), MaxAttempts: h.Changed.MaxAttempts,
			RetryInitialMS: millis(h.Changed.RetryInitial), RetryMaxMS: millis(h.Changed.RetryMax),
			Concurrency: h.Changed.Concurrency, MaxAbandoned: h.Changed.MaxAbandoned,
			BreakerFailures: h.Changed.BreakerFailures, BreakerOpenMS: millis(h.Changed.BreakerOpen),
		},
	}
	if len(h.Consumers) == 0 {
		v.Consumers = []string{}
		return v
	}
	s := viewSettings(h.Settings)
	v.Settings = &s
	return v
}

func millis(d *time.Duration) *int64 {
	if d == nil {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}

func span(ms int64) string { return show.Exact(time.Duration(ms) * time.Millisecond) }

func (s settingsView) retry() string {
	if s.MaxAttempts == 1 {
		return "none"
	}
	return fmt.Sprintf("%s..%s", span(s.RetryInitialMS), span(s.RetryMaxMS))
}

func (s settingsView) breaker() string {
	if s.BreakerFailures == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%s", s.BreakerFailures, span(s.BreakerOpenMS))
}

// text names what was changed, in the words of the flags of handler update.
func (c changedView) text() string {
	var parts []string
	add := func(name string, value any) { parts = append(parts, fmt.Sprintf("%s=%v", name, value)) }
	duration := func(name string, ms *int64) {
		if ms != nil {
			add(name, span(*ms))
		}
	}
	count := func(name string, n *int) {
		if n != nil {
			add(name, *n)
		}
	}
	if c.Enabled != nil {
		parts = append(parts, onOff(*c.Enabled))
	}
	duration("timeout", c.TimeoutMS)
	count("max-attempts", c.MaxAttempts)
	duration("retry-initial", c.RetryInitialMS)
	duration("retry-max", c.RetryMaxMS)
	count("concurrency", c.Concurrency)
	count("max-abandoned", c.MaxAbandoned)
	count("breaker-failures", c.BreakerFailures)
	duration("breaker-open", c.BreakerOpenMS)
	return show.Or(strings.Join(parts, " "))
}

// breakerOpen is said of a handler in one process.
const breakerOpen = " (breaker open)"

// state is whether it is called, "-" when no process runs it.
func (v handlerView) state() string {
	state := of(func(s settingsView) string { return onOff(s.Enabled) })(v)
	if len(v.OpenBreakers) == 0 || v.Settings == nil || !v.Settings.Enabled {
		return state
	}
	all := fmt.Sprintf("%d processes", len(v.Consumers))
	if len(v.Consumers) == 1 {
		all = "1 process"
	}
	return fmt.Sprintf("%s, breaker open in %d of %s", state, len(v.OpenBreakers), all)
}

// of shows something of the settings that hold, "-" when no process runs it.
func of(f func(s settingsView) string) func(v handlerView) string {
	return func(v handlerView) string {
		if v.Settings == nil {
			return "-"
		}
		return f(*v.Settings)
	}
}

var handlerColumns = []show.Column[handlerView]{
	{Head: "HANDLER", Text: func(v handlerView) string { return v.ID }},
	{Head: "STATE", Text: handlerView.state},
	{Head: "TIMEOUT", Text: of(func(s settingsView) string { return span(s.TimeoutMS) })},
	{Head: "ATTEMPTS", Text: of(func(s settingsView) string { return fmt.Sprint(s.MaxAttempts) })},
	{Head: "RETRY", Text: of(settingsView.retry)},
	{Head: "CONCURRENCY", Text: of(func(s settingsView) string { return show.Limit(s.Concurrency) })},
	{Head: "BREAKER", Text: of(settingsView.breaker)},
	{Head: "PROCESSES", Text: func(v handlerView) string { return fmt.Sprint(len(v.Consumers)) }},
	{Head: "CHANGED", Text: func(v handlerView) string { return v.Changed.text() }},
}

func (v handlerView) sheet() []show.Row {
	rows := []show.Row{{Name: "Handler", Text: v.ID}, {Name: "Topic", Text: v.Topic}, {Name: "Group", Text: v.Group}}
	if s := v.Settings; s != nil {
		rows = append(rows,
			show.Row{Name: "State", Text: v.state()}, show.Row{Name: "Timeout", Text: span(s.TimeoutMS)},
			show.Row{Name: "Attempts", Text: fmt.Sprint(s.MaxAttempts)}, show.Row{Name: "Retry", Text: s.retry()},
			show.Row{Name: "Concurrency", Text: show.Limit(s.Concurrency)}, show.Row{Name: "Max abandoned", Text: fmt.Sprint(s.MaxAbandoned)},
			show.Row{Name: "Breaker", Text: s.breaker()})
	}
	rows = append(rows, show.Row{Name: "Changed", Text: v.Changed.text()})
	if len(v.Consumers) == 0 {
		rows = append(rows, show.Row{Name: "Consumer", Text: "none runs it"})
	}
	for _, c := range v.Consumers {
		if slices.Contains(v.OpenBreakers, c) {
			c += breakerOpen
		}
		rows = append(rows, show.Row{Name: "Consumer", Text: c})
	}
	return rows
}
