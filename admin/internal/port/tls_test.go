package port

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed4933/eventbus/internal/certtest"
	"github.com/stretchr/testify/require"
)

func setupTLS(t *testing.T, change func(*Config)) (*bundle, *certtest.Authority) {
	t.Helper()
	a := certtest.New(t)
	return setup(t, func(c *Config) {
		c.TLS = &tls.Config{
			Certificates: []tls.Certificate{a.Issue("127.0.0.1")},
			ClientCAs:    a.Pool,
			ClientAuth:   tls.VerifyClientCertIfGiven,
			NextProtos:   []string{"h2"}, // which it must not offer
		}
		if change != nil {
			change(c)
		}
	}), a
}

func TestServer_TLS(t *testing.T) {
	t.Parallel()
	b, a := setupTLS(t, nil)
	for name, conf := range map[string]*tls.Config{
		"":         {RootCAs: a.Pool},
		"operator": {RootCAs: a.Pool, Certificates: []tls.Certificate{a.Issue("operator")}},
	} {
		for _, k := range kinds() {
			c, err := tls.Dial("tcp", b.addr, conf)
			require.NoError(t, err)
			t.Cleanup(func() { _ = c.Close() })
			got, err := adminOver(k.over(c)).GetTopic(t.Context(), "client")
			require.NoError(t, err, k.name)
			require.Equal(t, "true "+name+"  ", got.Name, k.name)
		}
		transport := &http.Transport{TLSClientConfig: conf, ForceAttemptHTTP2: true}
		t.Cleanup(transport.CloseIdleConnections)
		got, err := adminOverHTTP(t, "https://"+b.addr, kinds()[2], transport, "").GetTopic(t.Context(), "client")
		require.NoError(t, err)
		require.Equal(t, "true "+name+"  ", got.Name)
	}
}

func TestServer_PlainOnTLS(t *testing.T) {
	t.Parallel()
	b, _ := setupTLS(t, nil)
	for _, k := range kinds() {
		c := dial(t, b.addr)
		require.Error(t, adminOver(k.over(c)).Ping(t.Context()))
		closes(t, c)
	}
	b.logs(t, "let it connect with TLS")
	require.Equal(t, 1, strings.Count(b.log.String(), "level=WARN"), "the first is worth a warning, and strangers cannot fill the log")
	c := dial(t, b.addr)
	_, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	require.NoError(t, err)
	require.Contains(t, string(closes(t, c)), "use https")
}

// Clients that say nothing cost a place for as long as the handshake may take,
// and that only while nobody else wants it.
func TestServer_SilentOnTLS(t *testing.T) {
	t.Parallel()
	b, a := setupTLS(t, brief(func(l *Limits) { l.MaxConnections = 20 }))
	for i := range 60 {
		c := dial(t, b.addr)
		if i%2 == 0 {
			_, err := c.Write([]byte{0x16, 3, 1})
			require.NoError(t, err)
		}
	}
	for range 3 {
		took, err := ping(b.addr, &tls.Config{RootCAs: a.Pool})
		require.NoError(t, err)
		require.Less(t, took, soon)
	}

	b, _ = setupTLS(t, brief(func(l *Limits) { l.Handshake = 50 * time.Millisecond }))
	closes(t, dial(t, b.addr))
	b, a = setupTLS(t, brief(func(l *Limits) { l.FirstByte = 50 * time.Millisecond }))
	c, err := tls.Dial("tcp", b.addr, &tls.Config{RootCAs: a.Pool})
	require.NoError(t, err)
	closes(t, c)
}
