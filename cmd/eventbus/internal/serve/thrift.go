package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/seed4933/eventbus/admin"
)

// thriftSide is the Thrift admin service of the process.
type thriftSide struct {
	service *admin.Service
	server  *admin.Server
}

// listenThrift opens the port of the admin service, unless none is wanted.
func (s *server) listenThrift() error {
	if s.cfg.Thrift == "" {
		return nil
	}
	f := s.cfg.File
	security, err := tlsOf(f.Admin.Cert, f.Admin.Key, f.Admin.ClientCA)
	if err != nil {
		return f.AtAdmin(err)
	}
	cfg := s.cfg.Bus
	cfg.Logger = s.cfg.Log
	if s.thrift.service, err = admin.New(s.cfg.Redis, cfg); err != nil {
		return err
	}
	s.thrift.server, err = admin.Listen(s.thrift.service, admin.ServerConfig{
		Listen: s.cfg.Thrift, TLS: security, Token: s.cfg.Token, Logger: s.cfg.Log, StopTimeout: httpGrace,
	})
	var taken *net.OpError
	if errors.As(err, &taken) {
		err = fmt.Errorf("%w; choose another address with --thrift or admin.listen, or \"\" for none", err)
	}
	if err != nil {
		return f.AtAdmin(err)
	}
	return nil
}

// serveThrift answers until the function that it returns is called; its failure
// goes to failed.
func (s *server) serveThrift(failed chan<- error) (stop func()) {
	if s.thrift.server == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.thrift.server.Serve(ctx); err != nil {
			failed <- err
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func (t *thriftSide) close() error {
	var errs []error
	if t.server != nil {
		errs = append(errs, t.server.Close())
	}
	if t.service != nil {
		errs = append(errs, t.service.Close())
	}
	return errors.Join(errs...)
}

func (t *thriftSide) address() string {
	if t.server == nil {
		return "none"
	}
	return t.server.Addr().String()
}

// tlsOf reads a certificate with its key, and the authority of clients'
// certificates; nil where there is no certificate.
func tlsOf(cert, key, clientCA string) (*tls.Config, error) {
	if cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate of the admin service: %w", err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if clientCA == "" {
		return c, nil
	}
	pem, err := os.ReadFile(clientCA)
	if err != nil {
		return nil, fmt.Errorf("read the authority of clients' certificates: %w", err)
	}
	c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !c.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read the authority of clients' certificates: %s holds no certificate in PEM", clientCA)
	}
	return c, nil
}
