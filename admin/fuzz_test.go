package admin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"reflect"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// refusing fails every call there is.
type refusing struct{ failing }

func (f *refusing) ListTopics(context.Context, admin.Page) (admin.TopicPage, error) {
	return admin.TopicPage{}, f.err()
}
func (f *refusing) ListConsumers(context.Context, admin.Page) (admin.ConsumerPage, error) {
	return admin.ConsumerPage{}, f.err()
}
func (f *refusing) GetJob(context.Context, string) (admin.Job, error)    { return admin.Job{}, f.err() }
func (f *refusing) CancelJob(context.Context, string) (admin.Job, error) { return admin.Job{}, f.err() }

// recorded is the bytes of the calls that are made of a generated client, each with
// its arguments and with none.
type recorded struct {
	service  string
	protocol func(thrift.TTransport) thrift.TProtocol
	all      [][]byte
}

func (r *recorded) Call(ctx context.Context, method string, args, _ thrift.TStruct) (thrift.ResponseMeta, error) {
	for _, a := range []thrift.TStruct{args, &thriftbus.EventAdminPingArgs{}} {
		b := thrift.NewTMemoryBuffer()
		p := r.protocol(b)
		err := errors.Join(p.WriteMessageBegin(ctx, r.service+":"+method, thrift.CALL, 1), a.Write(ctx, p), p.WriteMessageEnd(ctx), p.Flush(ctx))
		if err != nil {
			return thrift.ResponseMeta{}, err
		}
		if b.Len() < 10_000 {
			r.all = append(r.all, b.Bytes())
		}
	}
	return thrift.ResponseMeta{}, io.EOF // nobody answers
}

// calls returns one call of each method for each of its places, with a short text there.
func calls() (all [][]byte) {
	binary := func(t thrift.TTransport) thrift.TProtocol { return thrift.NewTBinaryProtocolConf(t, nil) }
	compact := func(t thrift.TTransport) thrift.TProtocol { return thrift.NewTCompactProtocolConf(t, nil) }
	for _, protocol := range []func(thrift.TTransport) thrift.TProtocol{binary, compact} {
		for service, client := range map[string]func(c thrift.TClient) any{
			"EventAdmin": func(c thrift.TClient) any { return thriftbus.NewEventAdminClient(c) },
			"EventBus":   func(c thrift.TClient) any { return thriftbus.NewEventBusClient(c) },
		} {
			r := &recorded{service: service, protocol: protocol}
			of := map[string]reflect.Type{"EventAdmin": reflect.TypeFor[thriftbus.EventAdmin](), "EventBus": reflect.TypeFor[thriftbus.EventBus]()}[service]
			for i := range of.NumMethod() {
				for _, p := range append(places(of.Method(i)), place{fill: func([]reflect.Value, string) {}}) {
					args := largeArguments(context.Background(), of.Method(i))
					p.fill(args, "text")
					reflect.ValueOf(client(r)).MethodByName(of.Method(i).Name).Call(args)
				}
			}
			all = append(all, r.all...)
		}
	}
	return all
}

// FuzzCalls sends bytes to the server: whatever arguments they are, it survives them,
// and its log stays short.
func FuzzCalls(f *testing.F) {
	for _, b := range calls() {
		f.Add(b)
	}
	api := &refusing{}
	api.with.Store(fmt.Errorf("on purpose"))
	line := &longestLine{}
	failed := make(chan string, 1) // what the log has said of a panic
	log := slog.New(slog.NewTextHandler(line, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "stack" {
			select {
			case failed <- a.Value.String():
			default:
			}
		}
		return a
	}}))
	server, err := admin.Listen(api, admin.ServerConfig{Listen: "127.0.0.1:0", Logger: log})
	require.NoError(f, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	f.Cleanup(func() {
		stop()
		require.NoError(f, <-served)
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := net.Dial("tcp", server.Addr().String())
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
		_, _ = c.Write(b) // the server may close before it has taken all
		_ = c.(*net.TCPConn).CloseWrite()
		_, err = io.Copy(io.Discard, c)
		var timeout net.Error
		require.False(t, errors.As(err, &timeout) && timeout.Timeout(), "it hangs")
		select {
		case stack := <-failed:
			require.Fail(t, "it panicked", stack)
		default:
		}
		require.Less(t, line.Load(), int64(maxLine))
	})
}
