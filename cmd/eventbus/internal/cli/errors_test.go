package cli

import (
	"context"
	"fmt"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
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
