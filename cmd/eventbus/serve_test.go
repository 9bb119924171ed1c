package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/internal/redistest"
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
	s := redistest.Start(t, redistest.Options{AppendOnly: true})
	b.url = s.URL()
	address := b.free()
	p := b.start(nil, "serve", "--http", address, "--config", b.file("x.yaml", "topics: [{name: orders, handlers: [{id: print, type: log}]}]"))
	p.err.until("ready")
	code, body := healthz(t, address)
	require.Equal(t, 200, code)
	require.Equal(t, `{"status":"ok"}`+"\n", body)

	s.Kill()
	b.eventually("health is red", func() bool {
		code, body = healthz(t, address)
		return code == 503
	})
	require.Contains(t, body, `{"status":"unavailable","error":"`)
	s.Start()
	b.eventually("health is green", func() bool {
		code, _ = healthz(t, address)
		return code == 200
	})
	id := strings.TrimSpace(b.ok("send", "orders", "--data", "1"))
	require.Contains(t, p.out.next(), id)
	p.stopped(syscall.SIGTERM)
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
			"reset": "eventbus topic update orders --concurrency=0 --dead-age=2160h0m0s --redisson-old-clients=false --config " + config,
		}, {
			"msg": "handler keeps what was set at run time, which goes before the settings file", "topic": "orders", "handler": "print",
			"enabled": "false, by the file true", "timeout": "1.5s, by the file 3s", "reset": "eventbus handler reset orders print" + reach,
		}, {
			"msg": "topic is disabled: nothing of it is handed out", "topic": "quiet", "enable": "eventbus topic enable quiet --config " + config,
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
