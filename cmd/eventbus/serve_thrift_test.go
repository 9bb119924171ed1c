package main

import (
	"context"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// hosted is a handler in another process.
type hosted func(event *thriftbus.Event) *thriftbus.HandleResult_

func (f hosted) Handle(_ context.Context, event *thriftbus.Event) (*thriftbus.HandleResult_, error) {
	return f(event), nil
}

// host serves a handler without frames and under a name, and returns where.
func (b *bed) host(service string, handle hosted) (address string) {
	b.t.Helper()
	socket, err := thrift.NewTServerSocket("127.0.0.1:0")
	require.NoError(b.t, err)
	require.NoError(b.t, socket.Listen())
	processor := thrift.NewTMultiplexedProcessor()
	processor.RegisterProcessor(service, thriftbus.NewEventHandlerProcessor(handle))
	server := thrift.NewTSimpleServer4(processor, socket, thrift.NewTBufferedTransportFactory(4096), thrift.NewTCompactProtocolFactoryConf(nil))
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve() })
	b.t.Cleanup(func() {
		require.NoError(b.t, server.Stop())
		served.Wait()
	})
	return socket.Addr().String()
}

// A handler of type thrift hands events to another process, which says what
// becomes of them.
func TestServeThrift(t *testing.T) {
	b := setup(t)
	got := make(chan *thriftbus.Event, 10)
	address := b.host("Billing", func(event *thriftbus.Event) *thriftbus.HandleResult_ {
		got <- event
		if string(event.Payload) == "bad" {
			return &thriftbus.HandleResult_{Outcome: thriftbus.Outcome_REJECT, Message: thrift.StringPtr("no such customer")}
		}
		return &thriftbus.HandleResult_{Outcome: thriftbus.Outcome_DONE}
	})
	p := b.serving(`
topics:
  - name: orders
    handlers:
      - {id: bill, type: thrift, address: "` + address + `", framed: false, protocol: compact, service: Billing}
`)
	id := strings.TrimSpace(b.ok("send", "orders", "--data", `{"n":130775545883395173}`, "--header", "tenant=7"))
	event := within(b, got, "the call")
	require.Equal(t, id, event.ID)
	require.Equal(t, "orders bill 1 0", strings.Join([]string{event.Topic, event.Handler, string('0' + rune(event.Attempt)), string('0' + rune(event.Deliveries))}, " "))
	require.Equal(t, `{"n":130775545883395173}`, string(event.Payload))
	require.Equal(t, map[string]string{"tenant": "7"}, event.Headers)

	b.ok("send", "orders", "--data", "bad")
	within(b, got, "the second call")
	b.eventually("it is dead", func() bool {
		return strings.Contains(b.ok("failures", "list", "orders", "-o", "json"), "answered REJECT: no such customer")
	})
	show := b.ok("handler", "show", "orders", "bill", "-o", "json")
	require.Contains(t, show, `"breaker_failures":5`, "it has a breaker")
	p.stopped(syscall.SIGTERM)
}

// Where nobody serves the handler its attempts fail with a text that says so, and
// after five of them its breaker opens.
func TestServeThriftNobodyThere(t *testing.T) {
	b := setup(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	p := b.serving(`
topics:
  - name: orders
    handlers:
      - {id: bill, type: thrift, address: "` + address + `", retry: {max_attempts: 1}}
`)
	b.okIn("1\n2\n3\n4\n5\n", "send", "orders", "--lines", "-")
	require.Contains(t, p.err.until("a circuit breaker has opened"), "handler=bill open=30s")
	b.eventually("five are dead", func() bool {
		return strings.Contains(b.ok("stats", "orders", "-o", "json", "--interval", "0"), `"dead":5`)
	})
	require.Equal(t, 5, strings.Count(b.ok("failures", "list", "orders", "-o", "json"),
		"call handler at "+address+": connect: dial tcp "+address+": connect: connection refused; nothing listens there: start the process that serves EventHandler"))
	p.stopped(syscall.SIGTERM)
}

// Files that are not there are told with the handler's line, and nothing begins.
func TestServeThriftRefuses(t *testing.T) {
	b := setup(t)
	said := b.fails(1, "serve", "--http", "", "--config", b.file("x.yaml", `topics:
  - name: orders
    handlers:
      - {id: bill, type: thrift, address: "127.0.0.1:1", tls: {ca: none.pem}}
`))
	require.Contains(t, said, `x.yaml:4: handler "bill": read tls.ca: open none.pem: no such file or directory`)
	require.NotContains(t, b.ok("topic", "list"), "orders")
}
