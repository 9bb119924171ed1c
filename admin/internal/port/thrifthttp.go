package port

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
)

// ThriftHandler returns the handler of calls over HTTP, to be mounted in
// Config.HTTP: each is one unframed message, of the binary or the compact
// protocol, in the body of a POST. The same limits hold as on the port itself.
// As there, a call goes on when its client goes away.
func (s *Server) ThriftHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "Thrift calls are sent with POST.", http.StatusMethodNotAllowed)
			return
		}
		if r.ContentLength > int64(s.limits.MaxMessage) {
			client, _ := ClientFrom(r.Context())
			s.tooLong(w, client, &longMessage{size: int(r.ContentLength), most: s.limits.MaxMessage})
			return
		}
		s.serveHTTPCall(w, r)
	})
}

func (s *Server) serveHTTPCall(w http.ResponseWriter, r *http.Request) {
	// The call must not end with the request, but with the server.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	defer context.AfterFunc(s.base, cancel)()

	begun := func() {}
	var e *entry
	if hc, ok := r.Context().Value(connKey{}).(*httpConn); ok {
		e = hc.entry
		begun = func() { e.move(calling) }
	}
	var p pace
	a := s.budget.open(e, &p)
	defer a.close()
	x := s.newExchange(bufio.NewReaderSize(pacedReader{r.Body, &p}, readBuffer), a, time.Now().Add(s.limits.Read))
	x.send = func(b [][]byte) error {
		w.Header().Set("Content-Type", "application/x-thrift")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		for _, piece := range b {
			if _, err := p.wait(false, func() (int, error) { return w.Write(piece) }); err != nil {
				return err
			}
		}
		return nil
	}
	x.bare = true
	if r.ContentLength >= 0 {
		a.size = int(r.ContentLength)
	}
	client, _ := ClientFrom(ctx)
	client.Headers = httpHeaders(r.Header)
	ctx = thrift.AddReadTHeaderToContext(withClient(ctx, client), client.Headers)
	err := x.begin()
	if err == nil && x.framed {
		err = errFramedHTTP
	}
	if err == nil {
		err = x.call(ctx, s.processor, begun, s.log)
	}
	var long *longMessage
	switch {
	case err == nil && x.oneway:
		w.Header().Set("Content-Type", "application/x-thrift")
	case errors.As(err, &long):
		s.tooLong(w, client, long)
	case errors.As(err, new(*http.MaxBytesError)):
		s.tooLong(w, client, &longMessage{most: s.limits.MaxMessage})
	case a.slow.Load():
		s.turnedAway(&s.warnings.slow, client, errSlow)
	case err != nil:
		s.log.Debug("a call over HTTP failed", "client", client.Addr, "err", err)
		switch {
		case x.sent:
		case errors.As(err, new(refusal)):
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.Header().Set("Connection", "close") // the rest of the message is not read
			http.Error(w, x.readErr.Error(), http.StatusUnauthorized)
		default:
			http.Error(w, "The call failed: "+err.Error(), http.StatusBadRequest)
		}
	}
}

// tooLong refuses a message for its length.
func (s *Server) tooLong(w http.ResponseWriter, client Client, err *longMessage) {
	s.turnedAway(&s.warnings.long, client, err)
	http.Error(w, "The call was not made: "+err.Error(), http.StatusRequestEntityTooLarge)
}

// errFramedHTTP is returned for a frame in the body of an HTTP request.
var errFramedHTTP = errors.New("a message over HTTP has no frame: send it without")

// httpHeaders returns the first value of each header, under its name in lower
// case, as THeader has them.
func httpHeaders(h http.Header) map[string]string {
	headers := make(map[string]string, len(h))
	for name, values := range h {
		if len(values) > 0 {
			headers[strings.ToLower(name)] = values[0]
		}
	}
	return headers
}
