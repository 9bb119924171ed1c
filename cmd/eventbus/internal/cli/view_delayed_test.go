package cli

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// How long an event still waits goes by the moment that is given, which is one of
// Redis's clock; and whatever time others have written, it can be shown.
func TestViewDelayed(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		due time.Time
		in  string
		ms  any
	}{
		{now.Add(90 * time.Second), "1m30s", 90_000},
		{now, "now", 0},
		{now.Add(-317 * time.Microsecond), "now", -1},
		{now.Add(-5 * time.Millisecond), "overdue 5ms", -5},
		{time.UnixMilli(0), "overdue 56y45d", -now.UnixMilli()},
		{now.Add(eventbus.MaxDelay), "10y", 315_360_000_000},
		{time.Date(9998, 12, 31, 23, 59, 59, 0, time.UTC), "over 292y171d", 253370764799000 - now.UnixMilli()},
		{time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), "never", "null"},
		{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), "never", "null"},
		{time.UnixMilli(1e17), "never", "null"},
	} {
		v := viewDelayed("orders", "default", eventbus.DelayedEvent{DueAt: c.due.UTC()}, now)
		require.Equal(t, c.in, v.in)
		text, err := json.Marshal(v)
		require.NoError(t, err, c.in)
		require.Contains(t, string(text), fmt.Sprintf(`"in_ms":%v,`, c.ms), c.in)
	}
	require.Equal(t, "-", until(time.Time{}, now))
	require.Nil(t, dueTime(time.Time{}))
}
