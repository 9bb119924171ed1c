package settings_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/settings"
	"github.com/seed4933/eventbus/eventbus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ptr[T any](v T) *T { return &v }

const complete = `
redis: redis://127.0.0.1:6379/0     # or embedded
namespace: shop
group: billing
concurrency: 16
max_payload: 2097152
stop_timeout: 5s
http:  {listen: 127.0.0.1:8081}
topics:
  - name: orders
    delivery: at_least_once
    wire: cloudevents
    queue_key: ""
    max_waiting: 1_000
    concurrency: 8
    dead_limit: -1
    dead_age: 24h
    redisson_order_list: true
    redisson_old_clients: false
    handlers:
      - {id: archive, type: file, path: out.ndjson}
      - id: notify
        type: webhook
        url: http://127.0.0.1:9999/hook
        headers: {Authorization: Bearer x}
        timeout: 5s
        concurrency: 3
        max_abandoned: 2
        retry: {max_attempts: 3, initial: 1s, max: 1m}
        breaker: {failures: 5, open: 30s}
  - name: 注文/1
  - name: 12
    delivery: at_most_once
    wire: raw
    handlers: [{id: out, type: log}]
`

func TestComplete(t *testing.T) {
	t.Parallel()
	f, err := settings.Parse("x.yaml", []byte(complete))
	require.NoError(t, err)
	require.Equal(t, "redis://127.0.0.1:6379/0", f.Redis)
	require.Equal(t, "shop", f.Namespace)
	require.Equal(t, "billing", f.Group)
	require.Equal(t, 16, f.Concurrency)
	require.Equal(t, 2<<20, f.MaxPayload)
	require.Equal(t, 5*time.Second, f.StopTimeout)
	require.Equal(t, "127.0.0.1:8081", f.HTTP.Listen)
	require.Len(t, f.Topics, 3)

	orders := f.Topics[0]
	require.Equal(t, "orders", orders.Name)
	require.Equal(t, eventbus.TopicUpdate{
		Delivery: ptr(eventbus.AtLeastOnce), MaxWaiting: ptr(int64(1000)), Concurrency: ptr(8),
		DeadLimit: ptr(int64(-1)), DeadAge: ptr(24 * time.Hour),
		RedissonOrderList: ptr(true), RedissonOldClients: ptr(false),
	}, orders.Update)
	require.Equal(t, ptr(eventbus.WireCloudEvents), orders.Wire)
	require.Equal(t, ptr(""), orders.QueueKey)
	require.Len(t, orders.Handlers, 2)
	require.Equal(t, settings.TypeFile, orders.Handlers[0].Type)
	require.Equal(t, "out.ndjson", orders.Handlers[0].Path)
	notify := orders.Handlers[1]
	require.Equal(t, settings.TypeWebhook, notify.Type)
	require.Equal(t, "http://127.0.0.1:9999/hook", notify.URL)
	require.Equal(t, map[string]string{"Authorization": "Bearer x"}, notify.Headers)
	require.Equal(t, eventbus.HandleConfig{
		Timeout: 5 * time.Second, Concurrency: 3, MaxAbandoned: 2,
		Retry:   eventbus.RetryPolicy{MaxAttempts: 3, Initial: time.Second, Max: time.Minute},
		Breaker: eventbus.BreakerConfig{Failures: 5, Open: 30 * time.Second},
	}, notify.Config)

	require.Equal(t, settings.Topic{Name: "注文/1"}, withoutLine(f.Topics[1]))
	require.Equal(t, "12", f.Topics[2].Name)
	require.Equal(t, ptr(eventbus.AtMostOnce), f.Topics[2].Update.Delivery)
	require.Equal(t, ptr(eventbus.WireRaw), f.Topics[2].Wire)
}

// withoutLine leaves out where the topic stands, which only errors tell.
func withoutLine(t settings.Topic) settings.Topic {
	return settings.Topic{Name: t.Name, Update: t.Update, Wire: t.Wire, QueueKey: t.QueueKey, Handlers: t.Handlers}
}

func TestWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n", "# nothing\n", "---\n", "null\n", "{}\n"} {
		f, err := settings.Parse("x.yaml", []byte(text))
		require.NoError(t, err, "%q", text)
		require.Equal(t, &settings.File{Path: "x.yaml", HTTP: settings.HTTP{Listen: settings.DefaultListen}, Admin: settings.Admin{Listen: settings.DefaultAdmin}}, f)
	}
	f, err := settings.Parse("x.yaml", []byte(`http: {listen: ""}`))
	require.NoError(t, err)
	require.Empty(t, f.HTTP.Listen)
}

func TestAlias(t *testing.T) {
	t.Parallel()
	f, err := settings.Parse("x.yaml", []byte(`
topics:
  - name: a
    handlers: [{id: h, type: log, retry: &r {max_attempts: 3}}]
  - name: b
    handlers: [{id: h, type: log, retry: *r}]
`))
	require.NoError(t, err)
	require.Equal(t, 3, f.Topics[1].Handlers[0].Config.Retry.MaxAttempts)
}

// handler is a file with one handler, whose other lines begin at line 5.
func handler(lines string) string {
	return "topics:\n  - name: orders\n    handlers:\n      - id: h\n" + lines
}

// Each file is wrong in one place; the error says where, what, and what would
// be right.
func TestWrong(t *testing.T) {
	t.Parallel()
	const thrift = "        type: thrift\n        address: 127.0.0.1:9091\n"
	for _, c := range []struct {
		text string
		line int
		says string
	}{
		{"redis: [\n", 1, "not YAML"},
		{"group: a\n\tconcurrency: 3\n", 2, "not YAML"},
		{"just words\n", 1, `the file must be keys with values, not "just words"`},
		{"- a\n", 1, "the file must be keys with values, not a list"},
		{"group: a\n---\ngroup: b\n", 2, "a second document"},
		{"group: a\nnamespaces: b\n", 2, `unknown key "namespaces" in the file; its keys are: redis, namespace,`},
		{"group: a\ngroup: b\n", 2, `key "group" stands twice in the file, first in line 1`},
		{"<<: {group: a}\n", 1, `unknown key "<<"`},
		{"? [a]\n: b\n", 1, "unknown key a list"},
		{"redis: 6379\n", 1, "redis must be a URL or the word embedded"},
		{"redis: http://u:secret@h\n", 1, "unknown scheme"},
		{"redis: redis://u:secret@h/x\n", 1, "number of a database"},
		{"\nnamespace: a b\n", 2, `invalid namespace "a b"`},
		{"namespace:\n", 1, "namespace must be a text, not nothing"},
		{"namespace: ''\n", 1, "namespace is empty"},
		{"group: {a: b}\n", 1, "group must be a text, not keys with values"},
		{"group: '{x}'\n", 1, `invalid group "{x}": '{' at byte 0 is not allowed; a name is 1 to 255 bytes`},
		{"concurrency: many\n", 1, `concurrency is "many"; a whole number from 1 to 100000`},
		{"max_payload: 0\n", 1, `max_payload is "0"; a whole number from 1 to 67108864 is right`},
		{"max_payload: 67108865\n", 1, "from 1 to 67108864"},
		{"max_payload: 1MiB\n", 1, "a whole number"},
		{"concurrency: 0\n", 1, "from 1 to 100000"},
		{"concurrency: 1.5\n", 1, "a whole number"},
		{"concurrency: '3'\n", 1, "a whole number"},
		{"concurrency: 99999999999999999999\n", 1, "a whole number"},
		{"stop_timeout: 30\n", 1, "without a unit; 30s or 30ms may be meant"},
		{"stop_timeout: soon\n", 1, "a duration such as 500ms"},
		{"stop_timeout: 0\n", 1, "from 1ms to 24h0m0s"},
		{"http: 8080\n", 1, "http must be keys with values"},
		{"http: {listen: 8080}\n", 1, "HOST:PORT such as 127.0.0.1:8080"},
		{"http: {listen: 'localhost:http'}\n", 1, "HOST:PORT"},
		{"http: {port: 8080}\n", 1, `unknown key "port" in http; its keys are: listen`},
		{"http:\n  token: secret\n", 2, "remove the key token"},
		{"admin: {listen: 9090}\n", 1, "HOST:PORT such as 127.0.0.1:9090"},
		{"admin: {port: 9090}\n", 1, `unknown key "port" in admin; its keys are: listen, token, tls`},
		{"admin:\n  tls: {cert: a}\n", 2, "tls needs cert and key"},
		{"admin:\n  tls: {cert: a, key: b, ca: c}\n", 2, `unknown key "ca" in tls; its keys are: cert, key, client_ca`},
		{"topics: {orders: {}}\n", 1, "topics must be a list"},
		{"topics:\n  - orders\n", 2, "a topic must be keys with values"},
		{"topics:\n  - wire: raw\n", 2, "a topic has no name"},
		{"topics:\n  - name: a b\n", 2, `invalid name "a b": ' ' at byte 1 is not allowed; a name is 1 to 255 bytes`},
		{"topics:\n  - name: true\n", 2, "must be a text"},
		{"topics:\n  - name: a\n  - name: a\n", 3, `topic "a" stands twice, first in line 2`},
		{"topics:\n  - name: a\n    delivery: exactly_once\n", 3, "right are: at_least_once, at_most_once"},
		{"topics:\n  - name: a\n    wire: thrift\n", 3, "right are: cloudevents, raw"},
		{"topics:\n  - name: a\n    wires: raw\n", 3, `unknown key "wires" in a topic`},
		{"topics:\n  - name: a\n    queue_key: [b]\n", 3, "queue_key must be a text"},
		{"topics:\n  - name: a\n    queue_key: " + strings.Repeat("x", 1025) + "\n", 3, "at most 1024"},
		{"topics:\n  - {name: a, queue_key: k}\n  - name: b\n    queue_key: k\n", 4, "take each other's events"},
		{"topics:\n  - name: a\n    max_waiting: -1\n", 3, "max_waiting"},
		{"topics:\n  - name: a\n    dead_limit: 0\n", 3, "or -1 for no limit"},
		{"topics:\n  - name: a\n    dead_age: 3d\n", 3, "or -1 for no limit"},
		{"topics:\n  - name: a\n    enabled: false\n", 3, "unknown key"},
		{"topics:\n  - name: a\n    redisson_order_list: 1\n", 3, `redisson_order_list is "1"; true or false is right`},
		{"topics:\n  - name: a\n    redisson_order_list: 'true'\n", 3, "true or false is right"},
		{"topics:\n  - name: a\n    redisson_old_clients: [true]\n", 3, "redisson_old_clients is a list; true or false is right"},
		{"topics:\n  - name: a\n    redisson_old_clients:\n", 3, "true or false is right"},
		{"topics:\n  - name: a\n    redisson_old_client: true\n", 3, `unknown key "redisson_old_client" in a topic`},
		{"topics:\n  - name: a\n    handlers: {id: h}\n", 3, "handlers must be a list"},
		{"topics:\n  - name: a\n    handlers:\n      - h\n", 4, "a handler must be keys"},
		{"topics:\n  - name: a\n    handlers:\n      - type: log\n", 4, "a handler has no id; it must have: id, type"},
		{handler(""), 4, "a handler has no type"},
		{handler("        type: grpc\n"), 5, "right are: file, log, webhook, thrift"},
		{handler("        type: file\n"), 4, "needs a path"},
		{handler("        type: webhook\n"), 4, "needs a url"},
		{handler("        type: webhook\n        url: ftp://u:secret@h\n"), 6, "http or https"},
		{handler("        type: webhook\n        url: http://h\n        headers: {Content-Type: secret}\n"), 7, "leave it out"},
		{handler("        type: webhook\n        url: http://h\n        headers: [secret]\n"), 7, "headers must be keys"},
		{handler("        type: thrift\n"), 4, "needs an address"},
		{handler("        type: thrift\n        address: ''\n"), 6, "address is wrong: it is not a host and a port"},
		{handler("        type: thrift\n        address: [a]\n"), 6, "address must be a text"},
		{handler("        type: thrift\n        address: 9090\n"), 6, "address is wrong: it is not a host and a port; give HOST:PORT such as 127.0.0.1:9091"},
		{handler(thrift + "        framed: 1\n"), 7, `framed is "1"; true or false is right`},
		{handler(thrift + "        framed: false\n        protocol: header\n"), 7, "framed is wrong: protocol header has frames of its own"},
		{handler(thrift + "        protocol: json\n"), 7, `protocol is "json"; right are: binary, compact, header`},
		{handler(thrift + "        protocol: json\n        token: secret\n"), 7, `protocol is "json"; right are: binary, compact, header`},
		{handler(thrift + "        service: 'a:b'\n"), 7, "service is wrong: a name without colons"},
		{handler(thrift + "        token: secret\n"), 7, "token is wrong: protocol binary has no headers and cannot carry one; set protocol header"},
		{handler(thrift + "        token: [secret]\n        protocol: header\n"), 7, "token must be a text"},
		{handler(thrift + "        tls: true\n"), 7, "tls must be keys with values, not \"true\"; its keys are: ca, cert, key, server_name"},
		{handler(thrift + "        tls: {insecure: true}\n"), 7, `unknown key "insecure" in tls`},
		{handler(thrift + "        tls: {ca: [x]}\n"), 7, "ca must be a text"},
		{handler(thrift + "        tls: {cert: x}\n"), 7, "tls has cert or key without the other"},
		{handler(thrift + "        tls: {key: x}\n"), 7, "tls has cert or key without the other"},
		{handler(thrift + "        url: x\n"), 7, "url goes with type webhook, and this handler is of type thrift"},
		{handler("        type: log\n        address: h:1\n"), 6, "address goes with type thrift, and this handler is of type log"},
		{handler("        type: log\n        tls: {}\n"), 6, "tls goes with type thrift"},
		{handler("        type: log\n        token: secret\n"), 6, "token goes with type thrift"},
		{handler("        type: log\n        path: x\n"), 6, "path goes with type file, and this handler is of type log"},
		{handler("        type: file\n        path: x\n        url: secret\n"), 7, "url goes with type webhook"},
		{handler("        type: log\n        timeout: 5\n"), 6, "5s or 5ms"},
		{handler("        type: log\n        timeout: 0s\n"), 6, "from 1ms"},
		{handler("        type: log\n        timeout: -3s\n"), 6, "from 1ms"},
		{handler("        type: log\n        timeout: 300000h\n"), 6, "to 8760h0m0s"},
		{handler("        type: log\n        retry: 3\n"), 6, "its keys are: max_attempts, initial, max"},
		{handler("        type: log\n        retry: {attempts: 3}\n"), 6, `unknown key "attempts" in retry`},
		{handler("        type: log\n        retry:\n          max_attempts: 0\n"), 7, "from 1"},
		{handler("        type: log\n        retry: {initial: 5s, max: 1s}\n"), 6, "initial is 5s, which is over max, 1s"},
		{handler("        type: log\n        retry:\n          max: 500ms\n"), 7, "initial is 1s, its default, which is over max, 500ms"},
		{handler("        type: log\n        breaker: {failures: x}\n"), 6, "failures"},
		{handler("        type: log\n        breaker: {open: [1s]}\n"), 6, "open is a list"},
		{handler("        type: log\n      - id: h\n        type: log\n"), 6, `handler "h" stands twice in topic "orders", first in line 4`},
		{"topics:\n  - name: a\n    handlers:\n      - {id: 'a|b', type: log}\n", 4, `invalid id "a|b"`},
		{"topics:\n  - name: a\n    handlers:\n      - id: ''\n        type: log\n", 4, "it is empty"},
	} {
		f, err := settings.Parse("dir/x.yaml", []byte(c.text))
		require.Nil(t, f, c.text)
		var wrong *settings.Error
		require.ErrorAs(t, err, &wrong, c.text)
		require.Len(t, wrong.Problems, 1, "%s\n%v", c.text, err)
		require.ErrorContains(t, err, c.says, c.text)
		require.ErrorContains(t, err, "dir/x.yaml:", c.text)
		require.ErrorContains(t, err, lineMark(wrong, c.line), c.text)
		require.NotContains(t, err.Error(), "secret", c.text)
	}
}

// lineMark is how an error tells the line: before the text, or, when the YAML
// parser found it, within.
func lineMark(e *settings.Error, line int) string {
	if e.Problems[0].Line == 0 {
		return fmt.Sprintf("line %d:", line)
	}
	return fmt.Sprintf("x.yaml:%d: ", line)
}

func TestAllProblemsAreTold(t *testing.T) {
	t.Parallel()
	_, err := settings.Parse("x.yaml", []byte("groups: a\nconcurrency: x\n"))
	require.EqualError(t, err, `x.yaml:1: unknown key "groups" in the file; its keys are: redis, namespace, group, concurrency, `+
		`max_payload, stop_timeout, http, topics, admin; x.yaml:2: concurrency is "x"; a whole number from 1 to 100000 is right`)
	_, err = settings.Parse("x.yaml", []byte(handler("        type: thrift\n        address: localhost\n        service: 'a:b'\n        token: secret\n")))
	for _, says := range []string{"x.yaml:6: address is wrong: ", "x.yaml:7: service is wrong: ", "x.yaml:8: token is wrong: "} {
		require.ErrorContains(t, err, says)
	}
	_, err = settings.Parse("x.yaml", []byte(handler("        type: webhook\n        url: /hook\n        headers: {a b: x, Trailer: x}\n")))
	for _, says := range []string{"x.yaml:6: the url is wrong: ", "x.yaml:7: header \"Trailer\" is wrong: ", "x.yaml:7: header \"a b\" is wrong: "} {
		require.ErrorContains(t, err, says)
	}
	_, err = settings.Parse("x.yaml", []byte("a: 1\nb: 1\nc: 1\nd: 1\ne: 1\nf: 1\ng: 1\n"))
	require.ErrorContains(t, err, "x.yaml:5:")
	require.ErrorContains(t, err, "; and 2 more")
	require.NotContains(t, err.Error(), "x.yaml:6:")
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := settings.Load(filepath.Join(dir, "none.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = settings.Load(dir)
	require.ErrorContains(t, err, "read settings file")

	large := filepath.Join(dir, "large.yaml")
	require.NoError(t, os.WriteFile(large, []byte(strings.Repeat("#\n", 3<<20)), 0o600))
	_, err = settings.Load(large)
	require.ErrorContains(t, err, "larger than")

	good := filepath.Join(dir, "good.yaml")
	require.NoError(t, os.WriteFile(good, []byte(complete), 0o600))
	f, err := settings.Load(good)
	require.NoError(t, err)
	require.Equal(t, good, f.Path)

	err = f.AtHandler(&f.Topics[0].Handlers[1], os.ErrPermission)
	require.ErrorIs(t, err, os.ErrPermission)
	require.EqualError(t, err, good+":22: permission denied")
	require.EqualError(t, f.At(&f.Topics[1], os.ErrPermission), good+":31: permission denied")
	require.EqualError(t, f.AtHTTP(os.ErrPermission), good+":8: permission denied")
	require.EqualError(t, f.AtRedis(os.ErrPermission), good+":2: permission denied")
}

func FuzzParse(f *testing.F) {
	f.Add(complete)
	f.Add("a: &a [*a]")
	f.Add("? {}\n: x")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := settings.Parse("x.yaml", []byte(text))
		if err != nil {
			var wrong *settings.Error
			require.ErrorAs(t, err, &wrong)
			require.NotEmpty(t, wrong.Problems)
		}
	})
}
