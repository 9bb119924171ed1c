package handlers

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// maxThriftText is how many bytes of a text of the server's are kept: as many as
// are kept of an error with a failure.
const maxThriftText = 4 << 10

// ThriftOutcomeError says that a server answered, and with what other than DONE.
type ThriftOutcomeError struct {
	// Address is the server's.
	Address string
	// Outcome is what it answered: RETRY, RETRY_AFTER or REJECT, or the number of
	// one that is not known, 0 when it answered none.
	Outcome string
	// Message is what it gave as the reason, at most 4 KiB; it may be empty.
	Message string
	// Wrong says what is wrong with the answer; empty when nothing is.
	Wrong string
}

// Answered tells the circuit breaker that the server is not down, whatever it
// thinks of the event.
func (e *ThriftOutcomeError) Answered() bool { return true }

// Error returns the server's message behind what is known of it.
func (e *ThriftOutcomeError) Error() string {
	text := fmt.Sprintf("handler at %s answered %s", e.Address, e.Outcome)
	if e.Wrong != "" {
		text += " (" + e.Wrong + ")"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// outcome returns what the answer means for the bus.
func (t *Thrift) outcome(result *thriftbus.HandleResult_) error {
	failed := &ThriftOutcomeError{Address: t.address, Outcome: result.Outcome.String(), Message: cutText(result.GetMessage())}
	switch result.Outcome {
	case thriftbus.Outcome_DONE:
		return nil
	case thriftbus.Outcome_RETRY:
		return failed
	case thriftbus.Outcome_RETRY_AFTER:
		ms := result.GetRetryAfterMs()
		if ms <= 0 {
			failed.Wrong = fmt.Sprintf("with retry_after_ms %d, where more than 0 is right; it counts as RETRY", ms)
			if !result.IsSetRetryAfterMs() {
				failed.Wrong = "without retry_after_ms, which it needs; it counts as RETRY"
			}
			return failed
		}
		// Capped as the bus itself would, and before the multiplication overflows.
		ms = min(ms, eventbus.MaxDelay.Milliseconds())
		return eventbus.RetryAfter(time.Duration(ms)*time.Millisecond, failed)
	case thriftbus.Outcome_REJECT:
		return eventbus.Reject(failed)
	}
	failed.Outcome = fmt.Sprintf("outcome %d", int64(result.Outcome))
	failed.Wrong = "right are DONE (1), RETRY (2), RETRY_AFTER (3) and REJECT (4); it counts as RETRY"
	if result.Outcome == 0 {
		failed.Wrong = "or none; " + failed.Wrong
	}
	return failed
}

// cutText returns a copy of the beginning of a text as valid UTF-8, so that
// nothing holds on to a large one.
func cutText(text string) string {
	if len(text) > maxThriftText {
		return strings.ToValidUTF8(text[:maxThriftText-len("…")], "") + "…"
	}
	return strings.Clone(strings.ToValidUTF8(text, "\uFFFD"))
}
