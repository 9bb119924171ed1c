package cli

import (
	"errors"
	"fmt"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
)

// done is the answer of a command that changes something.
type done struct {
	Topic    string `json:"topic"`
	Group    string `json:"group,omitempty"`
	Handler  string `json:"handler,omitempty"`
	Action   string `json:"action"`
	Revision int64  `json:"revision,omitempty"`
}

// report answers for a command that has changed something. Where the answer
// cannot be written, the error says what was done: else it would look as if
// nothing had been.
func (a *app) report(v any, text string, args ...any) error {
	return doneBut(fmt.Sprintf(text, args...), a.out.FlushAfter(a.out.Say(v, text, args...)))
}

// doneBut says what was done although it could not be answered.
func doneBut(what string, err error) error {
	var write *show.WriteError
	if !errors.As(err, &write) {
		return err
	}
	return &unansweredError{what, write}
}

type unansweredError struct {
	what string
	err  *show.WriteError
}

func (e *unansweredError) Error() string {
	return fmt.Sprintf("%s; but the answer could not be written: %v", e.what, e.err.Err)
}

func (e *unansweredError) Unwrap() error { return e.err }
