package redistest

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Miniredis runs an in-memory stand-in for Redis and returns it with a client.
// Both end with the test. Keys expire in it only when the test moves its clock
// (FastForward).
func Miniredis(t testing.TB) (*miniredis.Miniredis, *redis.Client) {
	t.Helper()
	server := miniredis.RunT(t)
	return server, closing(t, redis.NewClient(&redis.Options{Addr: server.Addr()}))
}

// closing closes the client when t ends.
func closing[C interface{ Close() error }](t testing.TB, client C) C {
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("redistest: close the client: %v", err)
		}
	})
	return client
}
