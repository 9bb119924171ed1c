package eventbus

import (
	"errors"
	"log/slog"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/name"
	"github.com/seed4933/eventbus/eventbus/internal/settings"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// Defaults of Config.
const (
	DefaultNamespace   = store.DefaultNamespace
	DefaultGroup       = "default"
	DefaultConcurrency = 64
	DefaultMaxPayload  = 1 << 20 // 1 MiB
	DefaultLease       = 15 * time.Second
	DefaultStopTimeout = 30 * time.Second
)

// Bounds of Config.
const (
	// MaxPayloadLimit is the greatest Config.MaxPayload, in bytes.
	MaxPayloadLimit = 64 << 20
	// MaxConcurrency is the greatest Config.Concurrency.
	MaxConcurrency = 100_000
	// MinLease is the least Config.Lease.
	MinLease = time.Second
)

// Config is the settings of a bus. The zero value means the defaults.
type Config struct {
	// Namespace is the first part of all keys; buses see each other only within
	// one. Defaults to "eventbus".
	Namespace string
	// Group is the set of processes that this one belongs to: each group gets
	// every event, and within a group one process gets it. Defaults to "default".
	Group string
	// Concurrency is how many events are handled at once in this process.
	// Defaults to 64.
	Concurrency int
	// MaxPayload is the greatest payload that is sent, in bytes. Defaults to
	// 1 MiB, at most 64 MiB.
	MaxPayload int
	// Source is the CloudEvents "source" of the events that are sent. Defaults to
	// the group.
	Source string
	// AutoCreateTopics makes a topic that is sent to, or has a handler, and does
	// not exist, with the default settings. Without it that is an error, so that
	// a mistyped name is found.
	AutoCreateTopics bool
	// Lease is after what time without a sign of life this process counts as
	// dead, and others run what it held. It is renewed three times as often.
	// Defaults to 15 s, at least 1 s.
	Lease time.Duration
	// StopTimeout is how long handlers may go on after Run's context has ended,
	// before their own contexts end. Defaults to 30 s; -1 means not at all.
	StopTimeout time.Duration
	// Logger gets what operators should know. Defaults to slog.Default().
	Logger *slog.Logger
	// Middleware wraps every handler; the first is outermost.
	Middleware []Middleware
	// OnReady is called once, in a goroutine of its own, when Run has connected,
	// found the topics and takes events. It may close the bus. Defaults to nothing.
	OnReady func()
}

// withDefaults returns the complete settings, or all that is wrong with them.
func (c Config) withDefaults() (Config, error) {
	var bad []error
	fallback(&c.Namespace, DefaultNamespace)
	fallback(&c.Group, DefaultGroup)
	fallback(&c.Concurrency, DefaultConcurrency)
	fallback(&c.MaxPayload, DefaultMaxPayload)
	fallback(&c.Source, c.Group)
	fallback(&c.Lease, DefaultLease)
	fallback(&c.StopTimeout, DefaultStopTimeout)
	fallback(&c.Logger, slog.Default())
	bad = append(bad, name.Check("Namespace", c.Namespace), name.Check("Group", c.Group))
	within(&bad, "Concurrency", c.Concurrency, 1, MaxConcurrency)
	within(&bad, "MaxPayload", c.MaxPayload, 1, MaxPayloadLimit)
	within(&bad, "Lease", c.Lease, MinLease, time.Hour)
	if c.StopTimeout == -1 {
		c.StopTimeout = 0
	}
	within(&bad, "StopTimeout", c.StopTimeout, 0, 24*time.Hour)
	for i, m := range c.Middleware {
		if m == nil {
			bad = append(bad, errs.Invalid("Middleware", i, "the middleware at this place is nil"))
		}
	}
	return c, errors.Join(bad...)
}

func fallback[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// roundUp returns a duration in whole milliseconds, as Redis and the Thrift service
// have it; what is not over 0 stays as it is.
func roundUp(d time.Duration) time.Duration {
	whole := d.Truncate(time.Millisecond)
	if next := whole + time.Millisecond; d > 0 && d > whole && next > d {
		return next
	}
	return d
}

func within[T int | int64 | time.Duration](bad *[]error, field string, value, least, most T) {
	if value < least || value > most {
		*bad = append(*bad, errs.Invalid(field, value, "from %v to %v is right", least, most))
	}
}

// base is a handler's settings as the code says, complete.
func (c HandleConfig) base() (settings.Handler, error) {
	fallback(&c.Timeout, DefaultTimeout)
	fallback(&c.Retry.MaxAttempts, DefaultMaxAttempts)
	fallback(&c.Retry.Initial, DefaultRetryInitial)
	fallback(&c.Retry.Max, max(DefaultRetryMax, c.Retry.Initial))
	fallback(&c.MaxAbandoned, DefaultMaxAbandoned)
	fallback(&c.Breaker.Open, DefaultBreakerOpen)
	s := settings.Handler{
		Enabled: !c.Disabled, Timeout: c.Timeout,
		MaxAttempts: c.Retry.MaxAttempts, RetryInitial: c.Retry.Initial, RetryMax: c.Retry.Max,
		Concurrency: c.Concurrency, MaxAbandoned: c.MaxAbandoned,
		BreakerFailures: c.Breaker.Failures, BreakerOpen: c.Breaker.Open,
	}
	bad := s.Check("HandleConfig.")
	if c.Retry.Initial > c.Retry.Max {
		bad = append(bad, errs.Invalid("HandleConfig.Retry.Initial", c.Retry.Initial, "it is over Retry.Max, %v, which caps it", c.Retry.Max))
	}
	for i, m := range c.Middleware {
		if m == nil {
			bad = append(bad, errs.Invalid("HandleConfig.Middleware", i, "the middleware at this place is nil"))
		}
	}
	return s, errors.Join(bad...)
}
