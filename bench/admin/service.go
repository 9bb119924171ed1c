package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
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
	rdb := redis.NewClient(&redis.Options{Addr: address, PoolSize: 64})
	service, err := admin.New(rdb, eventbus.Config{})
	if err != nil {
		return err
	}
	s, err := admin.Listen(service, admin.ServerConfig{Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	fmt.Println(s.Addr())
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // it ends when whoever started the process does
		stop()
	}()
	return errors.Join(s.Serve(ctx), service.Close(), rdb.Close())
}

// service is the process of the admin service.
type service struct {
	address string
	stop    func() error
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
	return &service{address: strings.TrimSpace(line), stop: func() error { return errors.Join(in.Close(), c.Wait()) }}, nil
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
		t := thrift.NewTFramedTransportConf(thrift.NewTSocketConf(s.address, cfg), cfg)
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
