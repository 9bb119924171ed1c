package redisurl_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/redisurl"
)

// peer takes connections and answers the first bytes of each.
func peer(t *testing.T, answer string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 1000))
				_, _ = io.WriteString(conn, answer)
			})
		}
	})
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		all.Wait()
	})
	return l.Addr().String()
}

func TestMismatch(t *testing.T) {
	t.Parallel()
	web := httptest.NewUnstartedServer(http.NotFoundHandler())
	web.Config.ErrorLog = nil
	web.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	web.StartTLS()
	t.Cleanup(web.Close)
	secure := web.Listener.Addr().String()
	plain, locked := peer(t, "+PONG\r\n"), peer(t, "-NOAUTH Authentication required.\r\n")
	alert := peer(t, "\x15\x03\x03\x00\x02\x02\x28") // a fatal alert: it refuses the greeting
	ends, other := peer(t, ""), peer(t, "HTTP/1.1 400 Bad Request\r\n\r\n")
	const none = "127.0.0.1:1"
	for url, want := range map[string]string{
		"redis://" + secure:                             secure + " speaks TLS: rediss:// is right",
		"redis://" + alert:                              alert + " speaks TLS: rediss:// is right",
		"redis://:s3cret@" + none + "," + secure:        secure + " speaks TLS: rediss:// is right",
		"redis-sentinel://" + secure + "/0?master=main": secure + " speaks TLS: rediss-sentinel:// is right",
		"rediss://" + plain:                             plain + " speaks plain text, not TLS: redis:// is right",
		"rediss://" + locked:                            locked + " speaks plain text, not TLS: redis:// is right",
		"rediss-sentinel://" + plain + "?master=main":   plain + " speaks plain text, not TLS: redis-sentinel:// is right",
		"redis://" + other:                              other + " is an HTTP server and answers with HTTP: the address of a Redis is right",
		"rediss://" + other:                             other + " is an HTTP server and answers with HTTP: the address of a Redis is right",
		// nothing can be told
		"redis://" + plain:   "",
		"redis://" + ends:    "",
		"redis://" + none:    "",
		"rediss://" + secure: "",
		"rediss://" + ends:   "",
		"unix:///no/such":    "",
		"embedded":           "",
	} {
		target, err := redisurl.Parse(url)
		require.NoError(t, err)
		require.Equal(t, want, target.Mismatch(t.Context()), url)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	target, err := redisurl.Parse("redis://" + secure)
	require.NoError(t, err)
	require.Empty(t, target.Mismatch(ended))
}
