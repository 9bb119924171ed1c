package main

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/certtest"
)

// servingAdmin starts serve with the admin service on a free port, and returns
// where that listens.
func (b *bed) servingAdmin(config string) (p *process, address string) {
	b.t.Helper()
	b.env = append(b.env, ownThrift)
	p = b.start(nil, "serve", "--http", "", "--config", b.file("serve.yaml", config))
	thrift := regexp.MustCompile(` thrift=(\S+)`)
	for line := p.err.next(); line != "ready"; line = p.err.next() {
		if m := thrift.FindStringSubmatch(line); m != nil {
			address = m[1]
		}
	}
	require.NotEmpty(b.t, address)
	return p, address
}

func adminClient(t *testing.T, cfg admin.ClientConfig) *admin.Client {
	t.Helper()
	c, err := admin.NewClient(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestServeOffersTheAdminService(t *testing.T) {
	b := setup(t)
	p, address := b.servingAdmin(`
admin: {listen: "127.0.0.1:0", token: s3cret}
topics:
  - name: orders
    handlers: [{id: print, type: log}]
`)
	c := adminClient(t, admin.ClientConfig{Address: address, Token: "s3cret"})
	require.NoError(t, c.DisableTopic(t.Context(), "orders"))
	for line := p.err.next(); ; line = p.err.next() {
		require.NotContains(t, line, "s3cret")
		if regexp.MustCompile(`call=disableTopic by=127\.0\.0\.1:\d+ .*topic=orders`).MatchString(line) {
			break
		}
	}
	_, err := c.SendBatch(t.Context(), "orders", []eventbus.Message{{Value: eventbus.Raw{Payload: []byte("1")}}})
	require.ErrorIs(t, err, eventbus.ErrTopicDisabled)
	require.ErrorIs(t, adminClient(t, admin.ClientConfig{Address: address}).EnableTopic(t.Context(), "orders"), admin.ErrUnauthenticated)
	p.stopped(os.Interrupt)
	require.ErrorIs(t, c.Ping(t.Context()), eventbus.ErrUnavailable)
}

// Clients that are connected do not hold up the stop, and the token may come from
// the environment.
func TestServeWithTLS(t *testing.T) {
	b := setup(t)
	cert, key := certtest.New(t).Files()
	b.env = append(b.env, "EVENTBUS_ADMIN_TOKEN=of the environment?no")
	p := b.call(nil, "serve", "--http", "", "--thrift", "127.0.0.1:0")
	require.Equal(t, 2, p.code)
	require.Contains(t, p.err, "EVENTBUS_ADMIN_TOKEN is no token: it has a space at byte 2; visible ASCII alone is right")
	b.env = []string{"EVENTBUS_ADMIN_TOKEN=s3cret"}
	served, address := b.servingAdmin(`
admin: {listen: "127.0.0.1:0", tls: {cert: "` + cert + `", key: "` + key + `"}}
topics: [{name: orders, handlers: [{id: print, type: log}]}]
`)
	pem, err := os.ReadFile(cert)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(pem))
	c := adminClient(t, admin.ClientConfig{Address: address, Token: "s3cret", TLS: &tls.Config{RootCAs: pool}})
	require.NoError(t, c.Ping(t.Context()))
	silent, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer silent.Close()
	served.stopped(os.Interrupt)
}

func TestServeRefusesToBeOpenToAll(t *testing.T) {
	b := setup(t)
	line := b.fails(2, "serve", "--http", "", "--thrift", "0.0.0.0:0")
	require.Contains(t, line, "set a token, or TLS with clients' certificates, or listen on 127.0.0.1; --thrift or admin.listen says where")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	config := b.file("x.yaml", "group: a\nadmin:\n  listen: "+l.Addr().String()+"\n")
	b.env = append(b.env, ownThrift)
	line = b.fails(1, "serve", "--http", "", "--config", config)
	require.Contains(t, line, "x.yaml:3: start the admin service: listen tcp "+l.Addr().String()+": bind: address already in use; choose another address with --thrift or admin.listen")
	config = b.file("x.yaml", "admin:\n  listen: 127.0.0.1:0\n  tls: {cert: none.pem, key: none.key}\n")
	require.Contains(t, b.fails(1, "serve", "--http", "", "--config", config), "x.yaml:2: read admin.tls.cert: open none.pem: no such file or directory; read admin.tls.key: open none.key")
}

// The greatest payload that is sent through serve is that of its settings file.
func TestServeBoundsPayloads(t *testing.T) {
	b := setup(t)
	send := func(address string, size int) result {
		return b.call(strings.NewReader(strings.Repeat("x", size)), "send", "orders", "-", "--max-payload", "4194304", "--admin", address)
	}
	const topics = "topics: [{name: orders, handlers: [{id: archive, type: file, path: out.ndjson}]}]\n"
	for limit, config := range map[int]string{eventbus.DefaultMaxPayload: "", 2 << 20: "max_payload: 2097152\n"} {
		p, address := b.servingAdmin(config + "admin: {listen: \"127.0.0.1:0\"}\n" + topics)
		r := send(address, limit)
		require.Equal(t, 0, r.code, r.err)
		r = send(address, limit+1)
		require.Equal(t, 1, r.code)
		require.Contains(t, b.oneLine(r.err), "; the limit is the server's: max_payload in its settings file")
		p.stopped(os.Interrupt)
	}
}
