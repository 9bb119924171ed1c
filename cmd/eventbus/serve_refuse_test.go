package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What cannot be as the file says is an error that names its line, and nothing
// is consumed.
func TestServeRefuses(t *testing.T) {
	b := setup(t)
	b.ok("topic", "create", "orders", "--queue-key", "list one")
	require.NoError(t, b.rdb.Set(t.Context(), b.namespace+":text", "no list", 0).Err())
	hook := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(hook.Close)
	for _, c := range []struct{ config, says string }{
		{"topics:\n  - name: orders\n    wire: raw\n", `x.yaml:2: topic "orders" has wire cloudevents, not raw: it stays as it was made`},
		{"topics:\n\n  - name: orders\n    queue_key: list two\n", `x.yaml:3: topic "orders" has queue_key "list one" for group default, not "list two"`},
		{"topics:\n  - name: new\n    queue_key: " + b.namespace + ":text\n", `x.yaml:2: create topic "new": invalid queue_key`},
		{"topics:\n  - name: new\n    handlers:\n      - {id: h, type: file, path: none/out}\n", `x.yaml:4: handler "h": invalid path`},
		{"topics:\n  - name: new\n    handlers:\n      - {id: h, type: file, path: .}\n", `x.yaml:4: handler "h": invalid path`},
		{"http:\n  listen: " + hook.Listener.Addr().String() + "\n", "x.yaml:2: start the HTTP side: listen tcp " + hook.Listener.Addr().String()},
	} {
		args := []string{"serve", "--config", b.file("x.yaml", c.config)}
		if !strings.Contains(c.config, "http:") {
			args = append(args, "--http", "")
		}
		require.Contains(t, b.fails(1, args...), c.says)
	}
	require.NotContains(t, b.ok("topic", "list"), "new")
}

// All that is wrong at the start is told at once, each with what would be right:
// files, the address to listen on, Redis.
func TestServeTellsAllThatIsWrong(t *testing.T) {
	b := setup(t)
	hook := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(hook.Close)
	taken := hook.Listener.Addr().String()
	const nobody = "redis://127.0.0.1:1"
	listen := "start the HTTP side: listen tcp " + taken + ": bind: address already in use; choose another address with --http or http.listen, or \"\" for none"
	connect := "connect to Redis: redis is unavailable: dial tcp 127.0.0.1:1: connect: connection refused (" + nobody + ", namespace " + b.namespace + "); --redis or EVENTBUS_REDIS says where Redis is"
	require.Equal(t, "eventbus: "+listen+"; "+connect, b.fails(1, "serve", "--http", taken, "--redis", nobody))

	config := b.file("x.yaml", "http: {listen: '"+taken+"'}\ntopics:\n  - name: new\n    handlers:\n      - {id: h, type: file, path: none/out}\n")
	line := b.fails(1, "serve", "--config", config, "--redis", nobody)
	require.True(t, strings.HasPrefix(line, "eventbus: "+config+`:5: handler "h": invalid path`), line)
	require.True(t, strings.HasSuffix(line, "; "+config+":1: "+listen+"; "+connect), line)
}

// Every wrong file is code 1 and one line with file and line; nothing is begun.
func TestServeWrongFiles(t *testing.T) {
	b := setup(t)
	handler := func(lines string) string { return "topics:\n  - name: orders\n    handlers:\n      - id: h\n" + lines }
	for _, c := range []struct{ config, says string }{
		{"topics: [\n", "x.yaml: this is not YAML: line 1: "},
		{"group: a\n\tnamespace: b\n", "x.yaml: this is not YAML: line 2: "},
		{"grup: a\n", `x.yaml:1: unknown key "grup" in the file; its keys are: redis, namespace, group,`},
		{"group: a\ngroup: b\n", `x.yaml:2: key "group" stands twice`},
		{"group: a b\n", "x.yaml:1: "},
		{"redis: localhost\n", "x.yaml:1: the Redis address is not a URL"},
		{"redis: redis://:s3cret@h/x\n", "x.yaml:1: the Redis address (redis://…) must end in the number of a database"},
		{"concurrency: many\n", "x.yaml:1: concurrency is \"many\"; a whole number from 1 to 100000 is right"},
		{"stop_timeout: 30\n", "x.yaml:1: stop_timeout is \"30\", without a unit; 30s or 30ms may be meant"},
		{"http: {listen: 8080}\n", "x.yaml:1: listen is"},
		{"http: {listen: '127.0.0.1:0', token: s3cret}\n", "x.yaml:1: the HTTP side of this release has only /healthz"},
		{"group: a\nadmin:\n  listen: 9090\n", "x.yaml:3: listen is \"9090\"; HOST:PORT such as 127.0.0.1:9090 is right, or \"\" for no Thrift admin service"},
		{"admin:\n  token: s3cret\n  tls: {cert: x.pem}\n", "x.yaml:3: tls needs cert and key"},
		{"topics:\n  name: orders\n", "x.yaml:2: topics must be a list"},
		{"topics:\n  - delivery: at_least_once\n", "x.yaml:2: a topic has no name"},
		{"topics:\n  - name: orders\n    delivery: exactly_once\n", `x.yaml:3: delivery is "exactly_once"; right are: at_least_once, at_most_once`},
		{"topics:\n  - name: orders\n    wire: json\n", `x.yaml:3: wire is "json"; right are: cloudevents, raw`},
		{"topics:\n  - name: orders\n  - name: orders\n", `x.yaml:3: topic "orders" stands twice, first in line 2`},
		{handler("        type: grpc\n"), `x.yaml:5: type is "grpc"; right are: file, log, webhook, thrift`},
		{handler("        type: file\n"), "x.yaml:4: a handler of type file needs a path"},
		{handler("        type: webhook\n"), "x.yaml:4: a handler of type webhook needs a url"},
		{handler("        type: webhook\n        url: 'hook?token=s3cret'\n"), "x.yaml:6: "},
		{handler("        type: log\n        url: http://h\n"), "x.yaml:6: url goes with type webhook"},
		{handler("        type: log\n        timeout: 5\n"), "x.yaml:6: timeout is \"5\", without a unit"},
		{handler("        type: log\n        timeout: -1s\n"), "x.yaml:6: timeout is \"-1s\"; a duration from 1ms"},
		{handler("        type: log\n        retry: {attempts: 3}\n"), `x.yaml:6: unknown key "attempts" in retry; its keys are: max_attempts, initial, max`},
		{handler("        type: log\n        breaker: {failures: -1}\n"), "x.yaml:6: failures is \"-1\""},
		{handler("        type: log\n      - {id: h, type: log}\n"), `x.yaml:6: handler "h" stands twice`},
	} {
		line := b.fails(1, "serve", "--config", b.file("x.yaml", c.config))
		require.Contains(t, line, c.says, c.config)
		require.NotContains(t, line, "s3cret")
	}
	require.Contains(t, b.fails(1, "serve", "--config", "none.yaml"), "open none.yaml: no such file")
	require.Empty(t, b.keys(b.namespace+":*"), "nothing was begun")
}
