package eventbustest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/eventbus/internal/record"
)

// RequireHandled waits until the handler, in the bus's group, has handled n
// events of the topic with success, and returns them in the order in which it
// was given them. More than n fail the test; to be sure that no more follow, call
// WaitIdle or Drain before.
func (b *Bus) RequireHandled(t testing.TB, topic, handler string, n int) []*eventbus.Event {
	t.Helper()
	at := place{topic, b.group}
	var handled []*eventbus.Event
	b.server.poll(t, func() bool {
		handled = b.server.runs.succeeded(at, handler)
		return len(handled) >= n
	}, func() string {
		return fmt.Sprintf("handler %q of topic %q, group %q, should have handled %s, and has %d; handlers that were called: %s; its failures: %s%s",
			handler, topic, b.group, number(n, "event", "events"), len(handled), list(b.server.runs.handlers(at)), b.complaints(topic, handler), b.delays(topic))
	})
	if len(handled) > n {
		t.Fatalf("eventbustest: handler %q of topic %q, group %q, should have handled %s; %s", handler, topic, b.group, number(n, "event", "events"), describe(handled))
	}
	return handled
}

// RequireFailed waits until n events are recorded as failed for the handler in
// the bus's group, dead or to be retried, and returns these failures with their
// events: first those that are retried, then the dead. More than n fail the
// test. What was only put off has not failed.
func (b *Bus) RequireFailed(t testing.TB, topic, handler string, n int) []eventbus.Failure {
	t.Helper()
	var failures []eventbus.Failure
	b.server.poll(t, func() bool {
		t.Helper()
		var err error
		if failures, err = b.failuresOf(context.Background(), topic, handler); err != nil {
			t.Fatalf("eventbustest: %v", err)
		}
		return len(failures) >= n
	}, func() string {
		return fmt.Sprintf("%s of topic %q should have failed in handler %q, group %q, and %d did; handlers that were called: %s%s",
			number(n, "event", "events"), topic, handler, b.group, len(failures), list(b.server.runs.handlers(place{topic, b.group})), b.delays(topic))
	})
	if len(failures) > n {
		t.Fatalf("eventbustest: %s of topic %q should have failed in handler %q, group %q, and %d did: %s",
			number(n, "event", "events"), topic, handler, b.group, len(failures), b.complaints(topic, handler))
	}
	return failures
}

func (b *Bus) failuresOf(ctx context.Context, topic, handler string) ([]eventbus.Failure, error) {
	var found []eventbus.Failure
	for _, state := range []eventbus.FailureState{eventbus.Retrying, eventbus.Dead} {
		q := eventbus.FailureQuery{State: state, Handler: handler}
		for {
			page, err := b.Failures().List(ctx, topic, q)
			if errors.Is(err, eventbus.ErrTopicNotFound) || errors.Is(err, eventbus.ErrGroupNotFound) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			for _, f := range page.Failures {
				if !hasFailed(f) {
					continue
				}
				full, err := b.Failures().Get(ctx, topic, f.ID)
				switch {
				case err == nil:
					found = append(found, full)
				case !errors.Is(err, eventbus.ErrFailureNotFound): // else it has just gone on
					return nil, err
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
	}
	return found, nil
}

func hasFailed(f eventbus.Failure) bool {
	switch record.Reason(f.Reason) {
	case record.Failed, record.Exhausted, record.Rejected, record.Killed:
		return true
	}
	return false
}

// complaints lists a handler's failures for a message.
func (b *Bus) complaints(topic, handler string) string {
	failures, err := b.failuresOf(context.Background(), topic, handler)
	if err != nil {
		return err.Error()
	}
	texts := make([]string, len(failures))
	for i, f := range failures {
		texts[i] = fmt.Sprintf("\n\tevent %s, %s, %s: %s", f.EventID, number(f.Attempts, "attempt", "attempts"), f.Reason, f.Error)
	}
	return list(texts)
}

func list(texts []string) string {
	if len(texts) == 0 {
		return "none"
	}
	return strings.Join(texts, ", ")
}
