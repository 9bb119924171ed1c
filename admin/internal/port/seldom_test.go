package port

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &logBuffer{}
		log := slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
		var s Seldom
		lines := func() (warnings, all int) {
			return strings.Count(b.String(), "level=WARN"), strings.Count(b.String(), "msg=")
		}
		for minute := range 3 {
			var askers sync.WaitGroup
			for i := range 100 {
				askers.Go(func() { s.Log(log, slog.LevelDebug, "refused", "client", i) })
			}
			askers.Wait()
			<-time.After(warnEvery - 1) // by the clock of the bubble
			s.Log(log, slog.LevelDebug, "refused")
			<-time.After(time.Nanosecond)
			warnings, all := lines()
			require.Equal(t, minute+1, warnings)
			require.Equal(t, 101*(minute+1), all)
		}
		require.NotContains(t, strings.SplitN(b.String(), "\n", 2)[0], "more=")
		require.Equal(t, 2, strings.Count(b.String(), "more=100"), "99 of a hundred, and the one at the end of the minute")
	})
}
