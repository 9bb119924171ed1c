package cli

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// trust says by what a side of the command line knows servers.
type trust struct {
	authority string // what is right where an authority is unknown
	address   string // what names the server
}

var (
	adminTrust = trust{"--admin-ca or " + envAdminCA + " names the authority that signed it", "--admin or " + envAdmin}
	redisTrust = trust{"SSL_CERT_FILE names the authority that signed it; ?skip_verify=true at the end of the URL trusts any", "--redis or " + envRedis}
)

// certificateHint says what is to be done about a server's certificate that is not
// believed; "" where err is none over one.
func certificateHint(err error, t trust, now time.Time) string {
	var stranger x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &stranger):
		return t.authority
	case errors.As(err, &name) && unnamed(name.Certificate):
		return fmt.Sprintf("the certificate needs a subjectAltName, in which alone names are looked for: openssl … -addext 'subjectAltName=%s'", altName(name.Host))
	case errors.As(err, &name):
		return t.address + " must name the server as its certificate does"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil && now.Before(invalid.Cert.NotBefore):
		return "the server's certificate holds only later; it must be replaced by one that holds now, or this machine's clock is wrong"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the server's certificate has expired and must be renewed, or this machine's clock is wrong"
	case errors.As(err, &invalid):
		return "the server needs another certificate: one for servers, which its authority may sign"
	}
	return ""
}

// unnamed tells that a certificate has no subjectAltName that a server is known by.
func unnamed(c *x509.Certificate) bool {
	return c != nil && len(c.DNSNames)+len(c.IPAddresses) == 0
}

// altName is the name of a host as a subjectAltName has it.
func altName(host string) string {
	host = strings.Trim(host, "[]")
	if net.ParseIP(host) != nil {
		return "IP:" + host
	}
	return "DNS:" + host
}
