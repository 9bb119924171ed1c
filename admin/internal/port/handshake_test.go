package port

import (
	"crypto/tls"
	"testing"

	"github.com/stretchr/testify/require"
)

// A chain of certificates may be long, and not without end.
func TestServer_LongHandshake(t *testing.T) {
	t.Parallel()
	b, a := setupTLS(t, nil)
	issued := a.Issue("operator")
	chain := func(bytes int) *tls.Config {
		long := issued
		for size := 0; size < bytes; size += len(issued.Certificate[0]) {
			long.Certificate = append(long.Certificate, issued.Certificate[0])
		}
		return &tls.Config{RootCAs: a.Pool, Certificates: []tls.Certificate{long}}
	}
	c, err := tls.Dial("tcp", b.addr, chain(maxHandshake/2))
	require.NoError(t, err)
	defer c.Close()
	for range 10 { // it is no limit for what follows
		got, err := adminOver(kinds()[0].over(c)).GetTopic(t.Context(), "size 10000")
		require.NoError(t, err)
		require.Len(t, got.Name, 10_000)
		_, err = adminOver(kinds()[0].over(c)).GetTopic(t.Context(), string(make([]byte, maxHandshake)))
		require.NoError(t, err)
	}

	late, err := tls.Dial("tcp", b.addr, chain(maxHandshake))
	if err == nil {
		defer late.Close()
		err = adminOver(kinds()[0].over(late)).Ping(t.Context())
	}
	require.Error(t, err)
	b.logs(t, errLongHandshake.Error())
}
