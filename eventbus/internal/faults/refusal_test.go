package faults_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/internal/redistest"
)

// refusal is a state in which a server answers and does not serve. Before on,
// and after off, it serves.
type refusal struct {
	name    string
	options redistest.Options
	on, off func(t *testing.T, w *world)
	works   bool     // the bus does most of its work all the same
	standIn *standIn // what stands in the place of the server; nil when it is itself
}

func outOfMemory() refusal {
	return refusal{
		name: "OOM", works: true,
		on:  func(t *testing.T, w *world) { w.config("maxmemory", "1kb") },
		off: func(t *testing.T, w *world) { w.config("maxmemory", "0") },
	}
}

// misconf makes the server fail to write a snapshot and refuse writes therefore.
func misconf() refusal {
	return refusal{
		name:    "MISCONF",
		options: redistest.Options{Extra: []string{"save 3600 1000000", "stop-writes-on-bgsave-error no"}},
		on: func(t *testing.T, w *world) {
			// Otherwise the server would not end without a snapshot.
			t.Cleanup(func() { w.config("save", "") })
			admin := w.server.Admin()
			dir, err := admin.ConfigGet(context.Background(), "dir").Result()
			require.NoError(t, err)
			require.NoError(t, os.Mkdir(filepath.Join(dir["dir"], "dump.rdb"), 0o700))
			require.NoError(t, admin.BgSave(context.Background()).Err())
			require.Eventually(t, func() bool {
				info, err := admin.Info(context.Background(), "persistence").Result()
				return err == nil && strings.Contains(info, "rdb_last_bgsave_status:err")
			}, patience, tick)
			w.config("stop-writes-on-bgsave-error", "yes")
			require.ErrorContains(t, admin.Set(context.Background(), "probe", "1", 0).Err(), "MISCONF")
		},
		off: func(t *testing.T, w *world) { w.config("stop-writes-on-bgsave-error", "no") },
	}
}

// readOnly demotes the server to the replica of one that does not exist.
func readOnly() refusal {
	return refusal{
		name: "READONLY",
		on: func(t *testing.T, w *world) {
			require.NoError(t, w.server.Admin().Do(context.Background(), "replicaof", "127.0.0.1", "1").Err())
		},
		off: func(t *testing.T, w *world) {
			require.NoError(t, w.server.Admin().Do(context.Background(), "replicaof", "no", "one").Err())
		},
	}
}

// wrongPassword changes the password and cuts the clients off.
func wrongPassword() refusal {
	return refusal{
		name:    "WRONGPASS",
		options: redistest.Options{Password: "first"},
		on: func(t *testing.T, w *world) {
			w.server.SetPassword("second")
			w.killClients()
		},
		off: func(t *testing.T, w *world) { w.server.SetPassword("first") },
	}
}

// noPassword makes the server demand a password of clients that have none, and cuts
// them off.
func noPassword() refusal {
	return refusal{
		name: "NOAUTH",
		on: func(t *testing.T, w *world) {
			w.server.SetPassword("demanded")
			w.killClients()
		},
		off: func(t *testing.T, w *world) { w.server.SetPassword("") },
	}
}

// noBlocking takes the right to block away from the clients, and nothing else.
func noBlocking() refusal {
	acl := func(t *testing.T, w *world, rule string) {
		require.NoError(t, w.server.Admin().Do(context.Background(), "acl", "setuser", "default", rule).Err())
		w.killIf(blocked) // what blocks already is not asked again
	}
	return refusal{
		name: "NOPERM for BLPOP", works: true,
		on:  func(t *testing.T, w *world) { acl(t, w, "-blpop") },
		off: func(t *testing.T, w *world) { acl(t, w, "+blpop") },
	}
}

// full lets no new connection in, and cuts off the one that blocks.
func full() refusal {
	return refusal{
		name: "too many clients", works: true,
		on: func(t *testing.T, w *world) {
			w.config("maxclients", "1")
			w.killIf(blocked)
		},
		off: func(t *testing.T, w *world) { w.config("maxclients", "10000") },
	}
}

// config changes a setting of the server.
func (w *world) config(name, value string) {
	w.t.Helper()
	require.NoError(w.t, w.server.Admin().ConfigSet(context.Background(), name, value).Err())
}

// killClients cuts all connections but the test's own.
func (w *world) killClients() {
	w.t.Helper()
	w.killIf(func(string) bool { return true })
}

// killIf cuts the connections that pick takes by their line of CLIENT LIST, but
// not the test's own.
func (w *world) killIf(pick func(line string) bool) (cut int) {
	w.t.Helper()
	clients, err := w.server.Admin().ClientList(context.Background()).Result()
	require.NoError(w.t, err)
	for line := range strings.Lines(clients) {
		if strings.Contains(line, " flags=O ") || !pick(line) {
			continue // a monitor
		}
		id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
		n, err := w.server.Admin().ClientKillByFilter(context.Background(), "ID", id, "SKIPME", "yes").Result()
		require.NoError(w.t, err)
		cut += int(n)
	}
	return cut
}

// blocked picks connections that block in BLPOP.
func blocked(line string) bool { return strings.Contains(line, " cmd=blpop ") }
