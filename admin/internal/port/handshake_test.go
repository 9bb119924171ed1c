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

// A client that hangs up over the server's certificate is told of as one, with the word
// that it had for it, in each version of TLS.
func TestServer_RefusedCertificate(t *testing.T) {
	t.Parallel()
	for version, conf := range map[uint16]*tls.Config{
		tls.VersionTLS12: {},
		tls.VersionTLS13: {ServerName: "other.example"},
	} {
		b, a := setupTLS(t, nil)
		conf.MaxVersion = version
		if conf.ServerName != "" {
			conf.RootCAs = a.Pool
		}
		_, err := tls.Dial("tcp", b.addr, conf)
		require.Error(t, err)
		b.logs(t, "it refuses this server's certificate: it does not trust who signed it, or the certificate is not for the name that it asked for, or does not hold now: remote error: tls: ")
	}
}
