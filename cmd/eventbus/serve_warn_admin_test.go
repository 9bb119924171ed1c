package main

import (
	"crypto/x509"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/internal/certtest"
)

// startLog starts serve with a section admin, and returns its lines until it is ready.
func (b *bed) startLog(section string, args ...string) (all []string) {
	b.t.Helper()
	b.env = append(b.env, ownThrift)
	config := b.file("serve.yaml", "admin: "+section+"\ntopics: [{name: orders, handlers: [{id: print, type: log}]}]\n")
	p := b.start(nil, append([]string{"serve", "--http", "", "--config", config}, args...)...)
	for line := p.err.next(); line != "ready"; line = p.err.next() {
		all = append(all, line)
	}
	p.stopped(os.Interrupt)
	return all
}

// with returns those of the lines that have all of the words.
func with(lines []string, words ...string) (some []string) {
	for _, line := range lines {
		has := true
		for _, word := range words {
			has = has && strings.Contains(line, word)
		}
		if has {
			some = append(some, line)
		}
	}
	return some
}

// A certificate that clients will refuse is told of at the start, with its setting, its
// file, and the time that matters.
func TestServeWarnsOfItsCertificate(t *testing.T) {
	b := setup(t)
	a := certtest.New(t)
	start := func(changes ...func(*x509.Certificate)) (lines []string, file string, c *x509.Certificate) {
		pair := a.Issue("127.0.0.1", changes...)
		cert, key := certtest.Files(t, pair)
		return b.startLog(fmt.Sprintf("{listen: '127.0.0.1:0', tls: {cert: %q, key: %q}}", cert, key)), cert, pair.Leaf
	}
	lines, _, _ := start()
	require.Empty(t, with(lines, "level=WARN"))

	lines, file, c := start(certtest.Expired)
	require.Len(t, with(lines, "level=WARN"), 1)
	require.Len(t, with(lines, "the certificate of the admin service has expired", "setting=admin.tls.cert file="+file, "until="+c.NotAfter.Format("2006-01-02T15:04:05.000Z")), 1, lines)

	lines, file, c = start(certtest.Early, certtest.Unnamed)
	require.Len(t, with(lines, "level=WARN"), 2)
	require.Len(t, with(lines, "does not hold yet", "setting=admin.tls.cert file="+file, "from="+c.NotBefore.Format("2006-01-02T15:04:05.000Z")), 1, lines)
	require.Len(t, with(lines, "has no subjectAltName", "setting=admin.tls.cert file="+file), 1, lines)
}

// A token that others can read on its way is told of; and the start says what is
// demanded of those who call.
func TestServeTellsWhoMayCall(t *testing.T) {
	b := setup(t)
	cert, key := certtest.New(t).Files()
	pair := fmt.Sprintf("cert: %q, key: %q", cert, key)
	for _, c := range []struct {
		section, says string
		clear         bool
	}{
		{"{listen: '127.0.0.1:0'}", "thrift_tls=false thrift_client_certificates=false thrift_token=false", false},
		{"{listen: '127.0.0.1:0', token: s3cret}", "thrift_tls=false thrift_client_certificates=false thrift_token=true", false},
		{"{listen: '0.0.0.0:0', token: s3cret}", "thrift_tls=false thrift_client_certificates=false thrift_token=true", true},
		{"{listen: '0.0.0.0:0', token: s3cret, tls: {" + pair + "}}", "thrift_tls=true thrift_client_certificates=false thrift_token=true", false},
		{"{listen: '0.0.0.0:0', tls: {" + pair + ", client_ca: '" + cert + "'}}", "thrift_tls=true thrift_client_certificates=true thrift_token=false", false},
	} {
		lines := b.startLog(c.section)
		require.Len(t, with(lines, "msg=serving ", c.says), 1, lines)
		clear := with(lines, "level=WARN", "the token of the admin service travels in clear", "setting=admin.tls")
		require.Equal(t, c.clear, len(clear) == 1, lines)
		require.Empty(t, with(lines, "s3cret"))
	}
	require.Empty(t, with(b.startLog("{listen: '0.0.0.0:0', token: s3cret}", "--thrift", ""), "thrift_t"))
}
