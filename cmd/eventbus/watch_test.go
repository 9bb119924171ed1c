package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Watching shows figures again and again with their rates; Ctrl-C is its proper
// end.
func TestStatsWatch(t *testing.T) {
	b := setup(t)
	b.ok("topic", "create", "orders")
	p := b.start(nil, "stats", "orders", "--watch", "--interval", "100ms", "-o", "json")
	p.out.next()
	b.okIn("1\n2\n3\n", "send", "orders", "--lines")
	var s struct {
		Waiting       int64
		SentPerSecond *float64 `json:"sent_per_second"`
	}
	for rate := 0.0; s.Waiting < 3 || rate == 0; {
		require.NoError(t, json.Unmarshal([]byte(p.out.next()), &s))
		if s.SentPerSecond != nil {
			rate = max(rate, *s.SentPerSecond)
		}
	}
	p.signal(os.Interrupt)
	require.Equal(t, 0, p.wait())
	require.Empty(t, p.err.rest())
}
