package cli

import (
	"crypto/x509"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/certtest"
)

// What is wrong with a server's certificate is told by what is to be done about it,
// through the admin service and to Redis.
func TestCertificateHint(t *testing.T) {
	t.Parallel()
	a := certtest.New(t)
	verify := func(host string, roots *x509.CertPool, change ...func(*x509.Certificate)) error {
		_, err := a.Issue("127.0.0.1", change...).Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots})
		require.Error(t, err)
		return err
	}
	forClients := func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }
	const admins, redis = "--admin-ca or EVENTBUS_ADMIN_CA names the authority", "SSL_CERT_FILE names the authority"
	for _, c := range []struct {
		err             error
		throughIt, ofIt string
	}{
		{verify("127.0.0.1", x509.NewCertPool()), admins, redis},
		{verify("127.0.0.1", a.Pool, certtest.Expired), "the server's certificate has expired and must be renewed, or this machine's clock is wrong", ""},
		{verify("127.0.0.1", a.Pool, certtest.Early), "the server's certificate holds only later", ""},
		{verify("127.0.0.1", a.Pool, forClients), "one for servers", ""},
		{verify("127.0.0.1", a.Pool, certtest.Unnamed), "needs a subjectAltName, in which alone names are looked for: openssl … -addext 'subjectAltName=IP:127.0.0.1'", ""},
		{verify("[::1]", a.Pool, certtest.Unnamed), "subjectAltName=IP:::1'", ""},
		{verify("localhost", a.Pool, certtest.Unnamed), "subjectAltName=DNS:localhost'", ""},
		{verify("localhost", a.Pool), "--admin or EVENTBUS_ADMIN must name the server as its certificate does", "--redis or EVENTBUS_REDIS must name the server"},
	} {
		if c.ofIt == "" {
			c.ofIt = c.throughIt
		}
		require.Contains(t, remoteHint(fmt.Errorf("ask: %w: %w", admin.ErrUnreachable, c.err), true), c.throughIt)
		require.Contains(t, hint(fmt.Errorf("ask: %w: %w", eventbus.ErrUnavailable, c.err)), c.ofIt)
	}
	require.Empty(t, certificateHint(eventbus.ErrUnavailable, adminTrust, time.Now()))
}
