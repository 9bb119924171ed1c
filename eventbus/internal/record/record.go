// Package record defines what is kept of a failure beside its event.
package record

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxError is the greatest length of an error's text that is kept, in bytes.
const MaxError = 4096

// Reason says why a failure is where it is.
type Reason string

const (
	Failed    Reason = "failed"     // the last attempt failed, another will come
	Exhausted Reason = "exhausted"  // all attempts are used up
	Rejected  Reason = "rejected"   // the handler said that no attempt can succeed
	Killed    Reason = "killed"     // the processes that ran it died
	Snoozed   Reason = "snoozed"    // the handler asked to be run later
	Open      Reason = "breaker"    // the handler's breaker is open
	Abandoned Reason = "abandoned"  // too many runs ignored their timeout
	Disabled  Reason = "disabled"   // the handler is disabled
	NoHandler Reason = "no_handler" // the process that had it lacks the handler
)

// Failure is the JSON object of a failure.
type Failure struct {
	Event      string `json:"event"`
	Handler    string `json:"handler"` // "" for all handlers of the topic
	Reason     Reason `json:"reason"`
	Error      string `json:"error,omitempty"`
	Attempts   int    `json:"attempts"`
	Deliveries int    `json:"deliveries,omitempty"`
	FirstAt    int64  `json:"first_at,omitempty"` // epoch ms
}

// Marshal returns the JSON object, with the error's text cut at MaxError.
func (f Failure) Marshal() []byte {
	f.Error = Cut(f.Error)
	b, err := json.Marshal(f)
	if err != nil {
		panic(err) // strings and numbers marshal
	}
	return b
}

// Unmarshal reads what Marshal wrote.
func Unmarshal(b []byte) (Failure, error) {
	var f Failure
	if err := json.Unmarshal(b, &f); err != nil {
		return Failure{}, fmt.Errorf("read failure record: %w", err)
	}
	return f, nil
}

// Cut shortens an error's text to MaxError bytes, at a character, and says how
// long it was. What is no UTF-8 becomes a replacement character first: JSON would
// do that later, and let the text grow again.
func Cut(text string) string {
	whole := len(text)
	text = strings.ToValidUTF8(text, "\uFFFD")
	if whole <= MaxError && len(text) <= MaxError {
		return text
	}
	tail := fmt.Sprintf("… (%d bytes in all)", whole)
	end := min(len(text), MaxError-len(tail))
	for end > 0 && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + tail
}
