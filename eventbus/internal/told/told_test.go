package told

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachErrorIsToldOnceUntilAllIsWell(t *testing.T) {
	var log Errors[string]
	one, other := errors.New("one"), errors.New("other")
	require.False(t, log.Ill("a"))
	require.True(t, log.First("a", one))
	require.True(t, log.First("a", other))
	for range 10 {
		require.False(t, log.First("a", one), "told again because another error came between")
		require.False(t, log.First("a", other))
	}
	require.True(t, log.First("b", one), "another place")
	require.True(t, log.Ill("a"))

	log.Well("a")
	require.False(t, log.Ill("a"))
	require.True(t, log.First("a", one), "ill anew")
	require.True(t, log.Ill("b"))
}

func TestTextsThatNeverRepeatAreToldAFewTimes(t *testing.T) {
	var log Errors[int]
	told := 0
	for i := range 1000 {
		if log.First(1, fmt.Errorf("try %d", i)) {
			told++
		}
	}
	require.Equal(t, most, told)
}
