package admin_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/eventbus/eventbustest"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// A service that runs a bus offers its administration, too, until it is told to
// end.
func ExampleServe() {
	rdb, end := eventbustest.Redis() // in a program: redis.NewClient(&redis.Options{Addr: …})
	defer end()
	ctx, stop := context.WithCancel(context.Background()) // or signal.NotifyContext
	service, err := admin.New(rdb, eventbus.Config{})
	check(err)
	stop() // a service would go on
	check(admin.Serve(ctx, service, admin.ServerConfig{Listen: "127.0.0.1:0"}))
	check(service.Close())
	fmt.Println("served until the end")
	// Output: served until the end
}

// Listen tells the address before it is served, and a Client does through it what
// the Service does.
func ExampleListen() {
	rdb, end := eventbustest.Redis()
	defer end()
	service, err := admin.New(rdb, eventbus.Config{})
	check(err)
	server, err := admin.Listen(service, admin.ServerConfig{Listen: "127.0.0.1:0", Token: "s3cret", Logger: slog.New(slog.DiscardHandler)})
	check(err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- server.Serve(ctx) }()

	client, err := admin.NewClient(admin.ClientConfig{Address: server.Addr().String(), Token: "s3cret"})
	check(err)
	check(client.CreateTopic(ctx, "orders", eventbus.TopicConfig{MaxWaiting: 1000}))
	topic, err := client.GetTopic(ctx, "orders")
	check(err)
	fmt.Println(topic.Name, "takes", topic.MaxWaiting)
	check(client.Close())

	stop()
	check(<-served)
	check(service.Close())
	// Output: orders takes 1000
}
