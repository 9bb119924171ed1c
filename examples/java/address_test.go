//go:build java

package java_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// freeAddress is free now; another process may take it before the server does.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // only its address is wanted
	return l.Addr().String()
}
