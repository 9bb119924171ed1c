package redistest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClockOfAServerCanBeWrong(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{5 * time.Minute, -5 * time.Minute} {
		server := Start(t, Options{Skew: skew})
		now, err := server.Admin().Time(t.Context()).Result()
		require.NoError(t, err)
		require.InDelta(t, skew, time.Until(now), float64(30*time.Second))
		now2, err := server.Admin().Eval(t.Context(), "return redis.call('TIME')[1]", nil).Int64()
		require.NoError(t, err)
		require.InDelta(t, skew, time.Until(time.Unix(now2, 0)), float64(30*time.Second))
		server.Restart()
		now, err = server.Admin().Time(t.Context()).Result()
		require.NoError(t, err)
		require.InDelta(t, skew, time.Until(now), float64(30*time.Second), "also when it is started again")
	}
}
