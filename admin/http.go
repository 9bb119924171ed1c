package admin

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"
)

// Bus is what the HTTP side asks of a bus: an *eventbus.Bus.
type Bus interface {
	// Health returns nil while the bus can do its work, else why not.
	Health(ctx context.Context) error
}

// Deadlines of the HTTP side. A client that is slow or silent costs a
// connection for so long and no longer.
const (
	readTimeout   = 5 * time.Second
	writeTimeout  = 15 * time.Second
	idleTimeout   = time.Minute
	maxHeader     = 16 << 10
	healthTimeout = 3 * time.Second
)

// NewHTTP returns the HTTP side of a bus:
//
//	GET /healthz    200 {"status":"ok"}, or
//	                503 {"status":"unavailable","error":"…"} with the reason
//
// The bus has three seconds to say how it is; after that it is unavailable.
//
// HEAD is answered as GET is, without the body. Other methods get 405, other
// paths 404, each with {"status":"error","error":"…"}.
func NewHTTP(bus Bus) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/healthz":
			answer(w, http.StatusNotFound, "error", "no such path; there is /healthz")
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			answer(w, http.StatusMethodNotAllowed, "error", "use GET")
		default:
			health(w, r, bus)
		}
	})
}

func health(w http.ResponseWriter, r *http.Request, bus Bus) {
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	if err := bus.Health(ctx); err != nil {
		answer(w, http.StatusServiceUnavailable, "unavailable", err.Error())
		return
	}
	answer(w, http.StatusOK, "ok", "")
}

func answer(w http.ResponseWriter, code int, status, reason string) {
	body, err := json.Marshal(struct {
		Status string `json:"status"`
		Error  string `json:"error,omitempty"`
	}{status, reason})
	if err != nil {
		panic(err) // two strings marshal
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n')) // a client that has gone is no concern of ours
}

// NewHTTPServer returns a server for the handler with deadlines on everything: 5 s for
// a request, 15 s for its answer, a minute for a connection without one; a request's
// header may have 16 KiB. Its
// own complaints, such as those about clients that speak no HTTP, go to log at
// level debug.
func NewHTTPServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadTimeout:       readTimeout,
		ReadHeaderTimeout: readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
