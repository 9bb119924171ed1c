package port

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// authority issues certificates for 127.0.0.1.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{pool: x509.NewCertPool()}
	pair := a.issue(t, "authority")
	cert, err := x509.ParseCertificate(pair.Certificate[0])
	require.NoError(t, err)
	a.cert, a.key = cert, pair.PrivateKey.(*ecdsa.PrivateKey)
	a.pool.AddCert(cert)
	return a
}

// issue returns a certificate for a name; the first is the authority's own.
func (a *authority) issue(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:         a.cert == nil, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	parent, signer := template, key
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func setupTLS(t *testing.T, change func(*Config)) (*bundle, *authority) {
	t.Helper()
	a := newAuthority(t)
	return setup(t, func(c *Config) {
		c.TLS = &tls.Config{
			Certificates: []tls.Certificate{a.issue(t, "server")},
			ClientCAs:    a.pool,
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
		"":         {RootCAs: a.pool},
		"operator": {RootCAs: a.pool, Certificates: []tls.Certificate{a.issue(t, "operator")}},
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
		took, err := ping(b.addr, &tls.Config{RootCAs: a.pool})
		require.NoError(t, err)
		require.Less(t, took, soon)
	}

	b, _ = setupTLS(t, brief(func(l *Limits) { l.Handshake = 50 * time.Millisecond }))
	closes(t, dial(t, b.addr))
	b, a = setupTLS(t, brief(func(l *Limits) { l.FirstByte = 50 * time.Millisecond }))
	c, err := tls.Dial("tcp", b.addr, &tls.Config{RootCAs: a.pool})
	require.NoError(t, err)
	closes(t, c)
}
