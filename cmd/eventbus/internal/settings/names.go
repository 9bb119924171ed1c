package settings

import (
	"context"
	"errors"
	"strings"

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

// keyOf names the file's key for a field of the bus's arguments.
var keyOf = map[string]string{
	"Namespace":  "namespace",
	"Group":      "group",
	"topic":      "name",
	"handler id": "id",
	"QueueKey":   "queue_key",
}

// inKeys is the text of an error in the words of the file.
func inKeys(err error) string {
	text := err.Error()
	var wrong *eventbus.ArgumentError
	if errors.As(err, &wrong) {
		field := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]
		if key := keyOf[field]; key != "" {
			text = strings.Replace(text, "invalid "+wrong.Field, "invalid "+key, 1)
		}
	}
	return text
}

// argument returns the part of err that says which argument is wrong and what
// would be right, in the words of the file.
func argument(err error) error {
	var wrong *eventbus.ArgumentError
	if !errors.As(err, &wrong) {
		return nil
	}
	said := *wrong
	if key := keyOf[wrong.Field]; key != "" {
		said.Field = key
	}
	return &said
}
