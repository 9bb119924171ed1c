// Package settings defines the settings of a handler as the processes use them
// and as they stand in Redis when they were changed at run time.
package settings

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// Handler is the settings of one handler, complete.
type Handler struct {
	Enabled         bool
	Timeout         time.Duration
	MaxAttempts     int
	RetryInitial    time.Duration
	RetryMax        time.Duration
	Concurrency     int // 0: no limit
	MaxAbandoned    int
	BreakerFailures int // 0: no breaker
	BreakerOpen     time.Duration
}

// Override is what was changed at run time; nil means as the code says. It is
// stored as JSON, durations in milliseconds.
type Override struct {
	Enabled         *bool  `json:"enabled,omitempty"`
	Timeout         *Milli `json:"timeout_ms,omitempty"`
	MaxAttempts     *int   `json:"max_attempts,omitempty"`
	RetryInitial    *Milli `json:"retry_initial_ms,omitempty"`
	RetryMax        *Milli `json:"retry_max_ms,omitempty"`
	Concurrency     *int   `json:"concurrency,omitempty"`
	MaxAbandoned    *int   `json:"max_abandoned,omitempty"`
	BreakerFailures *int   `json:"breaker_failures,omitempty"`
	BreakerOpen     *Milli `json:"breaker_open_ms,omitempty"`
	// EnabledRev is the topic's revision with which the handler was last enabled that
	// had been disabled, 0 if never: at another one its breaker begins anew, also where
	// a process did not see it disabled.
	EnabledRev int64 `json:"enabled_rev,omitempty"`
}

// Milli is a duration that JSON shows in milliseconds.
type Milli time.Duration

func (m Milli) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(m).Milliseconds())
}

func (m *Milli) UnmarshalJSON(b []byte) error {
	var ms int64
	if err := json.Unmarshal(b, &ms); err != nil {
		return err
	}
	*m = Milli(time.Duration(ms) * time.Millisecond)
	return nil
}

// ParseOverride reads what stands in Redis; "" is no override.
func ParseOverride(text string) (Override, error) {
	var o Override
	if text == "" {
		return o, nil
	}
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return Override{}, fmt.Errorf("read handler settings %q: %w", text, err)
	}
	return o, nil
}

// String is the JSON that is stored; "" when nothing is overridden.
func (o Override) String() string {
	if o == (Override{}) {
		return ""
	}
	b, err := json.Marshal(o)
	if err != nil {
		panic(err) // numbers and booleans marshal
	}
	return string(b)
}

// Merge returns o with what next sets.
func (o Override) Merge(next Override) Override {
	set(&o.Enabled, next.Enabled)
	set(&o.Timeout, next.Timeout)
	set(&o.MaxAttempts, next.MaxAttempts)
	set(&o.RetryInitial, next.RetryInitial)
	set(&o.RetryMax, next.RetryMax)
	set(&o.Concurrency, next.Concurrency)
	set(&o.MaxAbandoned, next.MaxAbandoned)
	set(&o.BreakerFailures, next.BreakerFailures)
	set(&o.BreakerOpen, next.BreakerOpen)
	return o
}

// MergeAt is Merge for the change that makes a revision of the topic.
func (o Override) MergeAt(next Override, revision int64) Override {
	merged := o.Merge(next)
	if o.Enabled != nil && !*o.Enabled && *merged.Enabled {
		merged.EnabledRev = revision
	}
	return merged
}

func set[T any](to **T, from *T) {
	if from != nil {
		*to = from
	}
}

// Apply returns the settings that hold: base, and over it what o sets.
func (o Override) Apply(base Handler) Handler {
	put(&base.Enabled, o.Enabled)
	putMilli(&base.Timeout, o.Timeout)
	put(&base.MaxAttempts, o.MaxAttempts)
	putMilli(&base.RetryInitial, o.RetryInitial)
	putMilli(&base.RetryMax, o.RetryMax)
	put(&base.Concurrency, o.Concurrency)
	put(&base.MaxAbandoned, o.MaxAbandoned)
	put(&base.BreakerFailures, o.BreakerFailures)
	putMilli(&base.BreakerOpen, o.BreakerOpen)
	return base
}

func put[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

func putMilli(to *time.Duration, from *Milli) {
	if from != nil {
		*to = time.Duration(*from)
	}
}

// MaxDuration is the greatest timeout or delay that settings may have: one year.
const MaxDuration = 365 * 24 * time.Hour

// Check joins all that is wrong with the settings.
func (h Handler) Check(prefix string) []error {
	var bad []error
	duration := func(field string, d, least time.Duration) {
		if d < least || d > MaxDuration {
			bad = append(bad, errs.Invalid(prefix+field, d, "a duration from %v to %v is right", least, MaxDuration))
		}
	}
	count := func(field string, n, least int) {
		if n < least {
			bad = append(bad, errs.Invalid(prefix+field, n, "at least %d is right", least))
		}
	}
	duration("Timeout", h.Timeout, time.Millisecond)
	count("Retry.MaxAttempts", h.MaxAttempts, 1)
	duration("Retry.Initial", h.RetryInitial, time.Millisecond)
	duration("Retry.Max", h.RetryMax, time.Millisecond)
	count("Concurrency", h.Concurrency, 0)
	count("MaxAbandoned", h.MaxAbandoned, 1)
	count("Breaker.Failures", h.BreakerFailures, 0)
	duration("Breaker.Open", h.BreakerOpen, time.Millisecond)
	return bad
}

// Full returns the override that sets everything as in h.
func Full(h Handler) Override {
	timeout, initial, most, open := Milli(h.Timeout), Milli(h.RetryInitial), Milli(h.RetryMax), Milli(h.BreakerOpen)
	return Override{
		Enabled: &h.Enabled, Timeout: &timeout, MaxAttempts: &h.MaxAttempts, RetryInitial: &initial, RetryMax: &most,
		Concurrency: &h.Concurrency, MaxAbandoned: &h.MaxAbandoned, BreakerFailures: &h.BreakerFailures, BreakerOpen: &open,
	}
}
