package outcome

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var errOnPurpose = errors.New("on purpose")

func TestOfReadsTheOutermostOutcome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		kind  Kind
		delay time.Duration
	}{
		"nil":                  {nil, Done, 0},
		"plain":                {errOnPurpose, Fail, 0},
		"deadline":             {context.DeadlineExceeded, Fail, 0},
		"reject":               {Reject(errOnPurpose), Dead, 0},
		"reject nothing":       {Reject(nil), Dead, 0},
		"retry after":          {RetryAfter(time.Minute, errOnPurpose), Later, time.Minute},
		"retry at once":        {RetryAfter(0, errOnPurpose), Later, 0},
		"retry in the past":    {RetryAfter(-time.Minute, errOnPurpose), Later, 0},
		"snooze":               {Snooze(time.Hour), PutOff, time.Hour},
		"snooze into the past": {Snooze(-time.Hour), PutOff, 0},
		"wrapped":              {fmt.Errorf("charge: %w", fmt.Errorf("bank: %w", Reject(errOnPurpose))), Dead, 0},
		"joined":               {errors.Join(errOnPurpose, Snooze(time.Second)), PutOff, time.Second},
		"reject of a snooze":   {Reject(Snooze(time.Second)), Dead, 0},
		"snooze in a retry":    {RetryAfter(time.Second, Snooze(time.Hour)), Later, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind, delay := Of(c.err)
			require.Equal(t, c.kind, kind)
			require.Equal(t, c.delay, delay)
		})
	}
}

func TestOutcomesKeepTheirReason(t *testing.T) {
	t.Parallel()
	for _, err := range []error{Reject(errOnPurpose), RetryAfter(time.Second, errOnPurpose), fmt.Errorf("more: %w", Reject(errOnPurpose))} {
		require.ErrorIs(t, err, errOnPurpose)
		require.Contains(t, err.Error(), "on purpose")
	}
	for _, err := range []error{Reject(nil), RetryAfter(time.Second, nil), Snooze(time.Second)} {
		require.NotErrorIs(t, err, errOnPurpose)
		require.NotEmpty(t, err.Error())
		require.NotContains(t, err.Error(), "nil")
	}
}
