package main

import (
	"context"
	"log"
	"os"

	"github.com/redis/go-redis/v9"
	"github.com/seed4933/eventbus/eventbus"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // localhost:6379 when empty
	bus, err := eventbus.New(rdb, eventbus.Config{Group: "billing", AutoCreateTopics: true})
	if err != nil {
		log.Fatal(err)
	}
	bus.Handle("user.registered", "welcome-mail", eventbus.Typed(func(_ context.Context, name string) error {
		defer stop()                           // a service would go on
		return log.Output(1, "welcome, "+name) // an error would be retried, and kept when that does not help
	}))
	_, err = bus.Send(ctx, "user.registered", "Ada")
	log.Println("sent, ran, closed:", err, bus.Run(ctx), bus.Close())
}
