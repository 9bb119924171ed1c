package retry

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func durations() *rapid.Generator[time.Duration] {
	return rapid.OneOf(
		rapid.Map(rapid.Int64(), func(n int64) time.Duration { return time.Duration(n) }),
		rapid.Map(rapid.Int64Range(0, int64(24*time.Hour)), func(n int64) time.Duration { return time.Duration(n) }),
		rapid.SampledFrom([]time.Duration{0, 1, -1, time.Second, math.MaxInt64, math.MinInt64, math.MaxInt64/2 + 1}),
	)
}

func TestCeilingNeverShrinksOverflowsOrGoesBelowZero(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		initial, most := durations().Draw(t, "initial"), durations().Draw(t, "most")
		before := time.Duration(0)
		for n := range 100 {
			ceiling := Ceiling(n, initial, most)
			require.GreaterOrEqual(t, ceiling, before, "attempt %d", n)
			require.LessOrEqual(t, ceiling, max(most, 0))
			before = ceiling
		}
		require.GreaterOrEqual(t, Ceiling(math.MaxInt, initial, most), before)
		if initial > 0 {
			require.Equal(t, max(most, 0), before, "after a hundred doublings it is at its cap")
		}
	})
}

func TestCeilingDoubles(t *testing.T) {
	t.Parallel()
	for n, want := range []time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 8 * time.Second, 5: 10 * time.Second, 6: 10 * time.Second} {
		if n > 0 {
			require.Equal(t, want, Ceiling(n, time.Second, 10*time.Second), "attempt %d", n)
		}
	}
}

func TestBackoffLiesBetweenZeroAndItsCeiling(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(-1, 200).Draw(t, "n")
		initial, most := durations().Draw(t, "initial"), durations().Draw(t, "most")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range 10 {
			delay := Backoff(n, initial, most, random.Int64N)
			require.GreaterOrEqual(t, delay, time.Duration(0))
			require.LessOrEqual(t, delay, Ceiling(n, initial, most))
		}
	})
}

// The whole range is used: what failed together does not come back together.
func TestBackoffHasFullJitter(t *testing.T) {
	t.Parallel()
	least := Backoff(3, time.Second, time.Minute, func(int64) int64 { return 0 })
	greatest := Backoff(3, time.Second, time.Minute, func(n int64) int64 { return n - 1 })
	require.Zero(t, least)
	require.Equal(t, 4*time.Second, greatest)

	random := rand.New(rand.NewPCG(1, 2))
	var quarters [4]int
	for range 4000 {
		quarters[min(3, Backoff(3, time.Second, time.Minute, random.Int64N)/time.Second)]++
	}
	for _, n := range quarters {
		require.InDelta(t, 1000, n, 150)
	}
}
