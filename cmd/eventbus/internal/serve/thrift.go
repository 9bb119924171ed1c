package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/cmd/eventbus/internal/settings"
	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/credentials"
)

// thriftSide is the Thrift admin service of the process.
type thriftSide struct {
	service *admin.Service
	server  *admin.Server
	tls     *tls.Config // nil for none
}

// certSetting is the key of the certificate in the settings file.
const certSetting = "admin.tls.cert"

// listenThrift opens the port of the admin service, unless none is wanted.
func (s *server) listenThrift() error {
	if s.cfg.Thrift == "" {
		return nil
	}
	f := s.cfg.File
	var err error
	if s.thrift.tls, err = tlsOf(&f.Admin); err != nil {
		return f.AtAdmin(err)
	}
	cfg := s.cfg.Bus
	cfg.Logger = s.cfg.Log
	if s.thrift.service, err = admin.New(s.cfg.Redis, cfg); err != nil {
		return err
	}
	s.thrift.server, err = admin.Listen(s.thrift.service, admin.ServerConfig{
		Listen: s.cfg.Thrift, TLS: s.thrift.tls, Token: s.cfg.Token, Logger: s.cfg.Log, StopTimeout: httpGrace,
	})
	if err != nil {
		return f.AtAdmin(inWords(err))
	}
	return nil
}

// inWords says where the settings of the admin service stand that an error is about.
func inWords(err error) error {
	var taken *net.OpError
	var setting *eventbus.ArgumentError
	switch {
	case errors.As(err, &taken):
		return fmt.Errorf("%w; choose another address with --thrift or admin.listen, or \"\" for none", err)
	case errors.As(err, &setting):
		return fmt.Errorf("%w; --thrift or admin.listen says where it listens, admin.token or EVENTBUS_ADMIN_TOKEN is the token, admin.tls with client_ca demands clients' certificates", err)
	}
	return err
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
func tlsOf(a *settings.Admin) (*tls.Config, error) {
	if a.Cert == "" {
		return nil, nil
	}
	pair, pairErr := credentials.Pair(credentials.File{Setting: certSetting, Path: a.Cert}, credentials.File{Setting: "admin.tls.key", Path: a.Key})
	c := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	var caErr error
	if a.ClientCA != "" {
		c.ClientAuth = tls.RequireAndVerifyClientCert
		c.ClientCAs, caErr = credentials.Authorities(credentials.File{Setting: "admin.tls.client_ca", Path: a.ClientCA})
	}
	if err := errors.Join(pairErr, caErr); err != nil {
		return nil, err
	}
	return c, nil
}
