package credentials_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/internal/certtest"
	"github.com/seed4933/eventbus/internal/credentials"
)

// greet makes a TLS connection, and returns what each side has of the other.
func greet(t *testing.T, server, client *tls.Config) (atServer, atClient error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			served <- err
			return
		}
		defer conn.Close()
		_, err = tls.Server(conn, server).Read(make([]byte, 1))
		served <- err
	}()
	conn, err := tls.Dial("tcp", l.Addr().String(), client)
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
		require.NoError(t, conn.Close())
	}
	require.NoError(t, l.Close())
	return <-served, err
}

func TestRefused(t *testing.T) {
	t.Parallel()
	a := certtest.New(t)
	server := &tls.Config{Certificates: []tls.Certificate{a.Issue("127.0.0.1")}}
	demanding := server.Clone()
	demanding.ClientAuth, demanding.ClientCAs = tls.RequireAndVerifyClientCert, a.Pool
	for name, c := range map[string]struct {
		server, client     *tls.Config
		atServer, atClient bool
	}{
		"a client that does not trust it":   {server, &tls.Config{}, true, false},
		"a client that asks for another":    {server, &tls.Config{RootCAs: a.Pool, ServerName: "other.example"}, true, false},
		"a server that wants a certificate": {demanding, &tls.Config{RootCAs: a.Pool}, false, true},
		"no version that both speak":        {&tls.Config{MinVersion: tls.VersionTLS13, Certificates: server.Certificates}, &tls.Config{RootCAs: a.Pool, MaxVersion: tls.VersionTLS12}, false, false},
	} {
		atServer, atClient := greet(t, c.server, c.client)
		require.Equal(t, c.atServer, credentials.Refused(fmt.Errorf("shake hands: %w", atServer)), "%s: %v", name, atServer)
		require.Equal(t, c.atClient, credentials.Refused(fmt.Errorf("read: %w", atClient)), "%s: %v", name, atClient)
	}
	for _, err := range []error{nil, errors.New("tls: bad certificate"), &net.OpError{Op: "remote error"}, &net.OpError{Op: "remote error", Err: errors.New("x")}, &net.OpError{Op: "read", Err: tls.AlertError(42)}} {
		require.False(t, credentials.Refused(err), "%v", err)
	}
}
