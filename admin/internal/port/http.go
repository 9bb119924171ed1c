package port

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// httpSide is the HTTP server behind the port: a listener that gets the
// connections that turned out to speak HTTP.
type httpSide struct {
	server *http.Server
	owner  *Server
	conns  chan net.Conn
	closed chan struct{}
	close  sync.Once
	once   sync.Once
}

func newHTTPSide(s *Server, handler http.Handler) *httpSide {
	if handler == nil {
		handler = http.HandlerFunc(noHTTP)
	}
	h := &httpSide{owner: s, conns: make(chan net.Conn), closed: make(chan struct{})}
	h.server = &http.Server{
		Handler:           h.watch(http.MaxBytesHandler(handler, int64(s.limits.MaxMessage))),
		ReadHeaderTimeout: min(s.limits.FirstByte, s.limits.Read),
		ReadTimeout:       s.limits.Read,
		IdleTimeout:       s.limits.Idle,
		MaxHeaderBytes:    maxHTTPHeader,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), levelDebug),
		BaseContext:       func(net.Listener) context.Context { return s.base },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			hc := c.(httpEntry).base()
			return context.WithValue(withClient(ctx, hc.client), connKey{}, hc)
		},
		ConnState: h.follow,
	}
	return h
}

func noHTTP(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "This port speaks Thrift, framed or not, in the binary or the compact protocol or THeader. It has nothing for HTTP.", http.StatusNotFound)
}

type connKey struct{}

// start makes the HTTP server wait for connections.
func (h *httpSide) start() {
	h.once.Do(func() {
		h.owner.work.Go(func() { _ = h.server.Serve(h) }) // it ends when it is shut down
	})
}

// take hands a connection over and reports whether it was taken.
func (h *httpSide) take(c *conn) bool {
	_ = c.net.SetDeadline(time.Time{}) // the HTTP server has its own; it fails when closed
	hc := &httpConn{Conn: c.net, in: c.in, entry: c.entry, client: c.client, write: h.owner.limits.Write}
	var nc net.Conn = hc
	if over, ok := c.net.(*tls.Conn); ok {
		nc = &httpTLSConn{httpConn: hc, over: over}
	}
	h.owner.work.Add(1) // until the HTTP server says that it is closed
	select {
	case h.conns <- nc:
		return true
	case <-h.closed:
		h.owner.work.Done()
		return false
	}
}

// follow brings the table up to date with what the HTTP server does.
func (h *httpSide) follow(c net.Conn, s http.ConnState) {
	hc := c.(httpEntry).base()
	e := hc.entry
	switch s {
	case http.StateActive:
		e.move(reading)
	case http.StateIdle:
		hc.head = head{}
		e.move(idle)
		if hc.spent {
			e.close()
		}
	case http.StateClosed:
		e.close()
		h.owner.work.Done()
	case http.StateHijacked: // it is the handler's, and closed when others need its place
		h.owner.work.Done()
	}
}

// watch counts a request as a call from when its body has been read. Of a body that the
// handler has not read the rest is read after the answer: see lingerTime. Where that does
// not come to its end, what follows is no request.
func (h *httpSide) watch(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hc := r.Context().Value(connKey{}).(*httpConn) // every connection is one
		if hc.spent {
			return
		}
		if r.Body == nil || r.Body == http.NoBody {
			hc.entry.move(calling)
			handler.ServeHTTP(w, r)
			return
		}
		hc.head.ended = true
		body := &watchedBody{ReadCloser: r.Body, entry: hc.entry}
		r.Body = body
		answer := http.NewResponseController(w)
		_ = answer.EnableFullDuplex() // HTTP/1 can
		waits := r.Header.Get("Expect") != ""
		if waits {
			w.Header().Set("Connection", "close") // the body may never come
		}
		handler.ServeHTTP(w, r)
		hc.spent = !body.whole
		if body.ended || !waits && answer.Flush() != nil {
			return
		}
		if _, ok := hc.entry.read(time.Now().Add(lingerTime)); ok && !waits {
			_, _ = io.CopyN(io.Discard, body, lingerBytes)
			hc.spent = !body.whole
		}
	})
}

type watchedBody struct {
	io.ReadCloser
	entry *entry
	ended bool
	whole bool // it ended as it should
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !b.ended {
		b.ended, b.whole = true, err == io.EOF
		b.entry.move(calling)
	}
	return n, err
}

// httpConn is a connection of the HTTP server, with what was read already.
type httpConn struct {
	net.Conn
	in     *bufio.Reader // nil: used up
	entry  *entry
	client Client
	write  time.Duration
	head   head // of the request that comes in
	spent  bool // what comes is no request any more
}

// httpEntry is httpConn with or without TLS.
type httpEntry interface{ base() *httpConn }

func (c *httpConn) base() *httpConn { return c }

func (c *httpConn) Read(p []byte) (n int, err error) {
	if c.in == nil {
		n, err = c.Conn.Read(p)
	} else {
		n, err = c.in.Read(p[:min(len(p), c.in.Buffered())])
		if c.in.Buffered() == 0 {
			c.in = nil
		}
	}
	if tooMany := c.head.read(p[:n]); tooMany != nil {
		return 0, tooMany // none of them is to be made a header
	}
	return n, err
}

func (c *httpConn) Write(p []byte) (n int, err error) {
	c.entry.during(writing, func() {
		_ = c.Conn.SetWriteDeadline(time.Now().Add(c.write)) // fails when closed: so does Write
		n, err = c.Conn.Write(p)
	})
	return n, err
}

// httpTLSConn is one with TLS; the HTTP server asks it for the state of that.
type httpTLSConn struct {
	*httpConn
	over *tls.Conn
}

// ConnectionState returns the state of TLS.
func (c *httpTLSConn) ConnectionState() tls.ConnectionState { return c.over.ConnectionState() }

// Accept returns a connection that speaks HTTP.
func (h *httpSide) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close makes Accept return.
func (h *httpSide) Close() error {
	h.close.Do(func() { close(h.closed) })
	return nil
}

// Addr returns no address that could be connected to.
func (h *httpSide) Addr() net.Addr { return httpAddr{} }

type httpAddr struct{}

func (httpAddr) Network() string { return "memory" }
func (httpAddr) String() string  { return "http" }
