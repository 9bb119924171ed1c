package certtest_test

import (
	"crypto/tls"
	"crypto/x509"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed4933/eventbus/internal/certtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAuthorityVouchesForWhatItHasIssued(t *testing.T) {
	t.Parallel()
	a, stranger := certtest.New(t), certtest.New(t)
	verify := func(c tls.Certificate, host string, roots *x509.CertPool) error {
		_, err := c.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
		return err
	}
	for _, host := range []string{"127.0.0.1", "host.example"} {
		require.NoError(t, verify(a.Issue(host), host, a.Pool))
		require.Error(t, verify(a.Issue(host), "other.example", a.Pool))
		require.Error(t, verify(a.Issue(host), host, stranger.Pool))
	}
	require.Equal(t, "operator jane", a.Issue("operator jane").Leaf.Subject.CommonName)

	for _, wrong := range []func(*x509.Certificate){certtest.Expired, certtest.Early, certtest.Unnamed} {
		require.Error(t, verify(a.Issue("127.0.0.1", wrong), "127.0.0.1", a.Pool))
	}

	own, err := tls.LoadX509KeyPair(a.Files())
	require.NoError(t, err)
	require.NoError(t, verify(own, "127.0.0.1", a.Pool))
}
