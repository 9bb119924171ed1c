// Package embedded runs a Redis inside the process: for trying things out, on
// machines that have no Redis. Nothing in it outlives the process, and it is
// much slower than a real server once queues grow long.
package embedded

import (
	"fmt"

	"github.com/alicebob/miniredis/v2"
)

// Server is a running server.
type Server struct{ mini *miniredis.Miniredis }

// Start starts a server on a free port of 127.0.0.1.
func Start() (*Server, error) {
	mini := miniredis.NewMiniRedis()
	if err := mini.Start(); err != nil {
		return nil, fmt.Errorf("start the embedded server: %w", err)
	}
	return &Server{mini: mini}, nil
}

// URL is where clients find it.
func (s *Server) URL() string { return "redis://" + s.mini.Addr() + "/0" }

// Close stops it, and everything in it is gone.
func (s *Server) Close() { s.mini.Close() }
