package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// childVariable makes the program the service, on the Redis whose address it holds.
const childVariable = "BENCH_ADMIN_REDIS"

// serve is the service's process: it prints its address, and ends with its stdin.
func serve(address string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	thrift.ServerConnectivityCheckInterval = 0 // as eventbus serve has it
	rdb := redis.NewClient(&redis.Options{Addr: address, PoolSize: 64})
	service, err := admin.New(rdb, eventbus.Config{})
	if err != nil {
		return err
	}
	s, err := admin.Listen(service, admin.ServerConfig{Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go echoAll(echo)
	fmt.Println(s.Addr(), echo.Addr())
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // it ends when whoever started the process does
		stop()
	}()
	return errors.Join(s.Serve(ctx), service.Close(), rdb.Close())
}

// echoAll says again what clients say: what a call costs without Thrift, the bus
// and Redis.
func echoAll(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(struct{ io.Writer }{conn}, struct{ io.Reader }{conn}) // not spliced by the kernel
			_ = conn.Close()
		}()
	}
}

// service is the process of the admin service.
type service struct {
	address, echoAddress string
	stop                 func() error
}

func start(ctx context.Context, redisAddress string) (*service, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, self)
	c.Env = append(os.Environ(), childVariable+"="+redisAddress)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the service did not start: %w", err), c.Wait())
	}
	address, echo, _ := strings.Cut(strings.TrimSpace(line), " ")
	return &service{address: address, echoAddress: echo, stop: func() error { return errors.Join(in.Close(), c.Wait()) }}, nil
}

// connect opens n connections as a Java client with TFramedTransport and
// TBinaryProtocol has them.
func (s *service) connect(n int, service string, use func(c thrift.TClient) caller) (calls []caller, end func() error, err error) {
	var open []thrift.TTransport
	end = func() error {
		var errs []error
		for _, t := range open {
			errs = append(errs, t.Close())
		}
		return errors.Join(errs...)
	}
	cfg := &thrift.TConfiguration{ConnectTimeout: 5 * time.Second, SocketTimeout: 30 * time.Second}
	for range n {
		// Java writes a frame in one piece; Go's transport does with a buffer below it.
		t := thrift.NewTFramedTransportConf(thrift.NewTBufferedTransport(thrift.NewTSocketConf(s.address, cfg), 4<<10), cfg)
		if err := t.Open(); err != nil {
			return nil, nil, errors.Join(err, end())
		}
		open = append(open, t)
		p := thrift.NewTMultiplexedProtocol(thrift.NewTBinaryProtocolConf(t, cfg), service)
		calls = append(calls, use(thrift.NewTStandardClient(p, p)))
	}
	return calls, end, nil
}

func (s *service) getTopic(n int) ([]caller, func() error, error) {
	return s.connect(n, "EventAdmin", func(c thrift.TClient) caller {
		client := thriftbus.NewEventAdminClient(c)
		return func(ctx context.Context) error { _, err := client.GetTopic(ctx, topic); return err }
	})
}

func (s *service) send(n, size int) ([]caller, func() error, error) {
	return s.connect(n, "EventBus", func(c thrift.TClient) caller {
		client := thriftbus.NewEventBusClient(c)
		message := &thriftbus.Message{Payload: payload(size)}
		return func(ctx context.Context) error { _, err := client.Send(ctx, topic, message); return err }
	})
}

// echo has as many bytes go to the service's process and back as a send has.
func (s *service) echo(n, size int) (calls []caller, end func() error, err error) {
	var open []net.Conn
	end = func() error {
		var errs []error
		for _, c := range open {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}
	for range n {
		c, err := net.Dial("tcp", s.echoAddress)
		if err != nil {
			return nil, nil, errors.Join(err, end())
		}
		open = append(open, c)
		message := payload(size)
		calls = append(calls, func(context.Context) error {
			if _, err := c.Write(message); err != nil {
				return err
			}
			_, err := io.ReadFull(c, message)
			return err
		})
	}
	return calls, end, nil
}

// apart sends as callers do that do not share a process: with a bus and a connection
// each.
func apart(address string, size int) func(n int) ([]caller, func() error, error) {
	return func(n int) (calls []caller, end func() error, err error) {
		var open []io.Closer
		end = func() error {
			var errs []error
			for _, c := range slices.Backward(open) {
				errs = append(errs, c.Close())
			}
			return errors.Join(errs...)
		}
		event := eventbus.Raw{Payload: payload(size)}
		for range n {
			rdb := redis.NewClient(&redis.Options{Addr: address})
			bus, err := eventbus.New(rdb, eventbus.Config{})
			if err != nil {
				return nil, nil, errors.Join(err, rdb.Close(), end())
			}
			open = append(open, rdb, bus)
			calls = append(calls, func(ctx context.Context) error { _, err := bus.Send(ctx, topic, event); return err })
		}
		return calls, end, nil
	}
}
