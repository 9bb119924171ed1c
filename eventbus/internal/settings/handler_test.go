package settings

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

func valid() Handler {
	return Handler{
		Enabled: true, Timeout: 10 * time.Second, MaxAttempts: 10, RetryInitial: time.Second, RetryMax: time.Minute,
		Concurrency: 0, MaxAbandoned: 16, BreakerFailures: 0, BreakerOpen: 30 * time.Second,
	}
}

func millis() *rapid.Generator[Milli] {
	return rapid.Map(rapid.Int64Range(0, MaxDuration.Milliseconds()), func(ms int64) Milli {
		return Milli(time.Duration(ms) * time.Millisecond)
	})
}

func overrides() *rapid.Generator[Override] {
	return rapid.Custom(func(t *rapid.T) Override {
		return Override{
			Enabled:         rapid.Ptr(rapid.Bool(), true).Draw(t, "enabled"),
			Timeout:         rapid.Ptr(millis(), true).Draw(t, "timeout"),
			MaxAttempts:     rapid.Ptr(rapid.Int(), true).Draw(t, "attempts"),
			RetryInitial:    rapid.Ptr(millis(), true).Draw(t, "initial"),
			RetryMax:        rapid.Ptr(millis(), true).Draw(t, "max"),
			Concurrency:     rapid.Ptr(rapid.Int(), true).Draw(t, "concurrency"),
			MaxAbandoned:    rapid.Ptr(rapid.Int(), true).Draw(t, "abandoned"),
			BreakerFailures: rapid.Ptr(rapid.Int(), true).Draw(t, "failures"),
			BreakerOpen:     rapid.Ptr(millis(), true).Draw(t, "open"),
			EnabledRev:      rapid.Int64().Draw(t, "revision"),
		}
	})
}

func TestOverrideIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := overrides().Draw(t, "override")
		got, err := ParseOverride(want.String())
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, want == Override{}, want.String() == "", "nothing is stored for nothing")
	})
}

// The text is a contract with what stands in Redis.
func TestOverrideAsText(t *testing.T) {
	t.Parallel()
	require.Equal(t, `{"enabled":true,"timeout_ms":10000,"max_attempts":10,"retry_initial_ms":1000,"retry_max_ms":60000,`+
		`"concurrency":0,"max_abandoned":16,"breaker_failures":0,"breaker_open_ms":30000}`, Full(valid()).String())
	off := false
	require.Equal(t, `{"enabled":false}`, Override{Enabled: &off}.String())
}

func TestMergeAndApplyLetTheLaterWin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first, second := overrides().Draw(t, "first"), overrides().Draw(t, "second")
		base := overrides().Draw(t, "base").Apply(valid())
		require.Equal(t, second.Apply(first.Apply(base)), first.Merge(second).Apply(base))
		require.Equal(t, base, Override{}.Apply(base))
		require.Equal(t, first, first.Merge(Override{}))
		require.Equal(t, base, Full(base).Apply(valid()), "a full override hides everything")
	})
}

func TestMergeLeavesItsReceiverAlone(t *testing.T) {
	t.Parallel()
	one, two := 1, 2
	first := Override{MaxAttempts: &one}
	_ = first.Merge(Override{MaxAttempts: &two})
	require.Equal(t, 1, *first.MaxAttempts)
}

// What was disabled and is enabled takes the revision, and keeps it.
func TestMergeAtTellsWhenAHandlerWasEnabled(t *testing.T) {
	t.Parallel()
	on, off, attempts := true, false, 3
	var o Override
	for i, step := range []struct {
		next Override
		want int64
	}{
		{Override{Enabled: &on}, 0},
		{Override{Enabled: &off}, 0},
		{Override{MaxAttempts: &attempts}, 0},
		{Override{Enabled: &on, MaxAttempts: &attempts}, 4},
		{Override{Enabled: &on}, 4},
		{Override{Enabled: &off}, 4},
		{Override{Enabled: &off}, 4},
		{Override{Enabled: &on}, 8},
		{Override{MaxAttempts: &attempts}, 8},
	} {
		o = o.MergeAt(step.next, int64(i)+1)
		require.Equal(t, step.want, o.EnabledRev, i)
	}
	read, err := ParseOverride(o.String())
	require.NoError(t, err)
	require.Equal(t, o, read)
}

func TestCheckNamesAllThatIsWrong(t *testing.T) {
	t.Parallel()
	require.Empty(t, valid().Check(""))
	bad := Handler{}.Check("HandleConfig.")
	fields := make([]string, len(bad))
	for i, err := range bad {
		var argument *errs.Argument
		require.ErrorAs(t, err, &argument)
		require.ErrorIs(t, err, errs.InvalidArgument)
		fields[i] = argument.Field
	}
	require.Equal(t, []string{
		"HandleConfig.Timeout", "HandleConfig.Retry.MaxAttempts", "HandleConfig.Retry.Initial", "HandleConfig.Retry.Max",
		"HandleConfig.MaxAbandoned", "HandleConfig.Breaker.Open",
	}, fields)
}

func TestCheckKnowsTheBounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(h *Handler)
		right  bool
	}{
		"least timeout":         {func(h *Handler) { h.Timeout = time.Millisecond }, true},
		"timeout below":         {func(h *Handler) { h.Timeout = time.Millisecond - 1 }, false},
		"greatest timeout":      {func(h *Handler) { h.Timeout = MaxDuration }, true},
		"timeout above":         {func(h *Handler) { h.Timeout = MaxDuration + 1 }, false},
		"negative timeout":      {func(h *Handler) { h.Timeout = -time.Second }, false},
		"one attempt":           {func(h *Handler) { h.MaxAttempts = 1 }, true},
		"no attempt":            {func(h *Handler) { h.MaxAttempts = 0 }, false},
		"initial over max":      {func(h *Handler) { h.RetryInitial, h.RetryMax = time.Hour, time.Second }, true},
		"negative backoff":      {func(h *Handler) { h.RetryInitial = -1 }, false},
		"no concurrency limit":  {func(h *Handler) { h.Concurrency = 0 }, true},
		"negative concurrency":  {func(h *Handler) { h.Concurrency = -1 }, false},
		"no abandoned":          {func(h *Handler) { h.MaxAbandoned = 0 }, false},
		"negative breaker":      {func(h *Handler) { h.BreakerFailures = -1 }, false},
		"breaker for ever open": {func(h *Handler) { h.BreakerOpen = MaxDuration + 1 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := valid()
			c.change(&h)
			require.Equal(t, c.right, errors.Join(h.Check("")...) == nil)
		})
	}
}

// What stands in Redis may have been written by anybody.
func FuzzParseOverride(f *testing.F) {
	f.Add("")
	f.Add("{}")
	f.Add("null")
	f.Add(Full(valid()).String())
	f.Add(`{"timeout_ms":9223372036854775807}`)
	f.Add(`{"timeout_ms":-1,"max_attempts":null,"unknown":[1]}`)
	f.Add(`{"timeout_ms":1.5}`)
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseOverride(text)
		if err != nil {
			require.Zero(t, o)
			return
		}
		again, err := ParseOverride(o.String())
		require.NoError(t, err)
		require.Equal(t, o.Apply(valid()), again.Apply(valid()))
		_ = o.Apply(valid()).Check("")
	})
}

// A duration that milliseconds cannot express must not wrap around into one that
// looks right.
func TestHugeDurationsAreRefused(t *testing.T) {
	t.Parallel()
	for _, ms := range []int64{MaxDuration.Milliseconds() + 1, 1 << 45, 1<<63 - 1, -1, -1 << 63} {
		text, err := json.Marshal(map[string]int64{"timeout_ms": ms})
		require.NoError(t, err)
		o, err := ParseOverride(string(text))
		if err != nil {
			continue
		}
		require.NotEmpty(t, o.Apply(valid()).Check(""), "%d ms", ms)
	}
}
