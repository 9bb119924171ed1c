package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// Whether TLS is spoken by one side alone is looked at wherever somebody may
// have answered.
func TestDialling(t *testing.T) {
	t.Parallel()
	for op, c := range map[string]struct {
		err  error
		want bool
	}{
		"refused":         {&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}, true},
		"unknown name":    {&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}, true},
		"out of time":     {&net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded}, false},
		"silent":          {&net.OpError{Op: "read", Net: "tcp", Err: context.DeadlineExceeded}, false},
		"of another kind": {context.DeadlineExceeded, false},
	} {
		require.Equal(t, c.want, dialling(fmt.Errorf("connect: %w", c.err)), op)
	}
}

// refusal is an error as Redis replies it.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

// Whoever has a reply of Redis's needs no look at how it is spoken with.
func TestAnswered(t *testing.T) {
	t.Parallel()
	for _, reply := range []refusal{"NOPERM no permissions", "OOM command not allowed", "WRONGPASS invalid"} {
		require.True(t, answered(fmt.Errorf("send: %w: %w", eventbus.ErrUnavailable, reply)))
	}
	for _, err := range []error{context.DeadlineExceeded, errors.New("redis: invalid reply"), &net.OpError{Op: "read", Err: syscall.ECONNRESET}} {
		require.False(t, answered(fmt.Errorf("send: %w: %w", eventbus.ErrUnavailable, err)))
	}
}

// What helps a full queue does not help where it is the delayed events that are many.
func TestHintOfFullTopics(t *testing.T) {
	t.Parallel()
	delayed := hint(fmt.Errorf("send: %w: %w", eventbus.ErrTopicFull, eventbus.ErrDelayedFull))
	require.Contains(t, delayed, "until they are due, or cancel some")
	require.NotContains(t, delayed, "handled")
	require.Contains(t, hint(fmt.Errorf("send: %w", eventbus.ErrTopicFull)), "until its events are handled")
}
