package eventbus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/eventbus/internal/record"
)

// What stands in a failure's record is one of the public reasons.
func TestFailureReasonsAreThoseOfTheRecords(t *testing.T) {
	t.Parallel()
	for kept, public := range map[record.Reason]eventbus.FailureReason{
		record.Failed: eventbus.ReasonFailed, record.Exhausted: eventbus.ReasonExhausted,
		record.Rejected: eventbus.ReasonRejected, record.Killed: eventbus.ReasonKilled,
		record.Snoozed: eventbus.ReasonSnoozed, record.Open: eventbus.ReasonBreaker,
		record.Abandoned: eventbus.ReasonAbandoned, record.Disabled: eventbus.ReasonDisabled,
		record.NoHandler: eventbus.ReasonNoHandler,
	} {
		require.EqualValues(t, kept, public)
	}
}
