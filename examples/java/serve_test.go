//go:build java

package java_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// server is an eventbus serve on a Redis of its own.
type server struct {
	*process
	t       *testing.T
	address string // of its Thrift side
	rdb     *redis.Client
	bus     *eventbus.Bus // another, on the same Redis
}

// serve runs eventbus serve with these settings.
func serve(t *testing.T, settings string) *server {
	t.Helper()
	rdb := redistest.Start(t, redistest.Options{}).Client(t)
	bus, err := eventbus.New(rdb, eventbus.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bus.Close()) })
	file := filepath.Join(t.TempDir(), "serve.yaml")
	require.NoError(t, os.WriteFile(file, []byte(settings), 0o600))
	cmd := exec.Command(binary, "serve", "--redis", "redis://"+rdb.Options().Addr, "--http", "", "--thrift", "127.0.0.1:0", "--config", file)
	s := &server{process: startProcess(t, "eventbus serve", cmd), t: t, rdb: rdb, bus: bus}
	s.address = s.until(` thrift=(\S+)`)
	s.until(`^ready$`)
	return s
}

// stats are the figures of a topic.
func (s *server) stats(topic string) eventbus.Stats {
	s.t.Helper()
	stats, err := s.bus.GroupStats(s.t.Context(), topic)
	require.NoError(s.t, err)
	return stats
}

// refuseOnce is a webhook that refuses each event the first time, so that it
// becomes a dead failure, and takes it afterwards.
func refuseOnce(t *testing.T) (url string) {
	t.Helper()
	var mu sync.Mutex
	seen := map[string]bool{}
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var event struct{ ID string }
		if json.NewDecoder(r.Body).Decode(&event) != nil || !seen[event.ID] {
			seen[event.ID] = true
			http.Error(w, "no such customer", http.StatusUnprocessableEntity)
		}
	}))
	t.Cleanup(hook.Close)
	return hook.URL
}
