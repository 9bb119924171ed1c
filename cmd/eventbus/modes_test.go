package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/certtest"
	"github.com/seed4933/eventbus/internal/redistest"
)

// modes runs a test of commands that reach Redis themselves, and once more of those
// that go through the admin port of a server: they answer alike.
func modes(t *testing.T, test func(t *testing.T, b *bed)) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) { test(t, setup(t)) })
	t.Run("admin", func(t *testing.T) {
		b := setup(t)
		b.administer(admin.ServerConfig{})
		test(t, b)
	})
}

// administer serves the administration of the bed's namespace, and has the bed's
// commands go through it.
func (b *bed) administer(cfg admin.ServerConfig) {
	b.t.Helper()
	service, err := admin.New(b.rdb, eventbus.Config{Namespace: b.namespace, Group: b.group, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(b.t, err)
	cfg.Listen, cfg.Logger = "127.0.0.1:0", slog.New(slog.DiscardHandler)
	s, err := admin.Listen(service, cfg)
	require.NoError(b.t, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	b.t.Cleanup(func() {
		stop()
		require.NoError(b.t, <-served)
		require.NoError(b.t, service.Close())
	})
	b.admin = s.Addr().String()
	b.env = append(b.env, "EVENTBUS_ADMIN="+b.admin)
}

// where is how an error names what the bed's commands reach.
func (b *bed) where() string {
	if b.admin != "" {
		return "admin service at " + b.admin
	}
	return b.url + ", namespace " + b.namespace
}

// A command that goes through an admin service asks no Redis, whatever is said of one.
func TestAdminAsksNoRedis(t *testing.T) {
	b := setup(t)
	b.administer(admin.ServerConfig{})
	b.ok("topic", "create", "orders")
	b.url = "redis://127.0.0.1:1"
	b.ok("send", "orders", "--data", "1")
	config := b.file("x.yaml", "redis: redis://127.0.0.1:2/3\nnamespace: other\ngroup: mail\n")
	require.Contains(t, b.ok("topic", "list", "--config", config), "orders")
	require.Contains(t, b.fails(1, "handler", "list", "orders", "--config", config), `group "mail": group not found`)
	require.Contains(t, b.fails(2, "topic", "list", "--namespace", "other"), "--namespace does not go with EVENTBUS_ADMIN: ")

	// A flag goes before the environment.
	require.Contains(t, b.fails(1, "topic", "list", "--redis", "redis://127.0.0.1:3"), "(redis://127.0.0.1:3, ")
	require.Contains(t, b.fails(2, "topic", "list", "--redis", "redis://127.0.0.1:3", "--admin-tls"), "--admin-tls goes with --admin")
	require.Contains(t, b.fails(1, "topic", "list", "--admin", "127.0.0.1:1"), "127.0.0.1:1")
	require.Contains(t, b.fails(1, "bench"), "(redis://127.0.0.1:1", "it goes to Redis itself")
}

// Each way in which the service cannot be used is one line that says where and what.
func TestUnusableAdmin(t *testing.T) {
	b := setup(t)
	const nowhere = "; --admin or EVENTBUS_ADMIN says where the admin service is; eventbus serve runs one"
	for _, args := range [][]string{{"topic", "list"}, {"send", "orders", "--data", "1"}, {"failures", "replay", "orders", "--all"}, {"stats", "--watch"}} {
		line := b.fails(1, append(args, "--admin", "127.0.0.1:1")...)
		require.Contains(t, line, "admin service at 127.0.0.1:1: ")
		require.Contains(t, line, "connection refused"+nowhere)
	}
	lost := setupOn(t, redistest.Start(t, redistest.Options{}))
	lost.administer(admin.ServerConfig{})
	lost.stop()
	line := lost.fails(1, "topic", "list")
	require.Contains(t, line, "list topics: connect to Redis: redis is unavailable: ")
	require.Contains(t, line, "("+lost.where()+"); the server cannot use its Redis; its log says more")
	require.NotContains(t, line, nowhere)
}

// The token comes from the environment or a file, and what is wrong with it says so.
func TestAdminToken(t *testing.T) {
	b := setup(t)
	b.administer(admin.ServerConfig{Token: "s3cret"})
	env := b.env
	for says, token := range map[string]string{"the server wants a token": "", "the token is wrong": "other"} {
		b.env = append(env[:len(env):len(env)], "EVENTBUS_ADMIN_TOKEN="+token)
		for _, args := range [][]string{{"topic", "list"}, {"stats"}, {"send", "orders", "--data", "1"}} {
			line := b.fails(1, args...)
			require.Contains(t, line, says)
			require.Contains(t, line, "("+b.where()+"); --admin-token-file, or else EVENTBUS_ADMIN_TOKEN, gives the token")
			require.NotContains(t, line, "s3cret")
		}
	}
	require.Empty(t, b.ok("topic", "list", "-o", "json", "--admin-token-file", b.file("token", "s3cret\n")), "a flag goes before the environment")
	b.env = append(env[:len(env):len(env)], "EVENTBUS_ADMIN_TOKEN=s3cret")
	require.Empty(t, b.ok("topic", "list", "-o", "json"))
}

// TLS is spoken where it is wanted, and both sides are known by their certificates.
func TestAdminTLS(t *testing.T) {
	b := setup(t)
	certFile, keyFile := certtest.New(t).Files()
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	require.NoError(t, err)
	b.administer(admin.ServerConfig{TLS: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAnyClientCert}})
	require.Empty(t, b.ok("topic", "list", "-o", "json", "--admin-ca", certFile, "--admin-cert", certFile, "--admin-key", keyFile))
	b.env = append(b.env, "SSL_CERT_FILE="+certFile)
	require.Empty(t, b.ok("topic", "list", "-o", "json", "--admin-tls", "--admin-cert", certFile, "--admin-key", keyFile))
	line := b.fails(1, "topic", "list", "--admin-ca", certFile)
	require.Contains(t, line, b.where())
	require.Contains(t, line, "certificate required; the server wants a certificate that an authority of its admin.tls client_ca has signed")
	b.env = b.env[:len(b.env)-1]
	line = b.fails(1, "topic", "list", "--admin-tls", "--admin-cert", certFile, "--admin-key", keyFile)
	require.Contains(t, line, "x509: certificate signed by unknown authority; --admin-ca or EVENTBUS_ADMIN_CA names the authority that signed it")
	b.fails(1, "topic", "list")
}

// What serve offers is what commands go through.
func TestAdminOfServe(t *testing.T) {
	b := setup(t)
	p, address := b.servingAdmin(`
admin: {listen: "127.0.0.1:0", token: s3cret}
topics: [{name: orders, handlers: [{id: print, type: log}]}]
`)
	b.url = "redis://127.0.0.1:1"
	through := []string{"--admin", address, "--admin-token-file", b.file("token", "s3cret")}
	id := strings.TrimSpace(b.ok(append([]string{"send", "orders", "--data", "1"}, through...)...))
	require.Contains(t, p.out.next(), id)
	require.Contains(t, b.ok(append([]string{"consumers"}, through...)...), "orders print")
	require.Equal(t, "disabled topic orders\n", b.ok(append([]string{"topic", "disable", "orders"}, through...)...))
	p.err.until("call=disableTopic")
	p.stopped(os.Interrupt)
}

// Where nothing names a group, it is the server's, and answers say so where they can.
func TestAdminMeansTheGroupOfItsServer(t *testing.T) {
	b := setup(t)
	b.group = "billing"
	b.administer(admin.ServerConfig{})
	require.Equal(t, "created topic orders with group billing\n", b.ok("topic", "create", "orders"))
	require.Equal(t, `{"topic":"plain","group":"billing","action":"created"}`+"\n", b.ok("topic", "create", "plain", "-o", "json"))
	require.Contains(t, b.ok("topic", "show", "orders", "-o", "json"), `"groups":[{"name":"billing"`)
	require.Equal(t, "created topic list with group billing\n", b.ok("topic", "create", "list", "--queue-key", "list"))
	require.Equal(t, "created topic other with group mail\n", b.ok("topic", "create", "other", "--group", "mail"))

	b.ok("send", "orders", "--data", "1", "--delay", "1h")
	require.Contains(t, b.ok("delayed", "list", "orders", "-o", "json"), `"group":"billing"`)
	require.Contains(t, b.fails(1, "delayed", "list", "other"), `topic "other", group "billing": group not found`)
	require.Equal(t, "disabled handler mail of topic orders in group billing\n", b.ok("handler", "disable", "orders", "mail", "--force"))
	require.Contains(t, b.ok("handler", "list", "orders", "-o", "json"), `"group":"billing"`)
	require.Contains(t, b.fails(1, "handler", "enable", "other", "mail"), `group "billing": group not found`)

	require.Equal(t, `{"topic":"orders","group":"billing","replayed":0}`+"\n", b.ok("failures", "replay", "orders", "--all", "-o", "json"))
	require.Contains(t, b.fails(1, "failures", "replay", "nope", "--all"), `eventbus: replay failures of topic "nope", group "billing": topic not found`)
	require.Contains(t, b.fails(1, "failures", "discard", "orders", "x"), "1 of 1 id: failure not found")
	r := b.call(nil, "failures", "replay", "orders", "--handler", "nope")
	require.Equal(t, "replayed 0\n", r.out)
	require.Contains(t, r.err, "handler nope is not known in topic orders, group billing: ")

	b.ok("topic", "update", "plain", "--add-group", "mail")
	b.ok("send", "plain", "--data", "1", "--delay", "1h")
	require.Contains(t, b.ok("delayed", "list", "plain", "-o", "json"), `"group":"billing"`, "also of several groups")
	r = b.call(nil, "failures", "list", "plain", "--handler", "nope")
	require.Contains(t, r.err, "handler nope is not known in topic plain, group billing: ")

	b.env = append(b.env, "EVENTBUS_GROUP=mail")
	require.Contains(t, b.ok("delayed", "list", "plain", "-o", "json"), `"group":"mail"`)
}

// A client that speaks TLS to a plain service, or the other way round, is told what
// may be the matter, once, and not that the address is wrong.
func TestAdminHintsAtTLS(t *testing.T) {
	b := setup(t)
	certs := certtest.New(t)
	cert, _ := certs.Files()
	b.administer(admin.ServerConfig{})
	require.True(t, strings.HasSuffix(b.fails(1, "topic", "list", "--admin-ca", cert),
		"; the server may speak no TLS (--admin-tls and the like ask for it), be stopping, have no place free, or be no admin service"))
	b.administer(admin.ServerConfig{TLS: &tls.Config{Certificates: []tls.Certificate{certs.Issue("127.0.0.1")}}})
	require.True(t, strings.HasSuffix(b.fails(1, "topic", "list"),
		"; the server may speak TLS (--admin-tls and --admin-ca ask for it), be stopping, have no place free, or be no admin service"))
}

// A server whose certificate is wrong is told of by what is to be done about that, and
// not by where it is.
func TestAdminHintsAtCertificates(t *testing.T) {
	b := setup(t)
	a := certtest.New(t)
	ca, _ := a.Files()
	for says, wrong := range map[string]func(*x509.Certificate){
		"; the server's certificate has expired and must be renewed, or this machine's clock is wrong":                                   certtest.Expired,
		"; the certificate needs a subjectAltName, in which alone names are looked for: openssl … -addext 'subjectAltName=IP:127.0.0.1'": certtest.Unnamed,
	} {
		b.administer(admin.ServerConfig{TLS: &tls.Config{Certificates: []tls.Certificate{a.Issue("127.0.0.1", wrong)}}})
		line := b.fails(1, "topic", "list", "--admin-ca", ca)
		require.True(t, strings.HasSuffix(line, says), line)
	}
}
