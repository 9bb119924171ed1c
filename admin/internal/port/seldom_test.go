package port

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s Seldom
		for range 3 {
			var worth atomic.Int64
			var askers sync.WaitGroup
			for range 100 {
				askers.Go(func() {
					if s.Worth() {
						worth.Add(1)
					}
				})
			}
			askers.Wait()
			require.EqualValues(t, 1, worth.Load())
			<-time.After(warnEvery - 1) // by the clock of the bubble
			require.False(t, s.Worth())
			<-time.After(time.Nanosecond)
		}
	})
}
