package main

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/internal/certtest"
)

// What is wrong with a certificate, a key or an authority is told in the same words
// on every side: with the flag or the key of the settings file, the file, and what
// would be right.
func TestCredentialsAreCheckedAlike(t *testing.T) {
	b := setup(t)
	b.administer(admin.ServerConfig{})
	cert, key := certtest.New(t).Files()
	_, other := certtest.New(t).Files()
	empty := b.file("empty.pem", "")
	const none = "none.pem: no such file or directory"
	for _, c := range []struct{ cert, key, ca, says string }{
		{"none.pem", key, cert, "read CERT: open " + none},
		{cert, "none.pem", cert, "read KEY: open " + none},
		{cert, key, "none.pem", "read CA: open " + none},
		{empty, key, cert, "read CERT: " + empty + ": it is empty; a certificate in PEM is right"},
		{cert, empty, cert, "read KEY: " + empty + ": it is empty; a private key in PEM is right"},
		{cert, key, empty, "read CA: " + empty + ": it is empty; a certificate in PEM is right"},
		{key, key, cert, "read CERT: " + key + ": it holds no certificate but PEM of another kind (PRIVATE KEY)"},
		{cert, cert, cert, "read KEY: " + cert + ": it holds no private key but PEM of another kind (CERTIFICATE)"},
		{cert, key, key, "read CA: " + key + ": it holds no certificate but PEM of another kind (PRIVATE KEY)"},
		{cert, other, cert, "read KEY: " + other + ": the key does not belong to the certificate of CERT, " + cert},
	} {
		side := func(where, cert, key, ca string, args ...string) {
			says := strings.NewReplacer("CERT:", cert+":", "KEY:", key+":", "CA:", ca+":", "CERT,", cert+",").Replace(c.says)
			require.Equal(t, "eventbus: "+where+says, b.fails(1, args...))
		}
		side("", "--admin-cert", "--admin-key", "--admin-ca", "topic", "list", "--admin-cert", c.cert, "--admin-key", c.key, "--admin-ca", c.ca)
		config := b.file("x.yaml", fmt.Sprintf("group: a\nadmin: {tls: {cert: %q, key: %q, client_ca: %q}}\n", c.cert, c.key, c.ca))
		side(config+":2: ", "admin.tls.cert", "admin.tls.key", "admin.tls.client_ca", "serve", "--http", "", "--thrift", "127.0.0.1:0", "--config", config)
		config = b.file("x.yaml", fmt.Sprintf(
			"topics: [{name: orders, handlers: [{id: h, type: thrift, address: 'h:1', tls: {cert: %q, key: %q, ca: %q}}]}]\n", c.cert, c.key, c.ca))
		side(config+`:1: handler "h": `, "tls.cert", "tls.key", "tls.ca", "serve", "--http", "", "--config", config)
	}
	require.Equal(t, "eventbus: --admin-cert goes with --admin-key or EVENTBUS_ADMIN_KEY, which is missing", b.fails(2, "topic", "list", "--admin-cert", cert))
	require.Equal(t, "eventbus: --admin-key goes with --admin-cert or EVENTBUS_ADMIN_CERT, which is missing", b.fails(2, "topic", "list", "--admin-key", key))
}

// A token that no header can carry is told before anything is asked or served, by one
// rule wherever it stands, and never with its text.
func TestTokensAreCheckedAlike(t *testing.T) {
	b := setup(t)
	b.administer(admin.ServerConfig{Token: "s3cret"})
	env := b.env
	within := func(token string) { b.env = append(env[:len(env):len(env)], "EVENTBUS_ADMIN_TOKEN="+token) }
	serve := func(more ...string) []string {
		return append([]string{"serve", "--http", "", "--thrift", "127.0.0.1:0"}, more...)
	}
	for token, says := range map[string]string{
		"s3cret ": "it has a space at byte 6; ", "s3\tcret": "it has a control character at byte 2; ", "s3cret\n\n": "it has a line end at byte 6; ",
		"s3cr\u00e9t": "it has a character beyond ASCII at byte 4; ", "\n": "it is empty",
	} {
		if says != "it is empty" {
			says += "visible ASCII alone is right, which a header can carry"
		}
		within(token)
		for _, args := range [][]string{{"topic", "list"}, {"send", "orders", "--data", "1"}, serve()} {
			require.Equal(t, "eventbus: EVENTBUS_ADMIN_TOKEN is no token: "+says, b.fails(2, args...))
		}
		b.env = env
		file := b.file("token", token)
		require.Equal(t, "eventbus: read --admin-token-file: "+file+": this is no token: "+says, b.fails(1, "topic", "list", "--admin-token-file", file))
		config := b.file("x.yaml", fmt.Sprintf("admin:\n  token: %q\n", token))
		require.Equal(t, "eventbus: "+config+":2: token is no token: "+says, b.fails(1, serve("--config", config)...))
	}
	require.Equal(t, "eventbus: read --admin-token-file: open none: no such file or directory", b.fails(1, "topic", "list", "--admin-token-file", "none"))

	// A line end after it is no part of it.
	within("s3cret\n")
	require.Empty(t, b.ok("topic", "list", "-o", "json"))
	require.Empty(t, b.ok("topic", "list", "-o", "json", "--admin-token-file", b.file("token", "s3cret\r\n")))
}

// What says where the administration is goes one way or the other; only what a flag
// says is refused, and not an environment that serves several calls.
func TestFlagsOfBothWaysDoNotGoTogether(t *testing.T) {
	b := setup(t)
	b.administer(admin.ServerConfig{})
	address := b.admin
	b.env = nil
	for _, call := range [][]string{{"topic", "list"}, {"send", "orders", "--data", "1"}, {"handler", "list", "orders"}, {"consumers"}, {"stats"}} {
		for _, flag := range []string{"redis", "namespace"} {
			line := b.fails(2, append(call, "--admin", address, "--"+flag, "redis://127.0.0.1:1")...)
			require.Equal(t, "eventbus: --"+flag+" does not go with --admin: the server of the admin service has its own; leave one of them out", line)
		}
		for _, flag := range []string{"--admin-token-file=x", "--admin-ca=x", "--admin-cert=x", "--admin-key=x", "--admin-tls"} {
			name, _, _ := strings.Cut(flag, "=")
			require.Equal(t, "eventbus: "+name+" goes with --admin HOST:PORT, or EVENTBUS_ADMIN", b.fails(2, append(call, flag)...))
		}
	}
	for _, call := range []string{"bench", "demo", "serve"} {
		for _, flag := range []string{"--admin=" + address, "--admin-token-file=x", "--admin-ca=x", "--admin-cert=x", "--admin-key=x", "--admin-tls"} {
			name, _, _ := strings.Cut(flag, "=")
			require.Contains(t, b.fails(2, call, flag), name+" does not go with this command, which ")
		}
	}
	require.Empty(t, b.ok("topic", "list", "-o", "json", "--admin", address), "EVENTBUS_REDIS and EVENTBUS_NAMESPACE are set")
}

// How TLS is spoken with the admin service the environment says as well as flags do,
// which go before it.
func TestAdminTLSOfTheEnvironment(t *testing.T) {
	b := setup(t)
	a := certtest.New(t)
	cert, key := a.Files()
	b.administer(admin.ServerConfig{TLS: &tls.Config{
		Certificates: []tls.Certificate{a.Issue("127.0.0.1")}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.Pool,
	}})
	env := b.env
	within := func(more ...string) { b.env = append(env[:len(env):len(env)], more...) }
	list := []string{"topic", "list", "-o", "json"}
	all := []string{"EVENTBUS_ADMIN_CA=" + cert, "EVENTBUS_ADMIN_CERT=" + cert, "EVENTBUS_ADMIN_KEY=" + key}
	within(all...)
	require.Empty(t, b.ok(list...))
	within(append(all, "EVENTBUS_ADMIN_TLS=true")...)
	require.Empty(t, b.ok(list...))
	within("EVENTBUS_ADMIN_TLS=true", "SSL_CERT_FILE="+cert)
	require.Empty(t, b.ok(append(list, "--admin-cert", cert, "--admin-key", key)...))
	within("EVENTBUS_ADMIN_CA=none", "EVENTBUS_ADMIN_CERT=none", "EVENTBUS_ADMIN_KEY=none", "EVENTBUS_ADMIN_TLS=false")
	require.Empty(t, b.ok(append(list, "--admin-ca", cert, "--admin-cert", cert, "--admin-key", key)...))
	require.Contains(t, b.fails(1, append(list, "--admin-tls=false")...), "the server may speak TLS (", "a flag goes before all of them")

	within("EVENTBUS_ADMIN_CA=none", "EVENTBUS_ADMIN_CERT="+cert, "EVENTBUS_ADMIN_KEY="+cert)
	line := b.fails(1, list...)
	require.Contains(t, line, "read EVENTBUS_ADMIN_CA: open none: no such file or directory")
	require.Contains(t, line, "read EVENTBUS_ADMIN_KEY: "+cert+": it holds no private key")
	for says, env := range map[string]string{
		`EVENTBUS_ADMIN_TLS is "yes"; true or false is right`:                               "EVENTBUS_ADMIN_TLS=yes",
		"EVENTBUS_ADMIN_CERT goes with --admin-key or EVENTBUS_ADMIN_KEY, which is missing": "EVENTBUS_ADMIN_CERT=" + cert,
	} {
		within(env)
		require.Equal(t, "eventbus: "+says, b.fails(2, list...))
	}
	within(append(all, "EVENTBUS_ADMIN_TLS=false")...)
	require.Equal(t, "eventbus: EVENTBUS_ADMIN_TLS=false does not go with EVENTBUS_ADMIN_CA, which is for TLS", b.fails(2, list...))

	// They serve several calls, and disturb none that goes to Redis.
	b.env = []string{"EVENTBUS_ADMIN_TLS=yes", "EVENTBUS_ADMIN_CA=none"}
	require.Empty(t, b.ok(list...))
	require.Equal(t, "eventbus: unknown flag: --admin-token, since the list of processes would show it; "+
		"--admin-token-file FILE or EVENTBUS_ADMIN_TOKEN gives the token; see eventbus topic list --help", b.fails(2, append(list, "--admin-token", "s3cret")...))
}
