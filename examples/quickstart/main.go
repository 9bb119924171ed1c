package main

import (
	"context"
	"fmt"
	"os"

	"github.com/redis/go-redis/v9"
	"github.com/seed4933/eventbus/eventbus"
)

type User struct{ Name, Email string }

func main() {
	ctx, stop := context.WithCancel(context.Background())
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // localhost:6379 when empty
	bus, err := eventbus.New(rdb, eventbus.Config{Group: "billing", AutoCreateTopics: true})
	check(err)
	bus.Handle("user.registered", "welcome-mail", eventbus.Typed(func(ctx context.Context, u User) error {
		fmt.Println("welcome,", u.Name)
		stop()     // a service would go on
		return nil // an error would be retried, and kept when that does not help
	}))
	_, err = bus.Send(ctx, "user.registered", User{"Ada", "ada@example.org"})
	check(err)
	check(bus.Run(ctx)) // until ctx ends
	check(bus.Close())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
