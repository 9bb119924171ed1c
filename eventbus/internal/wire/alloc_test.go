//go:build !race

package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The tests here count allocations: they cannot run beside others, and the race
// detector adds allocations of its own.

func TestAppendAllocatesOnce(t *testing.T) {
	plain, escaped := newEntry(payload200), worst()
	for name, e := range map[string]*Entry{"plain": &plain, "worst": &escaped} {
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() { Append(nil, e) }), 1.0, name)
		dst := make([]byte, 0, 64<<10)
		require.Zero(t, testing.AllocsPerRun(100, func() { Append(dst, e) }), "%s, with room", name)
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	e := newEntry(payload200)
	e.Handler, e.Attempt, e.Failure, e.FailedAt = "mail", 2, "f", 1755693045120
	raw := Append(nil, &e)
	var got Entry
	require.Zero(t, testing.AllocsPerRun(100, func() { got = Decode(raw, givenID) }))
	requireSame(t, e, got)
}
