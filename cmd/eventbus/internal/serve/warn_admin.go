package serve

import (
	"crypto/tls"
	"net"
	"time"
)

// warnOfAdmin tells what of the admin service is allowed and will hardly do: a
// certificate that clients refuse, and a token that others can read.
func (s *server) warnOfAdmin() {
	t := &s.thrift
	if t.server == nil {
		return
	}
	if t.tls != nil {
		s.warnOfCertificate(t.tls, time.Now())
		return
	}
	if at, ok := t.server.Addr().(*net.TCPAddr); ok && s.cfg.Token != "" && !at.IP.IsLoopback() {
		s.cfg.Log.Warn("the token of the admin service travels in clear, and whoever is on the way can read it: give the service TLS",
			"listen", at, "setting", "admin.tls")
	}
}

func (s *server) warnOfCertificate(c *tls.Config, now time.Time) {
	leaf := c.Certificates[0].Leaf
	warn := func(text string, more ...any) {
		s.cfg.Log.Warn(text, append([]any{"setting", certSetting, "file", s.cfg.File.Admin.Cert}, more...)...)
	}
	switch {
	case now.After(leaf.NotAfter):
		warn("the certificate of the admin service has expired, and clients refuse it: renew it, or set the clock right", "until", leaf.NotAfter)
	case now.Before(leaf.NotBefore):
		warn("the certificate of the admin service does not hold yet, and clients refuse it: take another, or set the clock right", "from", leaf.NotBefore)
	}
	if len(leaf.DNSNames)+len(leaf.IPAddresses) == 0 {
		warn("the certificate of the admin service has no subjectAltName, and clients refuse it: make one with the names by which they reach it, " +
			"openssl … -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1'")
	}
}

// access is what is demanded of those who call the admin service, for the log.
func (s *server) access() []any {
	if s.thrift.server == nil {
		return nil
	}
	return []any{
		"thrift_tls", s.thrift.tls != nil,
		"thrift_client_certificates", s.thrift.tls != nil && s.thrift.tls.ClientAuth == tls.RequireAndVerifyClientCert,
		"thrift_token", s.cfg.Token != "",
	}
}
