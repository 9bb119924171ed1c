package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/internal/certtest"
	"github.com/seed4933/eventbus/internal/redistest"
	"github.com/stretchr/testify/require"
)

// Each way in which the server cannot be used is one line that says where and
// what; none holds the password.
func TestUnusableServer(t *testing.T) {
	b := setup(t)
	locked := redistest.Start(t, redistest.Options{Password: "the right one"})
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, never answers
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, silent.Close()) })
	web := httptest.NewServer(http.NotFoundHandler()) // speaks, but not as Redis does
	t.Cleanup(web.Close)
	list := []string{"topic", "list"}
	refused := "redis://u:s3cret@127.0.0.1:1/2"
	wrong := "redis://:s3cret@" + locked.Addr()
	for _, c := range []struct {
		url, says, where string
		args             []string
	}{
		{refused, "connection refused", "redis://127.0.0.1:1/2", list},
		{refused, "connection refused", "redis://127.0.0.1:1/2", []string{"send", "orders", "--data", "1"}},
		{refused, "connection refused", "redis://127.0.0.1:1/2", []string{"bench"}},
		{refused, "connection refused", "redis://127.0.0.1:1/2", []string{"demo"}},
		{refused, "connection refused", "redis://127.0.0.1:1/2", []string{"serve", "--http", ""}},
		{wrong, "the user name or password is wrong", "redis://" + locked.Addr(), list},
		{wrong, "the user name or password is wrong", "redis://" + locked.Addr(), []string{"bench"}},
		{wrong, "the user name or password is wrong", "redis://" + locked.Addr(), []string{"serve", "--http", ""}},
		{"redis://s3cret:@" + locked.Addr(), "password", "redis://" + locked.Addr(), list},
		{"redis://" + locked.Addr(), "the server demands a password and none was given", "redis://" + locked.Addr(), list},
		{"redis://:s3cret@no-such-host.invalid", "no-such-host.invalid", "redis://no-such-host.invalid:6379", list},
		{"unix://:s3cret@/no/such/socket", "no such file", "unix:///no/such/socket", list},
		{"redis://:s3cret@127.0.0.1:1,127.0.0.1:2", "connection refused", "redis://127.0.0.1:1,127.0.0.1:2", list},
		{"redis-sentinel://:s3cret@127.0.0.1:1/0?master=main&sentinel_password=s3cret", "sentinel", "redis-sentinel://127.0.0.1:1/0", list},
		{"redis://:s3cret@" + web.Listener.Addr().String(), "HTTP/1.1 400 Bad Request", "redis://" + web.Listener.Addr().String(), list},
		{"rediss://:s3cret@" + web.Listener.Addr().String(), "tls: first record does not look like a TLS handshake", "rediss://" + web.Listener.Addr().String(), list},
		{"redis://:s3cret@" + silent.Addr().String(), "timeout", "redis://" + silent.Addr().String(), list},
	} {
		t.Run(c.args[0]+" "+c.says, func(t *testing.T) {
			b := setup(t)
			if c.args[0] == "bench" {
				b.env = []string{"EVENTBUS_NAMESPACE="}
			}
			line := b.fails(1, append(c.args, "--redis", c.url)...)
			require.Contains(t, line, c.says)
			require.Contains(t, line, "("+c.where)
			require.NotContains(t, line, "s3cret")
			http := strings.Contains(c.url, web.Listener.Addr().String())
			require.Equal(t, http, strings.Contains(line, "; "+web.Listener.Addr().String()+" is an HTTP server and answers with HTTP: the address of a Redis is right"), line)
		})
	}
	b.url = "redis://:the%20right%20one@" + locked.Addr()
	require.Empty(t, b.ok("topic", "list", "-o", "json"))
}

// A server that speaks TLS is believed when its certificate is.
func TestTLS(t *testing.T) {
	b := setup(t)
	cert, key := certtest.New(t).Files()
	s := redistest.Start(t, redistest.Options{Extra: []string{"tls-cert-file " + cert, "tls-key-file " + key, "tls-auth-clients no"}})
	address := b.free()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	require.NoError(t, s.Client(t).ConfigSet(t.Context(), "tls-port", port).Err())
	b.url = "rediss://" + address
	for _, args := range [][]string{{"topic", "list"}, {"send", "orders", "--data", "1"}, {"serve", "--http", ""}, {"demo", "--redis", b.url}} {
		line := b.fails(1, args...)
		require.Contains(t, line, "x509: certificate signed by unknown authority (rediss://"+address)
		require.Contains(t, line, "; SSL_CERT_FILE names the authority")
	}
	b.env = []string{"SSL_CERT_FILE=" + cert}
	require.Empty(t, b.ok("topic", "list", "-o", "json"))
	b.env = nil
	b.url += "?skip_verify=true"
	require.Empty(t, b.ok("topic", "list", "-o", "json"))

	b.url = "redis://:s3cret@" + address
	for _, args := range [][]string{{"topic", "list"}, {"send", "orders", "--data", "1"}, {"serve", "--http", ""}, {"demo", "--redis", b.url}} {
		line := b.fails(1, args...)
		require.Contains(t, line, "(redis://"+address)
		require.Contains(t, line, address+" speaks TLS: rediss:// is right")
		require.NotContains(t, line, "s3cret")
	}
	b.url = "rediss://:s3cret@" + server.Addr()
	line := b.fails(1, "topic", "list")
	require.Contains(t, line, "(rediss://"+server.Addr())
	require.Contains(t, line, server.Addr()+" speaks plain text, not TLS: redis:// is right")
	require.NotContains(t, line, "s3cret")
}

// A Redis of any kind serves: by its socket, as a Cluster, through Sentinel.
func TestKindsOfServers(t *testing.T) {
	b := setup(t)
	dir := t.TempDir()
	redistest.Start(t, redistest.Options{Extra: []string{"unixsocket " + dir + "/redis.sock"}})
	cluster := redistest.StartClusterNodes(t, 1)[0].Addr()
	for name, url := range map[string]string{
		"socket":   "unix://" + dir + "/redis.sock",
		"cluster":  "redis://" + cluster + "," + cluster,
		"sentinel": "redis-sentinel://" + redistest.StartSentinel(t, 10*time.Second, "").Addr() + "/1?master=" + redistest.MasterName,
	} {
		b.url = url
		require.Contains(t, b.ok("topic", "create", "orders"), "created", name)
		b.ok("send", "orders", "--data", "1")
		require.Contains(t, b.ok("stats", "orders", "-o", "json", "--interval", "0"), `"waiting":1`, name)
		require.Contains(t, b.ok("topic", "list"), "orders", name)
		require.Contains(t, b.ok("demo", "--redis", url), "went as told", name)
		b.ok("topic", "delete", "orders", "--yes")
	}
	b.url = "redis://" + cluster
	b.fails(1, "topic", "show", "orders")
}

// Where Redis answers and refuses, nobody is sent to look for another address.
func TestRefusingServer(t *testing.T) { modes(t, testRefusingServer) }

func testRefusingServer(t *testing.T, b *bed) {
	own := setupOn(t, redistest.Start(t, redistest.Options{}))
	if b.admin != "" {
		own.administer(admin.ServerConfig{})
	}
	own.ok("topic", "create", "orders")
	require.NoError(t, own.rdb.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	line := own.fails(1, "send", "orders", "--data", "1")
	require.Contains(t, line, "redis is unavailable: NOREPLICAS Not enough good replicas to write. ("+own.where()+")")
	require.NotContains(t, line, "says where Redis is")
	require.NotContains(t, line, "not reach")
}
