package main

import (
	"testing"
	"time"
)

// A job of few failures may end before its state was asked for once.
func TestMeanwhile(t *testing.T) {
	t.Parallel()
	for want, asked := range map[string][]time.Duration{
		"it ended before another call was answered": nil,
		"answers meanwhile p50 1ms, p99 1ms (1)":    {time.Millisecond},
		"answers meanwhile p50 2ms, p99 2ms (2)":    {time.Millisecond, 2 * time.Millisecond},
	} {
		if got := meanwhile(asked); got != want {
			t.Errorf("%v: got %q, want %q", asked, got, want)
		}
	}
}
