// Package certtest makes certificates for tests. Only tests import it.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Authority signs certificates for a test, which hold for an hour.
type Authority struct {
	t    testing.TB
	own  tls.Certificate
	Pool *x509.CertPool // has the authority
}

// New makes an authority. Its own certificate is one for 127.0.0.1 as well, which
// vouches for itself.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, Pool: x509.NewCertPool()}
	a.own = a.Issue("127.0.0.1")
	a.Pool.AddCert(a.own.Leaf)
	return a
}

// Issue returns a certificate for a name, for servers and clients: of a server it is
// the address or the host that it is asked for by. Changes are made to it before it is
// signed, such as to when it holds.
func (a *Authority) Issue(name string, changes ...func(c *x509.Certificate)) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: a.own.Leaf == nil, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	parent, signer := a.own.Leaf, a.own.PrivateKey
	if parent == nil {
		template.Subject.CommonName = "authority of a test"
		template.KeyUsage |= x509.KeyUsageCertSign
		parent, signer = template, key
	}
	for _, change := range changes {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	require.NoError(a.t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// Files writes the authority's own certificate and its key, in PEM.
func (a *Authority) Files() (certFile, keyFile string) {
	a.t.Helper()
	return Files(a.t, a.own)
}

// Files writes a certificate and its key, in PEM.
func Files(t testing.TB, c tls.Certificate) (certFile, keyFile string) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return file
	}
	return write("cert.pem", "CERTIFICATE", c.Certificate[0]), write("key.pem", "PRIVATE KEY", key)
}

// Expired has a certificate expire a minute ago.
func Expired(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }

// Early has a certificate hold only from in half an hour on.
func Early(c *x509.Certificate) { c.NotBefore = time.Now().Add(30 * time.Minute) }

// Unnamed has a certificate name its holder in its subject alone, as older ones do.
func Unnamed(c *x509.Certificate) { c.DNSNames, c.IPAddresses = nil, nil }
