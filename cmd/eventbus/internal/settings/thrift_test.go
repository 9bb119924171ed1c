package settings_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/settings"
	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/handlers"
)

// handlerOf reads a file whose only handler has these keys.
func handlerOf(t *testing.T, keys string) settings.Handler {
	t.Helper()
	f, err := settings.Parse("x.yaml", []byte("topics: [{name: orders, handlers: [{id: h, "+keys+"}]}]"))
	require.NoError(t, err)
	return f.Topics[0].Handlers[0]
}

func TestThrift(t *testing.T) {
	t.Parallel()
	h := handlerOf(t, `type: thrift, address: "billing:9091"`)
	require.Equal(t, settings.TypeThrift, h.Type)
	require.Equal(t, settings.Thrift{Address: "billing:9091"}, h.Thrift)

	h = handlerOf(t, `type: thrift, address: "[::1]:9091", framed: false, protocol: compact, service: 7, tls: {}`)
	require.Equal(t, settings.Thrift{
		Address: "[::1]:9091", Framed: ptr(false), Protocol: ptr(handlers.ThriftCompact), Service: "7", TLS: &settings.TLS{},
	}, h.Thrift)

	h = handlerOf(t, `type: thrift, address: "a:1", framed: true, protocol: header, token: s3cret, tls: {ca: a, cert: b, key: c, server_name: d}`)
	require.Equal(t, settings.Thrift{
		Address: "a:1", Framed: ptr(true), Protocol: ptr(handlers.ThriftHeader), Token: "s3cret",
		TLS: &settings.TLS{CA: "a", Cert: "b", Key: "c", ServerName: "d"},
	}, h.Thrift)
}

// A handler of type thrift has a breaker unless the file says otherwise; the others
// have none.
func TestThriftBreaker(t *testing.T) {
	t.Parallel()
	const base = `type: thrift, address: "a:1"`
	for keys, want := range map[string]eventbus.BreakerConfig{
		base:                                        {Failures: 5},
		base + ", breaker: {}":                      {Failures: 5},
		base + ", breaker: {open: 1s}":              {Failures: 5, Open: time.Second},
		base + ", breaker: {failures: 0}":           {},
		base + ", breaker: {failures: 9}":           {Failures: 9},
		base + ", breaker: {failures: 9, open: 2s}": {Failures: 9, Open: 2 * time.Second},
		"type: log":                                 {},
	} {
		require.Equal(t, want, handlerOf(t, keys).Config.Breaker, keys)
	}
	require.Equal(t, 30*time.Second, eventbus.DefaultBreakerOpen, "for which it stays open")
}

// The files that tls names are read when the handler is made, not with the settings.
func TestThriftFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.pem")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for keys, says := range map[string]string{
		"ca: " + empty:                          "read tls.ca: " + empty + ": it is empty; a certificate in PEM is right",
		"ca: " + dir + "/none":                  "read tls.ca: open " + dir + "/none",
		"cert: " + empty + ", key: " + empty:    "read tls.key: " + empty + ": it is empty; a private key in PEM is right",
		"cert: " + dir + "/none, key: " + empty: "read tls.cert: open " + dir + "/none",
	} {
		h := handlerOf(t, fmt.Sprintf(`type: thrift, address: "a:1", tls: {%s}`, keys))
		_, err := h.NewThrift()
		require.ErrorContains(t, err, says)
	}
	h := handlerOf(t, `type: thrift, address: "a:1", tls: {}`)
	made, err := h.NewThrift()
	require.NoError(t, err)
	require.NoError(t, made.Close())
}
