package admin

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/quiet"
)

// DefaultCallTimeout is how long a client waits for an answer, where ctx does not
// end sooner.
const DefaultCallTimeout = 30 * time.Second

// firstAnswer is how long the first answer over a new connection may take: what listens
// there may not be an admin service, and may wait for ever for the rest of a message of
// its own protocol.
const firstAnswer = 10 * time.Second

var (
	errSilent  = fmt.Errorf("nothing has answered there within %v; is that the port of an admin service?", firstAnswer)
	errStrange = errors.New("what answers there does not speak Thrift, and may be an HTTP server; is that the port of an admin service?")
	errMute    = errors.New("the connection was closed before anything was answered")
)

// maxFrame is the greatest frame that a client sends or takes: the default of
// Thrift's libraries, and of the server.
const maxFrame = thrift.DEFAULT_MAX_FRAME_SIZE

// clientBuffer is the size of a connection's buffers, in bytes.
const clientBuffer = 4 << 10

// ClientConfig is the settings of a client.
type ClientConfig struct {
	// Address is the server's HOST:PORT. Defaults to DefaultListen.
	Address string
	// TLS is set where the server speaks TLS. ServerName defaults to the address's
	// host.
	TLS *tls.Config
	// Token is what the server demands, if it does: visible ASCII, at most 4096 bytes.
	Token string
	// CallTimeout is how long a call may take, waiting for those before it included.
	// Defaults to DefaultCallTimeout; below 0 there is no limit but that of ctx, nor
	// is there for the deleting of a topic or a group.
	CallTimeout time.Duration
}

// Client carries out the administration through the Thrift port of a server.
// Errors are those of the server; ErrUnreachable when it cannot be reached or does not
// answer in time; and ctx's error when ctx ends first: what was asked may then be done.
// Calls of several goroutines go one after another.
type Client struct {
	cfg ClientConfig

	patience time.Duration // firstAnswer

	turn chan struct{} // holds one while a call is under way; conn is whose turn it is
	conn *clientConn

	life context.Context // ends with Close, and with it the call under way
	end  context.CancelFunc
}

var _ API = (*Client)(nil)

// clientConn is a connection to a server. After an error that is none of the
// server's it is of no use any more.
type clientConn struct {
	socket   *thrift.TSocket
	raw      net.Conn // below TLS
	admin    *thriftbus.EventAdminClient
	bus      *thriftbus.EventBusClient
	answered bool // somebody has answered there
}

// greet has a new connection show within patience that an admin service answers there.
func (conn *clientConn) greet(ctx context.Context, patience time.Duration) error {
	if conn.answered {
		return nil
	}
	timer := time.AfterFunc(patience, func() { _ = conn.socket.Close() })
	_, err := conn.admin.GetServer(ctx)
	late := !timer.Stop()
	meant, exception := fromException(err)
	var protocol thrift.TProtocolException
	switch {
	case errors.Is(meant, ErrUnauthenticated):
		return err // a large call would be refused unread, and not in these terms
	case err == nil || exception:
		conn.answered = true // what is wrong the call itself will tell
		return nil
	case late:
		return errSilent
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: %w", errMute, err)
	case errors.As(err, new(*net.OpError)):
		return err
	case errors.As(err, &protocol):
		return fmt.Errorf("%w: %w", errStrange, err)
	}
	return err
}

// NewClient returns a client, which connects with its first call.
func NewClient(cfg ClientConfig) (*Client, error) {
	if cfg.Address == "" {
		cfg.Address = DefaultListen
	}
	host, _, err := net.SplitHostPort(cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("make an admin client: %w", &eventbus.ArgumentError{Field: "Address", Value: fmt.Sprintf("%q", cfg.Address), Reason: "HOST:PORT is right"})
	}
	if err := checkToken(cfg.Token); err != nil {
		return nil, fmt.Errorf("make an admin client: %w", err)
	}
	if cfg.TLS != nil && cfg.TLS.ServerName == "" {
		cfg.TLS = cfg.TLS.Clone()
		cfg.TLS.ServerName = host
	}
	if cfg.CallTimeout == 0 {
		cfg.CallTimeout = DefaultCallTimeout
	}
	c := &Client{cfg: cfg, patience: firstAnswer, turn: make(chan struct{}, 1)}
	c.life, c.end = context.WithCancel(context.Background())
	return c, nil
}

// Close closes the connection. It does not wait for the call under way, which then
// returns eventbus.ErrClosed, as later calls do; what it has begun may be done.
func (c *Client) Close() error {
	c.end()
	return c.dropUnlessBusy()
}

// dropUnlessBusy closes the connection, unless a call is under way: the call does
// so when it gives up its turn.
func (c *Client) dropUnlessBusy() error {
	select {
	case c.turn <- struct{}{}:
	default:
		return nil
	}
	defer func() { <-c.turn }()
	return c.drop()
}

// pass gives up the turn, and closes the connection where Close came during it.
func (c *Client) pass() {
	<-c.turn
	if c.life.Err() != nil {
		_ = c.dropUnlessBusy() // nobody waits for what comes of it
	}
}

func (c *Client) drop() error {
	if c.conn == nil {
		return nil
	}
	err := c.conn.socket.Close()
	c.conn = nil
	return err
}

// connect returns the connection that stands, or a new one where there is none, or where
// the server has closed it.
func (c *Client) connect(ctx context.Context) (*clientConn, error) {
	if c.conn != nil && quiet.Socket(c.conn.raw) {
		return c.conn, nil
	}
	_ = c.drop() // it is closed, or about to be: TLS says so first
	var conn net.Conn
	var err error
	soon, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	if c.cfg.TLS != nil {
		conn, err = (&tls.Dialer{Config: c.cfg.TLS}).DialContext(soon, "tcp", c.cfg.Address)
	} else {
		conn, err = (&net.Dialer{}).DialContext(soon, "tcp", c.cfg.Address)
	}
	switch {
	case err == nil:
	case over(ctx) == nil && over(soon) != nil:
		return nil, errSilent
	default:
		return nil, err
	}
	raw := conn
	if secure, ok := conn.(*tls.Conn); ok {
		raw = secure.NetConn()
	}
	cfg := &thrift.TConfiguration{MaxFrameSize: maxFrame, MaxMessageSize: maxFrame}
	socket := thrift.NewTSocketFromConnConf(conn, cfg)
	// Thrift's own transports write a frame's length by itself, which wakes the server
	// once more.
	p := thrift.NewTHeaderProtocolConf(thrift.NewTBufferedTransport(socket, clientBuffer), cfg)
	if c.cfg.Token != "" {
		p.SetWriteHeader(authorization, "Bearer "+c.cfg.Token)
	}
	client := func(service string) thrift.TClient {
		m := thrift.NewTMultiplexedProtocol(p, service)
		return thrift.NewTStandardClient(m, m)
	}
	c.conn = &clientConn{
		socket: socket,
		raw:    raw,
		admin:  thriftbus.NewEventAdminClient(client("EventAdmin")),
		bus:    thriftbus.NewEventBusClient(client("EventBus")),
	}
	return c.conn, nil
}

// askWithin carries out one call within timeout; 0 for as long as ctx lasts.
func askWithin[T any](ctx context.Context, c *Client, timeout time.Duration, do func(ctx context.Context, conn *clientConn) (T, error)) (answer T, err error) {
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	if timeout > 0 {
		call, cancel = context.WithTimeout(call, timeout)
		defer cancel()
	}
	defer context.AfterFunc(c.life, cancel)()
	select {
	case c.turn <- struct{}{}:
		defer c.pass()
	case <-call.Done():
	}
	if call.Err() != nil || c.life.Err() != nil {
		return answer, c.unasked(ctx)
	}
	conn, err := c.connect(call)
	if err != nil {
		return answer, c.unreached(ctx, call, err)
	}
	// Whoever waits for an answer sees the end of its connection, and nothing else.
	stop := context.AfterFunc(call, func() { _ = conn.socket.Close() })
	on := context.WithoutCancel(call)
	if err = conn.greet(on, c.patience); err == nil {
		answer, err = do(on, conn)
	}
	if !stop() {
		_ = c.drop() // the answer came, if it did, as the time was over
	}
	if err == nil {
		return answer, nil
	}
	if meant, ok := fromException(err); ok {
		return answer, meant
	}
	_ = c.drop()
	return answer, c.unreached(ctx, call, err)
}

// unasked says why a call was not made.
func (c *Client) unasked(ctx context.Context) error {
	switch {
	case c.life.Err() != nil:
		return eventbus.ErrClosed
	case ctx.Err() != nil:
		return fmt.Errorf("admin service at %s: %w", c.cfg.Address, ctx.Err())
	}
	return fmt.Errorf("admin service at %s: %w: calls before this one took %v; it was not made", c.cfg.Address, ErrUnreachable, c.cfg.CallTimeout)
}

// unreached says of an error that is none of the server's what that means.
func (c *Client) unreached(ctx, call context.Context, err error) error {
	var application thrift.TApplicationException
	var protocol thrift.TProtocolException
	switch {
	case over(ctx) != nil:
		return fmt.Errorf("admin service at %s: %w", c.cfg.Address, over(ctx))
	case c.life.Err() != nil:
		return fmt.Errorf("admin service at %s: %w; what was asked may be done", c.cfg.Address, eventbus.ErrClosed)
	case over(call) != nil:
		return fmt.Errorf("admin service at %s: %w: no answer within %v; what was asked may be done", c.cfg.Address, ErrUnreachable, c.cfg.CallTimeout)
	case errors.Is(err, errStrange):
	case errors.As(err, &protocol) && protocol.TypeId() == thrift.SIZE_LIMIT:
		return fmt.Errorf("admin service at %s: %w", c.cfg.Address, &eventbus.ArgumentError{
			Field: "size", Value: "of the call, or of its answer", Reason: fmt.Sprintf("%v; at most %d bytes go into one message: send, or ask for, less at once", err, maxFrame),
		})
	case errors.As(err, &application) && application.TypeId() == thrift.UNKNOWN_METHOD:
		return fmt.Errorf("the admin service at %s does not offer this call; is it of an older release? %w", c.cfg.Address, application)
	case errors.As(err, &application):
		return fmt.Errorf("admin service at %s: %w", c.cfg.Address, application)
	}
	return fmt.Errorf("admin service at %s: %w: %w", c.cfg.Address, ErrUnreachable, err)
}

// over returns the error of a context that has ended, or is about to: a dialer looks at
// its deadline itself, and is a moment quicker.
func over(ctx context.Context) error {
	if end, ok := ctx.Deadline(); ok && ctx.Err() == nil && !time.Now().Before(end) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// ask is askWithin for the usual time.
func ask[T any](ctx context.Context, c *Client, do func(ctx context.Context, conn *clientConn) (T, error)) (T, error) {
	return askWithin(ctx, c, c.cfg.CallTimeout, do)
}

// tell is ask for a call without an answer.
func tell(ctx context.Context, c *Client, do func(ctx context.Context, conn *clientConn) error) error {
	_, err := ask(ctx, c, func(ctx context.Context, conn *clientConn) (nothing, error) { return nothing{}, do(ctx, conn) })
	return err
}

// Server implements API.
func (c *Client) Server(ctx context.Context) (ServerInfo, error) {
	info, err := ask(ctx, c, func(ctx context.Context, conn *clientConn) (*thriftbus.ServerInfo, error) {
		return conn.admin.GetServer(ctx)
	})
	if err != nil {
		return ServerInfo{}, err
	}
	return ServerInfo{Namespace: info.BusNamespace, Group: info.Group}, nil
}

// Ping implements API.
func (c *Client) Ping(ctx context.Context) error {
	return tell(ctx, c, func(ctx context.Context, conn *clientConn) error { return conn.admin.Ping(ctx) })
}
