package handlers

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed4933/eventbus/eventbus"
)

// childEnv tells the test binary to play the child process of a test instead of
// running the tests.
const childEnv = "HANDLERS_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		if err := children[role](os.Args[1:]); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func newEvent(id, payload string) *eventbus.Event {
	return &eventbus.Event{
		ID: id, Topic: "orders", Type: "orders", Source: "/shop", ContentType: "application/json",
		Payload: []byte(payload), Group: "default", Handler: "h", Attempt: 1,
	}
}

// requireOutcome fails unless want, as eventbus.Reject, RetryAfter or Snooze made
// it, is in the chain of err.
func requireOutcome(t require.TestingT, want, err error) {
	require.True(t, inChain(err, want), "outcome %#v is not in the chain of %v", want, err)
}

func inChain(err, want error) bool {
	if err == nil || reflect.DeepEqual(err, want) {
		return err != nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range many.Unwrap() {
			if inChain(one, want) {
				return true
			}
		}
	}
	return inChain(errors.Unwrap(err), want)
}

// line is what the tests look at in a line of NDJSON.
type line struct {
	SpecVersion string          `json:"specversion"`
	ID          string          `json:"id"`
	Data        json.RawMessage `json:"data"`
	Base64      []byte          `json:"data_base64"`
}
