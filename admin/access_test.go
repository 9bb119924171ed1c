package admin_test

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/certtest"
)

func TestTokenIsDemanded(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	log := &lines{}
	address, _ := serve(t, s, admin.ServerConfig{Token: "s3cret-token", Logger: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, client(t, admin.ClientConfig{Address: address, Token: "s3cret-token"}).DisableTopic(t.Context(), topic))
	_, err := client(t, admin.ClientConfig{Address: address, Token: "s3cret-token"}).SendBatch(t.Context(), topic, []eventbus.Message{{Value: eventbus.Raw{}}})
	require.ErrorIs(t, err, eventbus.ErrTopicDisabled)
	for _, token := range []string{"", "wrong", "s3cret-toke", "s3cret-token1"} {
		c := client(t, admin.ClientConfig{Address: address, Token: token})
		require.ErrorIs(t, c.EnableTopic(t.Context(), topic), admin.ErrUnauthenticated, token)
		_, err := c.SendBatch(t.Context(), topic, []eventbus.Message{{Value: eventbus.Raw{}}})
		require.ErrorIs(t, err, admin.ErrUnauthenticated)
		require.ErrorIs(t, c.Ping(t.Context()), admin.ErrUnauthenticated)
	}
	got, err := s.GetTopic(t.Context(), topic)
	require.NoError(t, err)
	require.True(t, got.Disabled)
	// The server does not read a large call of who may not call.
	large := []eventbus.Message{{Value: eventbus.Raw{Payload: make([]byte, 100<<10)}}}
	for _, token := range []string{"", "wrong"} {
		c := client(t, admin.ClientConfig{Address: address, Token: token})
		for range 2 {
			_, err := c.SendBatch(t.Context(), topic, large)
			require.ErrorIs(t, err, admin.ErrUnauthenticated)
			require.NotErrorIs(t, err, admin.ErrUnreachable)
		}
	}
	require.NotContains(t, log.String(), "s3cret")

	// A stock client of HTTP.
	overHTTP := func(authorization string) error {
		transport, err := thrift.NewTHttpClientWithOptions("http://"+address+"/thrift", thrift.THttpClientOptions{Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
		require.NoError(t, err)
		if authorization != "" {
			transport.(*thrift.THttpClient).SetHeader("Authorization", authorization)
		}
		p := thrift.NewTBinaryProtocolConf(transport, nil)
		return thriftbus.NewEventAdminClient(thrift.NewTStandardClient(p, p)).Ping(t.Context())
	}
	require.NoError(t, overHTTP("Bearer s3cret-token"))
	var refused *thriftbus.Unauthenticated
	for _, wrong := range []string{"", "Bearer wrong", "Basic s3cret-token", "s3cret-token"} {
		require.ErrorAs(t, overHTTP(wrong), &refused, wrong)
	}
	require.Contains(t, refused.Message, "Bearer TOKEN")
}

// The longest token that may be fits into what the server reads of headers.
func TestTheLongestToken(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	longest := strings.Repeat("x", 4096)
	address, _ := serve(t, s, admin.ServerConfig{Token: longest})
	require.NoError(t, client(t, admin.ClientConfig{Address: address, Token: longest}).Ping(t.Context()))
	_, err := admin.Listen(s, admin.ServerConfig{Listen: "127.0.0.1:0", Token: longest + "x"})
	require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
	_, err = admin.NewClient(admin.ClientConfig{Token: longest + "x"})
	require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
}

func TestOnlyTheLoopbackIsOpenToAll(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	ca := certtest.New(t)
	own := []tls.Certificate{ca.Issue("127.0.0.1")}
	for _, listen := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0"} {
		_, err := admin.Listen(s, admin.ServerConfig{Listen: listen})
		require.ErrorIs(t, err, eventbus.ErrInvalidArgument, listen)
		require.ErrorContains(t, err, "set a token, or TLS")
		for _, open := range []*tls.Config{
			{Certificates: own}, // anybody speaks it
			{Certificates: own, ClientAuth: tls.RequireAnyClientCert, ClientCAs: ca.Pool},
			{Certificates: own, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: ca.Pool},
			{Certificates: own, ClientAuth: tls.RequireAndVerifyClientCert}, // of any authority in the world
		} {
			_, err = admin.Listen(s, admin.ServerConfig{Listen: listen, TLS: open})
			require.ErrorContains(t, err, "invalid Listen ", listen)
			if open.ClientAuth != tls.NoClientCert {
				require.ErrorContains(t, err, "ClientAuth must be tls.RequireAndVerifyClientCert, and ClientCAs name their authority", "who has set some of it is told the rest")
			}
		}
	}
	for listen, cfg := range map[string]admin.ServerConfig{
		":0": {Token: "t"}, "0.0.0.0:0": {TLS: &tls.Config{Certificates: own, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool}}, "localhost:0": {}, "127.0.0.1:0": {},
	} {
		cfg.Listen = listen
		server, err := admin.Listen(s, cfg)
		require.NoError(t, err, listen)
		require.NoError(t, server.Close())
	}
	_, err := admin.Listen(s, admin.ServerConfig{Listen: "nonsense", Token: "two words"})
	require.ErrorContains(t, err, "invalid Listen \"nonsense\": ")
	require.ErrorContains(t, err, "invalid Token: ")
	for _, bad := range []admin.ServerConfig{{Listen: "nonsense"}, {Listen: "127.0.0.1:0", Token: "two words"}, {Listen: "127.0.0.1:0", Token: "ü"}} {
		_, err := admin.Listen(s, bad)
		require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
	}
	for _, token := range []string{"two words", "line\n", "ü", strings.Repeat("x", 8193)} {
		_, here := admin.Listen(s, admin.ServerConfig{Listen: "127.0.0.1:0", Token: token})
		_, there := admin.NewClient(admin.ClientConfig{Token: token})
		var one, other *eventbus.ArgumentError
		require.ErrorAs(t, here, &one)
		require.ErrorAs(t, there, &other)
		require.Equal(t, "Token", one.Field)
		require.Equal(t, one, other, "one rule for both sides")
		require.NotContains(t, here.Error(), token)
	}
}

// A server without a certificate of its own would turn every client away.
func TestTLSNeedsACertificate(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	ca := certtest.New(t)
	own := ca.Issue("127.0.0.1")
	_, err := admin.Listen(s, admin.ServerConfig{Listen: "127.0.0.1:0", TLS: &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool}})
	require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
	require.ErrorContains(t, err, "start the admin service: invalid TLS: it has no certificate")
	for name, right := range map[string]*tls.Config{
		"Certificates":       {Certificates: []tls.Certificate{own}},
		"GetCertificate":     {GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &own, nil }},
		"GetConfigForClient": {GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, nil }},
	} {
		server, err := admin.Listen(s, admin.ServerConfig{Listen: "127.0.0.1:0", TLS: right})
		require.NoError(t, err, name)
		require.NoError(t, server.Close())
	}
}

func TestTLSAndClientCertificates(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	ca := certtest.New(t)
	log := &lines{}
	address, _ := serve(t, s, admin.ServerConfig{
		TLS:    &tls.Config{Certificates: []tls.Certificate{ca.Issue("127.0.0.1")}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool},
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	good := client(t, admin.ClientConfig{Address: address, TLS: &tls.Config{RootCAs: ca.Pool, Certificates: []tls.Certificate{ca.Issue("operator jane")}}})
	require.NoError(t, good.DisableTopic(t.Context(), topic))
	require.Contains(t, log.String(), "(operator jane)")

	stranger := certtest.New(t)
	for what, cfg := range map[string]*tls.Config{
		"no certificate":           {RootCAs: ca.Pool},
		"a stranger's certificate": {RootCAs: ca.Pool, Certificates: []tls.Certificate{stranger.Issue("x")}},
		"another authority":        {RootCAs: stranger.Pool, Certificates: []tls.Certificate{ca.Issue("x")}},
		"plain text":               nil,
	} {
		c := client(t, admin.ClientConfig{Address: address, TLS: cfg, CallTimeout: 10 * time.Second})
		require.ErrorIs(t, c.EnableTopic(t.Context(), topic), eventbus.ErrUnavailable, what)
	}
	got, err := s.GetTopic(t.Context(), topic)
	require.NoError(t, err)
	require.True(t, got.Disabled)
}
