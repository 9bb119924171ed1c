package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serving starts serve with a settings file and no HTTP side, and waits until it
// is ready.
func (b *bed) serving(config string, args ...string) *process {
	b.t.Helper()
	p := b.start(nil, append([]string{"serve", "--http", "", "--config", b.file("serve.yaml", config)}, args...)...)
	for p.err.next() != "ready" {
	}
	return p
}

// stopped demands a clean end after a signal.
func (p *process) stopped(sig os.Signal) {
	p.b.t.Helper()
	p.signal(sig)
	require.Equal(p.b.t, 0, p.wait())
}

type eventObject struct {
	ID, Type string
	Data     json.RawMessage
}

// The handlers of the file handle what is sent; a signal of either kind is a
// clean end.
func TestServe(t *testing.T) {
	for name, sig := range map[string]os.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": os.Interrupt} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			posted := make(chan string, 10)
			hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				posted <- r.Header.Get("Authorization") + " " + r.Header.Get("Content-Type") + " " + string(body)
			}))
			t.Cleanup(hook.Close)
			p := b.serving(`
topics:
  - name: orders
    max_waiting: 100
    handlers:
      - {id: archive, type: file, path: out.ndjson}
      - {id: again, type: file, path: ./out.ndjson}
      - {id: print, type: log}
      - {id: post, type: webhook, url: "` + hook.URL + `", headers: {Authorization: secret}}
  - name: idle
`)
			id := strings.TrimSpace(b.ok("send", "orders", "--data", `{"n":130775545883395173}`))
			printed := object[eventObject](b, p.out.next())
			require.Equal(t, id, printed.ID)
			require.Equal(t, `{"n":130775545883395173}`, string(printed.Data))
			body := within(b, posted, "the webhook's call")
			require.Contains(t, body, "secret application/cloudevents+json; charset=utf-8 {")
			require.Contains(t, body, id)
			b.eventually("all are done", func() bool {
				return strings.Contains(b.ok("stats", "orders", "-o", "json", "--interval", "0"), `"done":1`)
			})
			text, err := os.ReadFile(filepath.Join(b.dir, "out.ndjson"))
			require.NoError(t, err)
			require.Equal(t, []string{id, id}, []string{objects[eventObject](b, string(text))[0].ID, objects[eventObject](b, string(text))[1].ID})
			require.Contains(t, b.ok("consumers"), "orders archive, orders again, orders print, orders post")
			require.Contains(t, b.ok("topic", "show", "idle"), "default")

			p.stopped(sig)
			require.Empty(t, p.out.rest(), "stdout holds the handler's lines alone")
			said := p.err.rest()
			require.Len(t, said, 2, "the beginning of the stop, and its end")
			require.Contains(t, said[0], `level=INFO msg="stopping: no more events are taken"`)
			require.Regexp(t, `level=INFO msg=stopped took=\S+$`, said[1])
			require.NotContains(t, strings.Join(said, "\n"), "secret")
			require.Empty(t, b.ok("consumers", "-o", "json"), "it has left")
		})
	}
}

func TestServeEmbedded(t *testing.T) {
	b := setup(t)
	b.url = "embedded"
	p := b.start(nil, "serve", "--http", "", "--config", b.file("x.yaml", "topics: [{name: orders, handlers: [{id: print, type: log}]}]"))
	line := p.err.until("redis://")
	require.Contains(t, line, "nothing in it outlives this process")
	b.url = regexp.MustCompile(`redis://127\.0\.0\.1:\d+/0`).FindString(line)
	require.NotEmpty(t, b.url)
	p.err.until("ready")
	id := strings.TrimSpace(b.ok("send", "orders", "--data", "1"))
	require.Contains(t, p.out.next(), id)
	p.stopped(syscall.SIGTERM)
	require.Contains(t, b.fails(1, "topic", "list"), "connection refused")
}

// Without handlers it serves all the same: an embedded server, or health.
func TestServeWithoutHandlers(t *testing.T) {
	b := setup(t)
	p := b.start(nil, "serve", "--http", "", "--log-format", "json")
	require.Contains(t, p.err.until("no handler"), `"level":"WARN"`)
	p.err.until("ready")
	p.stopped(os.Interrupt)
	said := p.err.rest()
	require.Len(t, said, 2)
	require.Contains(t, said[0], `"msg":"stopping"`)
	require.Contains(t, said[1], `"msg":"stopped"`)
}

// Topics that differ are changed, and the log says so; what the file does not
// say stays.
func TestServeChangesTopics(t *testing.T) {
	b := setup(t)
	b.ok("topic", "create", "orders", "--max-waiting", "5", "--concurrency", "3", "--group", "other")
	b.ok("topic", "disable", "orders")
	const config = `
topics:
  - name: orders
    max_waiting: 9
    dead_age: -1
    redisson_order_list: true
    queue_key: old list
    handlers: [{id: print, type: log}]
  - {name: fresh, delivery: at_most_once, wire: raw, dead_limit: 7, redisson_old_clients: true}
`
	p := b.serving(config)
	p.stopped(syscall.SIGTERM)
	show := b.ok("topic", "list")
	require.Regexp(t, `(?m)^orders +off +at_least_once +cloudevents +9 +3 +1000000 +- +default=old list,other$`, show)
	require.Regexp(t, `(?m)^fresh +on +at_most_once +raw +- +- +7 +2160h +default$`, show)
	require.Contains(t, b.ok("topic", "show", "orders", "-o", "json"), `"redisson_order_list":true,"redisson_old_clients":false,`)
	require.Contains(t, b.ok("topic", "show", "fresh", "-o", "json"), `"redisson_order_list":false,"redisson_old_clients":true,`)

	// the same again changes nothing
	p = b.start(nil, "serve", "--http", "", "--config", filepath.Join(b.dir, "serve.yaml"))
	for line := ""; line != "ready"; line = p.err.next() {
		require.NotContains(t, line, "changed topic")
		require.NotContains(t, line, "created topic")
		require.NotContains(t, line, "added group")
	}
	p.stopped(syscall.SIGTERM)
	require.Equal(t, show, b.ok("topic", "list"))
}

func TestServeTellsWhatItChanged(t *testing.T) {
	b := setup(t)
	b.ok("topic", "create", "orders", "--max-waiting", "5")
	p := b.start(nil, "serve", "--http", "", "--config", b.file("x.yaml", "topics:\n  - {name: orders, max_waiting: 9}\n  - {name: new}\n"))
	require.Regexp(t, `level=INFO msg="changed topic .*" topic=orders max_waiting="9, was 5"`, p.err.next())
	require.Regexp(t, `level=INFO msg="created topic" topic=new group=default`, p.err.next())
	p.stopped(syscall.SIGTERM)
}

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

// healthz asks for the health of a process and returns status and body.
func healthz(t *testing.T, address string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://" + address + "/healthz")
	require.NoError(t, err)
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return r.StatusCode, string(body)
}

// Health is red while Redis is away, and green again when it is back; the
// process goes on all the while.
func TestServeHealth(t *testing.T) {
	b := setup(t)
	dir := t.TempDir()
	port, err := freePort()
	require.NoError(t, err)
	own := func() *redisServer {
		s, err := startRedisOn(port, dir, durable()...)
		require.NoError(t, err)
		return s
	}
	s := own()
	b.url = s.url()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	p := b.start(nil, "serve", "--http", address, "--config", b.file("x.yaml", "topics: [{name: orders, handlers: [{id: print, type: log}]}]"))
	p.err.until("ready")
	code, body := healthz(t, address)
	require.Equal(t, 200, code)
	require.Equal(t, `{"status":"ok"}`+"\n", body)

	s.stop()
	b.eventually("health is red", func() bool {
		code, body = healthz(t, address)
		return code == 503
	})
	require.Contains(t, body, `{"status":"unavailable","error":"`)
	s = own()
	t.Cleanup(s.stop)
	b.eventually("health is green", func() bool {
		code, _ = healthz(t, address)
		return code == 200
	})
	id := strings.TrimSpace(b.ok("send", "orders", "--data", "1"))
	require.Contains(t, p.out.next(), id)
	p.stopped(syscall.SIGTERM)
}

// A stop ends the process also while Redis is away, and while it does not answer
// at the start.
func TestServeStopsWithoutRedis(t *testing.T) {
	b := setup(t)
	s := redisFor(t)
	b.url = s.url()
	p := b.serving("topics: [{name: orders, handlers: [{id: print, type: log}]}]")
	s.stop()
	p.err.until("redis does not serve the bus")
	p.stopped(syscall.SIGTERM)

	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, never answers
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, silent.Close()) })
	b.url = "redis://" + silent.Addr().String()
	p = b.start(nil, "serve", "--http", "")
	conn, err := silent.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	began := time.Now()
	p.stopped(syscall.SIGTERM)
	require.Less(t, time.Since(began), 10*time.Second)
	said := p.err.rest()
	require.Len(t, said, 2)
	require.Contains(t, said[0], "msg=stopping")
	require.Contains(t, said[1], "msg=stopped")
}

// The first signal waits for the handler that runs; the second ends its context,
// and the event is there for the next process, with no attempt used up.
func TestServeStopsHard(t *testing.T) {
	b := setup(t)
	called := make(chan struct{}, 10)
	ended := make(chan struct{}, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the end of the connection is seen
		called <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	}))
	t.Cleanup(hook.Close)
	config := `topics: [{name: orders, handlers: [{id: post, type: webhook, url: "` + hook.URL + `", timeout: 1h, retry: {max_attempts: 1}}]}]`
	p := b.serving(config, "--log-level", "debug")
	id := strings.TrimSpace(b.ok("send", "orders", "--data", "1"))
	within(b, called, "the webhook's call")
	p.signal(syscall.SIGTERM)
	p.err.until("stopping: no more events are taken")
	p.err.until("still stopping: another signal stops hard")
	require.Empty(t, ended, "the handler goes on")
	p.stopped(syscall.SIGTERM)
	within(b, ended, "the end of the call")
	said := p.err.rest()
	require.Contains(t, strings.Join(said, "\n"), "stopping hard")
	require.Contains(t, said[len(said)-1], "msg=stopped")

	b.eventually("it is kept for the next process", func() bool {
		s := b.ok("stats", "orders", "-o", "json", "--interval", "0")
		return strings.Contains(s, `"waiting":1,"in_flight":0`) || strings.Contains(s, `"retry":1`)
	})
	next := b.serving(`topics: [{name: orders, handlers: [{id: post, type: file, path: out}]}]`)
	b.eventually("the next process handles it", func() bool {
		text, err := os.ReadFile(filepath.Join(b.dir, "out"))
		return err == nil && strings.Contains(string(text), id)
	})
	next.stopped(syscall.SIGTERM)
}

// Two signals at once are one wish: what runs may end.
func TestServeTakesDoubledSignalForOne(t *testing.T) {
	b := setup(t)
	called, release := make(chan struct{}, 1), make(chan struct{})
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		called <- struct{}{}
		<-release
	}))
	t.Cleanup(hook.Close)
	p := b.serving(`topics: [{name: orders, handlers: [{id: post, type: webhook, url: "` + hook.URL + `", timeout: 1h}]}]`)
	b.ok("send", "orders", "--data", "1")
	within(b, called, "the webhook's call")
	p.signal(os.Interrupt)
	p.signal(syscall.SIGTERM)
	for line := ""; !strings.Contains(line, "still stopping"); line = p.err.next() {
		require.NotContains(t, line, "stopping hard")
	}
	close(release)
	require.Equal(t, 0, p.wait())
	require.NotContains(t, strings.Join(p.err.rest(), "\n"), "stopping hard")
	require.Contains(t, b.ok("stats", "orders", "-o", "json", "--interval", "0"), `"done":1`)
}

// What was set at run time and goes before the file is told at the start, with
// the command that takes it back.
func TestServeWarnsOfRunTimeSettings(t *testing.T) {
	b := setup(t)
	b.ok("topic", "create", "orders", "--max-waiting", "5", "--concurrency", "3", "--dead-age", "-1", "--redisson-old-clients", "--group", "billing")
	b.ok("topic", "create", "quiet", "--group", "billing")
	b.ok("topic", "disable", "quiet")
	for _, id := range []string{"print", "again", "gone"} {
		b.ok("handler", "update", "orders", id, "--timeout", "1500ms", "--max-attempts", "3", "--force", "--group", "billing")
	}
	b.ok("handler", "disable", "orders", "print", "--group", "billing")
	config := b.file("serve.yaml", `
topics:
  - name: orders
    max_waiting: 9
    handlers:
      - {id: print, type: log, timeout: 3s, retry: {max_attempts: 3}}
      - {id: again, type: log, timeout: 1500ms, retry: {max_attempts: 3}}
      - {id: new, type: log, timeout: 1s}
  - {name: quiet}
`)
	start := func() (warnings []map[string]any, p *process) {
		p = b.start(nil, "serve", "--http", "", "--config", config, "--group", "billing", "--log-format", "json")
		for line := p.err.next(); line != "ready"; line = p.err.next() {
			var entry map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &entry), line)
			if entry["level"] == "WARN" {
				delete(entry, "time")
				delete(entry, "level")
				warnings = append(warnings, entry)
			}
		}
		return warnings, p
	}
	warnings, p := start()
	reach := " --group billing --config " + config
	require.Equal(t, []map[string]any{
		{
			"msg": "topic keeps settings of which the settings file says nothing", "topic": "orders",
			"concurrency": "3, default 0", "dead_age": "-1, default 2160h0m0s", "redisson_old_clients": "true, default false",
			"reset": "eventbus topic update orders --concurrency=0 --dead-age=2160h0m0s --redisson-old-clients=false" + reach,
		}, {
			"msg": "handler keeps what was set at run time, which goes before the settings file", "topic": "orders", "handler": "print",
			"enabled": "false, by the file true", "timeout": "1.5s, by the file 3s", "reset": "eventbus handler reset orders print" + reach,
		}, {
			"msg": "topic is disabled: nothing of it is handed out", "topic": "quiet", "enable": "eventbus topic enable quiet" + reach,
		},
	}, warnings)
	for _, w := range warnings {
		for _, key := range []string{"reset", "enable"} {
			if command, ok := w[key].(string); ok {
				b.ok(strings.Fields(command)[1:]...)
			}
		}
	}
	p.stopped(syscall.SIGTERM)
	warnings, p = start()
	require.Empty(t, warnings, "the commands have taken all back")
	p.stopped(syscall.SIGTERM)
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
