// Package retry decides when a failed attempt is repeated, and moves what is due
// back to the queue.
package retry

import (
	"math"
	"time"
)

// Backoff returns the delay after the n-th failed attempt, from 1: a random time
// between zero and min(most, initial·2^(n-1)). This is "full jitter" (Marc
// Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015): of
// the ways compared there it spreads the load of many that failed together best.
// random returns a number in [0, n).
func Backoff(n int, initial, most time.Duration, random func(n int64) int64) time.Duration {
	ceiling := min(Ceiling(n, initial, most), math.MaxInt64-1)
	return time.Duration(random(int64(ceiling) + 1))
}

// Ceiling is the upper bound of the n-th delay. It never shrinks with n and
// never overflows.
func Ceiling(n int, initial, most time.Duration) time.Duration {
	ceiling := min(max(initial, 0), most)
	for ; n > 1 && ceiling < most; n-- {
		if ceiling > most/2 {
			return most
		}
		if ceiling *= 2; ceiling == 0 {
			return 0
		}
	}
	return max(ceiling, 0)
}
