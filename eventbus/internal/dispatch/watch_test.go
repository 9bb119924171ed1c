package dispatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// One timer serves all runs: each is given up at its own time nevertheless, in
// whatever order they began and however their timeouts change.
func TestEachRunIsGivenUpAtItsOwnTime(t *testing.T) {
	t.Parallel()
	for name, timeouts := range map[string][]time.Duration{
		"growing":   {time.Second, 2 * time.Second, 3 * time.Second, time.Hour},
		"shrinking": {time.Hour, 3 * time.Second, 2 * time.Second, time.Second},
		"mixed":     {2 * time.Second, time.Second, time.Hour, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, len(timeouts), func(t *testing.T, b *testBundle) {
				release := make(chan struct{})
				defer close(release)
				var all []<-chan []Result
				for i, timeout := range timeouts {
					h := NewHandler("h", with(func(s *Settings) { s.Timeout = timeout }))
					all = append(all, b.submit(Task{h, ignores(release)}))
					if i%2 == 0 {
						pass(100 * time.Millisecond)
					}
				}
				for i, timeout := range timeouts {
					result := (<-all[i])[0]
					require.ErrorIs(t, result.Err, errs.Abandoned)
					require.Equal(t, timeout+abandonGrace, result.Took)
				}
			})
		})
	}
}

func TestStoppedPoolKeepsNoTimer(t *testing.T) {
	t.Parallel()
	pool := New(Config{Size: 1})
	done := make(chan []Result, 1)
	pool.Submit(newJob("", func(results []Result) { done <- results }, Task{NewHandler("h", usual()), returns(nil)}))
	<-done
	pool.Stop(t.Context())
	require.False(t, pool.watch.timer.Stop(), "it would keep the pool in memory until it fires")
}
