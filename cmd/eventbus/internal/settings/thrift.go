package settings

import (
	"crypto/tls"
	"errors"

	"go.yaml.in/yaml/v3"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/handlers"
	"github.com/seed4933/eventbus/internal/credentials"
)

// Thrift is what a handler of TypeThrift says of the server that it calls.
type Thrift struct {
	Address  string
	Framed   *bool
	Protocol *handlers.ThriftProtocol
	Service  string
	Token    string
	TLS      *TLS // nil: plain TCP
}

// TLS names the files of a client of TLS. What is empty was left out.
type TLS struct {
	CA, Cert, Key string // in PEM
	ServerName    string
}

// thriftBreakerFailures open the breaker that a handler of TypeThrift has unless
// the file says otherwise: the process that it calls may be away for a while, which
// is no fault of the events. It stays open for the bus's default, 30 s.
const thriftBreakerFailures = 5

func (r *reader) thriftFields(t *Thrift) []field {
	return []field{
		{"address", r.text("address", &t.Address)},
		{"framed", r.toggle("framed", &t.Framed)},
		{"protocol", word(r, "protocol", &t.Protocol, handlers.ThriftBinary, handlers.ThriftCompact, handlers.ThriftHeader)},
		{"service", r.text("service", &t.Service)},
		{"token", r.secret("token", &t.Token)},
		{"tls", func(n *yaml.Node) { r.tls(t, n) }},
	}
}

func (r *reader) tls(t *Thrift, n *yaml.Node) {
	t.TLS = &TLS{}
	ok := r.object(n, "tls",
		field{"ca", r.text("ca", &t.TLS.CA)},
		field{"cert", r.text("cert", &t.TLS.Cert)},
		field{"key", r.text("key", &t.TLS.Key)},
		field{"server_name", r.text("server_name", &t.TLS.ServerName)},
	)
	if ok && (t.TLS.Cert == "") != (t.TLS.Key == "") {
		r.wrong(n, "tls has cert or key without the other; both are right, or neither")
	}
}

// thrift has what the handler says checked by what will use it, and gives it its
// breaker.
func (r *reader) thrift(h *Handler, n *yaml.Node) {
	breaker := value(n, "breaker")
	if breaker == nil || value(breaker, "failures") == nil {
		h.Config.Breaker.Failures = thriftBreakerFailures
	}
	address, protocol := value(n, "address"), value(n, "protocol")
	switch {
	case address == nil:
		r.wrong(n, "a handler of type thrift needs an address")
		return
	case h.Thrift.Address == "" && (address.Kind != yaml.ScalarNode || address.ShortTag() != "!!str"),
		h.Thrift.Protocol == nil && protocol != nil:
		return // it has been told of already
	}
	cfg := h.thriftConfig()
	t, err := handlers.NewThrift(h.Thrift.Address, cfg)
	if err == nil {
		_ = t.Close() // it has no connection yet
		return
	}
	for _, one := range joined(err) {
		r.wrongThrift(n, one)
	}
}

// wrongThrift tells of one thing that is wrong with a handler at the key that it is of.
func (r *reader) wrongThrift(n *yaml.Node, err error) {
	var argument *eventbus.ArgumentError
	if !errors.As(err, &argument) {
		r.wrong(n, "%v", err)
		return
	}
	key := map[string]string{
		"address": "address", "ThriftConfig.Unframed": "framed", "ThriftConfig.Service": "service", "ThriftConfig.Token": "token",
	}[argument.Field]
	at := value(n, key)
	if at == nil {
		r.wrong(n, "%v", err)
		return
	}
	r.wrong(at, "%s is wrong: %s", key, argument.Reason)
}

// thriftConfig is all but what stands in files.
func (h *Handler) thriftConfig() handlers.ThriftConfig {
	cfg := handlers.ThriftConfig{
		Unframed: h.Thrift.Framed != nil && !*h.Thrift.Framed,
		Service:  h.Thrift.Service, Token: h.Thrift.Token, MaxIdle: h.Config.Concurrency,
	}
	if h.Thrift.Protocol != nil {
		cfg.Protocol = *h.Thrift.Protocol
	}
	return cfg
}

// NewThrift makes the handler, which must be of that type. It reads the files that
// tls names.
func (h *Handler) NewThrift() (*handlers.Thrift, error) {
	cfg := h.thriftConfig()
	if h.Thrift.TLS != nil {
		var err error
		if cfg.TLS, err = h.Thrift.TLS.load(); err != nil {
			return nil, err
		}
	}
	return handlers.NewThrift(h.Thrift.Address, cfg)
}

func (t *TLS) load() (*tls.Config, error) {
	cfg := &tls.Config{ServerName: t.ServerName}
	var caErr, pairErr error
	if t.CA != "" {
		cfg.RootCAs, caErr = credentials.Authorities(credentials.File{Setting: "tls.ca", Path: t.CA})
	}
	if t.Cert != "" {
		var pair tls.Certificate
		pair, pairErr = credentials.Pair(credentials.File{Setting: "tls.cert", Path: t.Cert}, credentials.File{Setting: "tls.key", Path: t.Key})
		cfg.Certificates = []tls.Certificate{pair}
	}
	if err := errors.Join(caErr, pairErr); err != nil {
		return nil, err
	}
	return cfg, nil
}
