package port

import (
	"context"
	"errors"
)

// refusal is why a client may not call, as Config.Admit has said. It is the
// error of a message that would have cost more than freeCost.
type refusal struct{ reason error }

func (r refusal) Error() string { return r.reason.Error() }

// Unwrap returns what Admit has returned.
func (r refusal) Unwrap() error { return r.reason }

// errLongHead is returned for a message that takes up too much memory before its
// arguments.
var errLongHead = errors.New("the headers and the name of the method take up more memory than a message may before its client is known")

// decide lets the rest of a message have memory if its client may call. Who may
// not can have the free cost, and a short answer, which waits for nobody.
func (x *exchange) decide(ctx context.Context) {
	x.account.barred = nil
	if x.admit == nil {
		return
	}
	client, _ := ClientFrom(ctx)
	if err := x.admit(client); err != nil {
		x.account.barred = refusal{err}
		x.free, x.answer.max = true, min(x.answer.max, chunk)
	}
}
