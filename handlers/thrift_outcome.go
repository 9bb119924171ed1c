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

// ThriftOutcomeError says that a hosted handler answered, and with what other than
// DONE.
type ThriftOutcomeError struct {
	// Address is the server's.
	Address string
	// Handler is the id of the handler that the event was for.
	Handler string
	// Outcome is what it answered: RETRY, RETRY_AFTER or REJECT, or the number of
	// one that is not known, 0 when it answered none.
	Outcome string
	// Message is what it gave as the reason, at most 4 KiB; it may be empty.
	Message string
	// Wrong says what is wrong with the answer, what would be right, and what the bus
	// makes of it; empty when nothing is wrong.
	Wrong string
}

// Answered tells the circuit breaker that the server is not down, whatever it
// thinks of the event.
func (e *ThriftOutcomeError) Answered() bool { return true }

// Error returns the server's message behind what is known of it.
func (e *ThriftOutcomeError) Error() string {
	text := fmt.Sprintf("handler %q at %s answered %s", e.Handler, e.Address, e.Outcome)
	if e.Wrong != "" {
		text += " (" + e.Wrong + ")"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// outcome returns what the answer of a handler means for the bus.
func (t *Thrift) outcome(handler string, result *thriftbus.HandleResult_) error {
	failed := &ThriftOutcomeError{Address: t.address, Handler: handler, Outcome: result.Outcome.String(), Message: cutText(result.GetMessage())}
	wrong := func(what string) {
		if failed.Wrong != "" {
			failed.Wrong += "; "
		}
		failed.Wrong += what
	}
	pause := result.GetRetryAfterMs()
	switch result.Outcome {
	case thriftbus.Outcome_DONE:
		return nil
	case thriftbus.Outcome_RETRY, thriftbus.Outcome_REJECT:
		if pause != 0 {
			wrong(fmt.Sprintf("with retry_after_ms %d, which is for RETRY_AFTER alone; it is not used", pause))
		}
	case thriftbus.Outcome_RETRY_AFTER:
		const right = "1 or more is right, and it counts as RETRY"
		if !result.IsSetRetryAfterMs() {
			wrong("without retry_after_ms; " + right)
		} else if pause <= 0 {
			wrong(fmt.Sprintf("with retry_after_ms %d; %s", pause, right))
		}
	default:
		failed.Outcome = fmt.Sprintf("outcome %d", int64(result.Outcome))
		if result.Outcome == 0 {
			wrong("or none")
		}
		wrong("right are DONE (1), RETRY (2), RETRY_AFTER (3) and REJECT (4); it counts as RETRY")
		return failed
	}
	if strings.TrimSpace(failed.Message) == "" {
		wrong("without a message; one that says why is right")
	}
	switch {
	case result.Outcome == thriftbus.Outcome_REJECT:
		return eventbus.Reject(failed)
	case result.Outcome == thriftbus.Outcome_RETRY_AFTER && pause > 0:
		// Capped as the bus itself would, and before the multiplication overflows.
		pause = min(pause, eventbus.MaxDelay.Milliseconds())
		return eventbus.RetryAfter(time.Duration(pause)*time.Millisecond, failed)
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
