package cli

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// Of what may be meant only that is told which would be taken.
func TestDurationHintsAreRight(t *testing.T) {
	t.Parallel()
	var d time.Duration
	const span, age = "a duration from 1ms to 8760h0m0s, such as 5s, is right", "a duration above 0 such as 720h is right, or -1 for no limit"
	for _, c := range []struct {
		of         pflag.Value
		text, says string
	}{
		{(*spanValue)(&d), "5", span + "; it is without a unit; 5s or 5ms may be meant"},
		{(*spanValue)(&d), "0", span},
		{(*spanValue)(&d), "-5", span},
		{(*spanValue)(&d), "0.5", span + "; it is without a unit; 0.5s may be meant"},
		{(*spanValue)(&d), "90000000", span + "; it is without a unit; 90000000ms may be meant"},
		{(*spanValue)(&d), "3d", span + "; there are no days; 72h may be meant"},
		{(*spanValue)(&d), "400d", span},
		{(*ageValue)(&d), "0", age},
		{(*ageValue)(&d), "-5", age},
		{(*ageValue)(&d), "3d", age + "; there are no days; 72h may be meant"},
		{(*pauseValue)(&d), "-5", "a duration such as 500ms or 5s is right"},
		{(*delayValue)(&d), "-5", "a duration such as 90s or 1h30m is right; it is without a unit; -5s or -5ms may be meant"},
	} {
		require.EqualError(t, c.of.Set(c.text), c.says, c.text)
	}
}
