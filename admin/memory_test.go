package admin_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/redistest"
)

const (
	// maxGrowth is how much memory one message may take, garbage included.
	maxGrowth = 50 << 20
	// maxSent is the same for events that are sent, which stand there up to four times
	// until they are collected: as they came, as the bus has them, and in an envelope,
	// as base64 a third longer.
	maxSent = 96 << 20
	// maxLine is how long a line of the log may be: some values of a kibibyte, each
	// byte of which takes four in quotes.
	maxLine = 20 << 10
	// largest is what the strings of a message may have together.
	largest = 16_384_000 - 1_000
	// mostElements is what a list may have.
	mostElements = 10_000
)

// longestLine is a log that remembers only how long its longest line was.
type longestLine struct{ atomic.Int64 }

func (l *longestLine) Write(p []byte) (int, error) {
	l.Store(max(l.Load(), int64(len(p)))) // the handler writes one line after another
	return len(p), nil
}

// serveMeasured is a server in a process of its own, on the Redis at REDIS. It prints
// its address, and that of an HTTP server that tells by how much its memory has grown
// at most since it was asked last, and how long the longest line of its log was.
func serveMeasured() {
	ok := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	s, err := admin.New(redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS")}), eventbus.Config{})
	ok(err)
	line := &longestLine{}
	log := slog.New(slog.NewTextHandler(line, &slog.HandlerOptions{Level: slog.LevelDebug}))
	server, err := admin.Listen(s, admin.ServerConfig{Listen: "127.0.0.1:0", Logger: log})
	ok(err)
	inUse := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse + m.StackInuse)
	}
	var mu sync.Mutex
	before := inUse()
	peak := before
	look := func() {
		mu.Lock()
		defer mu.Unlock()
		peak = max(peak, inUse())
	}
	go func() {
		for range time.Tick(5 * time.Millisecond) {
			look()
		}
	}()
	control := admin.NewHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		look()
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Fprint(w, peak-before, line.Swap(0)) // the test would miss it
		runtime.GC()
		runtime.GC() // what pools hold goes with the second
		before = inUse()
		peak = before
	}), log)
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	ok(err)
	go func() { ok(control.Serve(listener)) }()
	fmt.Printf("%s\n%s\n", server.Addr(), listener.Addr())
	ok(server.Serve(context.Background()))
}

// measured starts such a server. measure tells by how many bytes its memory has grown at
// most since the last time, and how long the longest line of its log was.
func measured(t *testing.T, redisAddr string) (address string, measure func() (grown, line int64)) {
	t.Helper()
	process := redistest.RunSelf(t, "measured", "REDIS="+redisAddr)
	address, control := <-process.Lines(), <-process.Lines()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	overHTTP := &http.Client{Transport: transport}
	return address, func() (grown, line int64) {
		answer, err := overHTTP.Get("http://" + control)
		require.NoError(t, err)
		defer answer.Body.Close()
		_, err = fmt.Fscan(answer.Body, &grown, &line)
		require.NoError(t, err)
		return grown, line
	}
}

// place is a place in the arguments of a method in which much can stand.
type place struct {
	name string
	fill func(args []reflect.Value, with string)
}

// places returns all of them for a method.
func places(method reflect.Method) (all []place) {
	for i := 1; i < method.Type.NumIn(); i++ { // after the context
		for _, p := range placesIn(method.Type.In(i)) {
			all = append(all, place{fmt.Sprintf("%s %d%s", method.Name, i, p.name), func(args []reflect.Value, with string) { p.fill(args[i], with) }})
		}
	}
	return all
}

// placeIn is a place in a value.
type placeIn struct {
	name string
	fill func(v reflect.Value, with string)
}

func placesIn(t reflect.Type) (all []placeIn) {
	switch t.Kind() {
	case reflect.String:
		all = append(all, placeIn{"", func(v reflect.Value, with string) { v.SetString(with) }})
	case reflect.Pointer:
		for _, p := range placesIn(t.Elem()) {
			all = append(all, placeIn{p.name, func(v reflect.Value, with string) {
				if v.IsNil() {
					v.Set(plain(t, 0))
				}
				p.fill(v.Elem(), with)
			}})
		}
	case reflect.Struct:
		for i := range t.NumField() {
			for _, p := range placesIn(t.Field(i).Type) {
				all = append(all, placeIn{"." + t.Field(i).Name + p.name, func(v reflect.Value, with string) { p.fill(v.Field(i), with) }})
			}
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return []placeIn{{"", func(v reflect.Value, with string) { v.SetBytes([]byte(with)) }}}
		}
		sizes := []int{1, mostElements}
		if t.Elem() == reflect.TypeFor[*thriftbus.Message]() {
			sizes = append(sizes, eventbus.MaxBatch)
		}
		for _, p := range placesIn(t.Elem()) {
			for _, n := range sizes {
				all = append(all, placeIn{fmt.Sprintf("[%d]%s", n, p.name), func(v reflect.Value, with string) {
					v.Set(reflect.MakeSlice(t, n, n))
					for i := range n {
						v.Index(i).Set(plain(t.Elem(), i))
						p.fill(v.Index(i), with[:max(len(with)/n-100, 0)])
					}
				}})
			}
		}
	case reflect.Map: // of strings
		for _, most := range []int{1, mostElements} {
			all = append(all, placeIn{fmt.Sprintf("{%d}", most), func(v reflect.Value, with string) {
				v.Set(reflect.MakeMap(t))
				n := max(min(most, len(with)/1000), 1)
				for i := range n {
					text := with[:max(len(with)/n/2-20, 0)]
					v.SetMapIndex(reflect.ValueOf(fmt.Sprint(i, text)), reflect.ValueOf(text))
				}
			}})
		}
	}
	return all
}

// plain is a value that is right, if there is one: the i-th in a list.
func plain(t reflect.Type, i int) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(plain(t.Elem(), i))
	case reflect.Struct:
		for f := range t.NumField() {
			switch field := v.Field(f); t.Field(f).Name {
			case "Topic":
				field.SetString(topic)
			case "Name", "ID":
				if field.Kind() == reflect.String {
					field.SetString(fmt.Sprint("n", i))
				}
			case "Payload":
				field.SetBytes([]byte("1"))
			}
		}
	}
	return v
}

// largeArguments are such of a method; a text that comes first names the topic.
func largeArguments(ctx context.Context, method reflect.Method) []reflect.Value {
	args := []reflect.Value{reflect.ValueOf(ctx)}
	for i := 1; i < method.Type.NumIn(); i++ {
		args = append(args, plain(method.Type.In(i), 0))
		if i == 1 && args[i].Kind() == reflect.String {
			args[i].SetString(topic)
		}
	}
	return args
}

// One well-formed message, as large as can be and of any kind, costs no more than its
// bounded share of memory, and the log is told of it in a short line.
func TestNoMessageCostsMuch(t *testing.T) {
	t.Parallel()
	address, measure := measured(t, redistest.Start(t, redistest.Options{}).Addr())
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	overHTTP := &http.Client{Transport: transport}
	require.NoError(t, client(t, admin.ClientConfig{Address: address}).CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))

	conf := &thrift.TConfiguration{MaxFrameSize: 1 << 28}
	connections := map[string]func() (thrift.TTransport, error){
		"framed": func() (thrift.TTransport, error) {
			return thrift.NewTFramedTransportConf(thrift.NewTSocketConf(address, conf), conf), nil
		},
		"HTTP": func() (thrift.TTransport, error) {
			return thrift.NewTHttpClientWithOptions("http://"+address+"/thrift", thrift.THttpClientOptions{Client: overHTTP})
		},
	}
	// call makes a call, and returns how the server has answered it.
	call := func(connect func() (thrift.TTransport, error), service string, method reflect.Method, args []reflect.Value) error {
		over, err := connect()
		require.NoError(t, err)
		require.NoError(t, over.Open())
		defer over.Close()
		p := thrift.NewTMultiplexedProtocol(thrift.NewTBinaryProtocolConf(over, conf), service)
		var c any = thriftbus.NewEventAdminClient(thrift.NewTStandardClient(p, p))
		if service == "EventBus" {
			c = thriftbus.NewEventBusClient(thrift.NewTStandardClient(p, p))
		}
		out := reflect.ValueOf(c).MethodByName(method.Name).Call(args)
		err, _ = out[len(out)-1].Interface().(error)
		return err
	}
	filler := map[string]string{"framed": "\x01", "HTTP": "\xff"}
	calls := 0
	for service, of := range map[string]reflect.Type{"EventAdmin": reflect.TypeFor[thriftbus.EventAdmin](), "EventBus": reflect.TypeFor[thriftbus.EventBus]()} {
		for i := range of.NumMethod() {
			method := of.Method(i)
			for _, p := range places(method) {
				for over, connect := range connections {
					args := largeArguments(t.Context(), method)
					p.fill(args, strings.Repeat(filler[over], largest))
					measure()
					err := call(connect, service, method, args)
					what := fmt.Sprintf("%s over %s, filled with %q: %.200v", p.name, over, filler[over], err)
					require.False(t, errors.As(err, new(thrift.TTransportException)), what)
					grown, line := measure()
					most := int64(maxGrowth)
					if err == nil && strings.HasSuffix(p.name, "Payload") {
						most = maxSent
					}
					require.Less(t, grown, most, what)
					require.Less(t, line, int64(maxLine), what)
					calls++
				}
			}
		}
	}
	require.Greater(t, calls, 150)
}
