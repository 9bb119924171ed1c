package settings

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus"
)

// names checks names by the bus's own rule, which is the same everywhere: it
// asks a bus that is never connected.
type names struct {
	rdb *redis.Client
	bus *eventbus.Bus
}

func newNames() *names {
	rdb := redis.NewClient(&redis.Options{})
	bus, err := eventbus.New(rdb, eventbus.Config{})
	if err != nil {
		panic(err) // the default settings are right
	}
	return &names{rdb: rdb, bus: bus}
}

func (c *names) close() {
	// neither has a connection whose closing could fail
	_ = c.bus.Close()
	_ = c.rdb.Close()
}

// handler checks the name of a topic and the id and settings of a handler.
func (c *names) handler(topic, id string, cfg eventbus.HandleConfig) error {
	return argument(c.bus.TryHandle(topic, id, eventbus.HandleFunc(func(context.Context, *eventbus.Event) error { return nil }), cfg))
}

func (c *names) topic(name string) error { return c.handler(name, "any", eventbus.HandleConfig{}) }

// config checks the names of namespace and group.
func (c *names) config(cfg eventbus.Config) error {
	bus, err := eventbus.New(c.rdb, cfg)
	if err != nil {
		return argument(err)
	}
	return bus.Close()
}

// argument returns the part of err that says which argument is wrong and what
// would be right.
func argument(err error) error {
	var wrong *eventbus.ArgumentError
	if errors.As(err, &wrong) {
		return wrong
	}
	return nil
}
