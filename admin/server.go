package admin

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/seed4933/eventbus/admin/internal/port"
	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// Defaults of ServerConfig.
const (
	DefaultListen      = "127.0.0.1:9090"
	DefaultStopTimeout = 5 * time.Second
)

// ThriftPath is where a server takes Thrift over HTTP.
const ThriftPath = "/thrift"

// ServerConfig is the settings of a server.
type ServerConfig struct {
	// Listen is HOST:PORT. Defaults to DefaultListen; port 0 takes a free one. A host
	// that others than this machine reach, and an empty one, which is all addresses,
	// need a Token, or TLS with clients' certificates.
	Listen string
	// TLS makes every client speak TLS; it needs a certificate. With ClientAuth set to
	// tls.RequireAndVerifyClientCert in it, and ClientCAs to who signs their
	// certificates, they need certificates.
	TLS *tls.Config
	// Token is demanded of every call: in the header Authorization of HTTP, or in
	// one of that name of THeader, as "Bearer TOKEN": visible ASCII, at most 4096
	// bytes. Defaults to none.
	Token string
	// Limits are what clients can use of the server.
	Limits Limits
	// Logger gets a line for every call that changes something, with who called from
	// where; panics, at level error; and warnings, one of each kind a minute: of calls
	// that are refused, or fail because Redis does not answer, of clients that are turned
	// away for their TLS, their pace or the length of their message, and of connections
	// that cannot be accepted. Calls that only read, or send, and whatever there is more
	// of than is warned of are logged at level debug. Defaults to slog.Default().
	Logger *slog.Logger
	// StopTimeout is how long calls under way may take at the end. Defaults to
	// DefaultStopTimeout; below 0 they are ended at once.
	StopTimeout time.Duration
}

// Server offers the administration, and sending, over Thrift: the services
// EventAdmin and EventBus of thrift/eventbus.thrift, on one port, for clients of
// all kinds. What they are is in the head of that file. A program in which no other
// Thrift server runs may set thrift.ServerConnectivityCheckInterval to 0: calls go on
// here when their client goes away, and looking for that costs a goroutine each.
type Server struct {
	listener net.Listener
	port     *port.Server
	calls    http.Handler // over HTTP
	stop     time.Duration
	served   atomic.Bool

	authenticated bool // who calls is checked: by a token, or by certificates
}

// Listen opens the port of a server; Serve makes it serve. Errors are those of the
// settings, and of the port.
func Listen(api API, cfg ServerConfig) (*Server, error) {
	failed := func(err error) (*Server, error) { return nil, fmt.Errorf("start the admin service: %w", err) }
	address, err := cfg.address()
	if err != nil {
		return failed(err)
	}
	listener, err := net.ListenTCP("tcp", address)
	if err != nil {
		return failed(err)
	}
	s := &Server{listener: listener, stop: cmp.Or(cfg.StopTimeout, DefaultStopTimeout)}
	f := &face{api: api, token: cfg.Token, log: cmp.Or(cfg.Logger, slog.Default())}
	admin := thriftbus.NewEventAdminProcessor(eventAdmin{f})
	s.port = port.New(port.Config{
		Processor: port.Multiplex(map[string]thrift.TProcessor{
			"EventAdmin": admin, "EventBus": thriftbus.NewEventBusProcessor(eventBus{f}),
		}, admin),
		HTTP: http.HandlerFunc(s.serveHTTP), TLS: cfg.TLS, Limits: cfg.Limits.ofPort(), Log: f.log,
		// Strangers are found out before anything large of theirs is read.
		Admit: func(c port.Client) error { return authenticate(c, cfg.Token) },
	})
	s.authenticated = cfg.Token != "" || certified(cfg.TLS)
	s.calls = http.NewCrossOriginProtection().Handler(s.port.ThriftHandler())
	return s, nil
}

// certified tells that clients need certificates of the server's own authority. Without
// ClientCAs, one of any authority that the system knows would do, and anybody gets that.
func certified(c *tls.Config) bool {
	return c != nil && c.ClientAuth == tls.RequireAndVerifyClientCert && c.ClientCAs != nil
}

// canServe tells that there is no TLS, or that it may have a certificate to show.
func canServe(c *tls.Config) bool {
	return c == nil || len(c.Certificates) > 0 || c.GetCertificate != nil || c.GetConfigForClient != nil
}

// Addr is the address on which the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve serves until ctx ends, then lets calls under way end for StopTimeout, and
// returns nil. Clients that are connected and ask for nothing do not hold it up. A server
// serves once; then, and after Close, Serve returns net.ErrClosed.
func (s *Server) Serve(ctx context.Context) error {
	if s.served.Swap(true) {
		return fmt.Errorf("serve the admin service: it was served before: %w", net.ErrClosed)
	}
	served := make(chan error, 1)
	go func() { served <- s.port.Serve(s.listener) }()
	select {
	case err := <-served:
		s.shutdown(ctx)
		return fmt.Errorf("serve the admin service: %w", err)
	case <-ctx.Done():
	}
	s.shutdown(ctx)
	return <-served
}

func (s *Server) shutdown(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.stop)
	defer cancel()
	_ = s.port.Shutdown(ctx) // calls that took longer were ended
}

// Close closes a server that does not serve.
func (s *Server) Close() error {
	if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close the admin service: %w", err)
	}
	return nil
}

// Serve opens a server and serves until ctx ends.
func Serve(ctx context.Context, api API, cfg ServerConfig) error {
	s, err := Listen(api, cfg)
	if err != nil {
		return err
	}
	return s.Serve(ctx)
}

// serveHTTP takes calls. A page in somebody's browser reaches the port, too, and must
// not call: it can send no body of this type without asking first, which is not
// answered.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != ThriftPath {
		http.Error(w, "This is the Thrift port of an event bus; Thrift over HTTP is at "+ThriftPath+".", http.StatusNotFound)
		return
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != thriftType {
		http.Error(w, "The Content-Type of Thrift over HTTP is "+thriftType+".", http.StatusUnsupportedMediaType)
		return
	}
	if !s.authenticated && !local(r.Host) {
		http.Error(w, "Without a token only this machine is served: the Host of the request must be 127.0.0.1, [::1] or localhost.", http.StatusForbidden)
		return
	}
	s.calls.ServeHTTP(w, r)
}

// thriftType is the media type that clients of Thrift over HTTP send.
const thriftType = "application/x-thrift"

// local tells that a request was meant for this machine, and not for a name that
// somebody has made lead to it.
func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// address is where to listen, or all that is wrong with the settings.
func (cfg *ServerConfig) address() (*net.TCPAddr, error) {
	listen := cmp.Or(cfg.Listen, DefaultListen)
	wrong := func(reason string) error {
		return &eventbus.ArgumentError{Field: "Listen", Value: fmt.Sprintf("%q", listen), Reason: reason}
	}
	var bad []error
	address, err := net.ResolveTCPAddr("tcp", listen)
	switch {
	case err != nil:
		bad = append(bad, wrong(fmt.Sprintf("%v; HOST:PORT is right", err)))
	case address.IP.IsLoopback() || cfg.Token != "" || certified(cfg.TLS):
	case cfg.TLS != nil && cfg.TLS.ClientAuth != tls.NoClientCert:
		bad = append(bad, wrong("others than this machine reach it, and TLS as it is set takes certificates that anybody can get, or none: ClientAuth must be tls.RequireAndVerifyClientCert, and ClientCAs name their authority; or set a token, or listen on 127.0.0.1"))
	default:
		bad = append(bad, wrong("others than this machine reach it, and anybody could change everything; set a token, or TLS with clients' certificates, or listen on 127.0.0.1"))
	}
	if !canServe(cfg.TLS) {
		bad = append(bad, &eventbus.ArgumentError{Field: "TLS", Reason: "it has no certificate, without which every client is turned away; set Certificates, or GetCertificate"})
	}
	return address, errors.Join(append(bad, checkToken(cfg.Token))...)
}
