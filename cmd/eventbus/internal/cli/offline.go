package cli

import (
	"context"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus"
)

// errNoServer is what the bus of offline meets in place of a server.
var errNoServer = errors.New("no server is asked")

// offline has what was typed checked by the bus's own rules, before any server is
// asked: call is made on a bus that reaches none, and finds what is wrong before
// that.
func offline(call func(bus *eventbus.Bus) error) error {
	rdb := redis.NewClient(&redis.Options{
		DialerRetries: 1,
		Dialer:        func(context.Context, string, string) (net.Conn, error) { return nil, errNoServer },
	})
	bus, err := eventbus.New(rdb, eventbus.Config{})
	if err == nil {
		err = call(bus)
		_ = bus.Close() // neither has a connection whose closing could fail
	}
	_ = rdb.Close()
	if errors.Is(err, errNoServer) {
		return nil
	}
	return err
}

// checkMessage has a message checked.
func checkMessage(ctx context.Context, topic string, m eventbus.Message) error {
	return offline(func(bus *eventbus.Bus) error {
		_, err := bus.SendBatch(ctx, topic, []eventbus.Message{m})
		return err
	})
}

// checkNames has namespace and group checked.
func checkNames(cfg eventbus.Config) error {
	rdb := redis.NewClient(&redis.Options{})
	bus, err := eventbus.New(rdb, cfg)
	if err == nil {
		err = bus.Close()
	}
	if wrong := arguments(err); len(wrong) > 0 {
		err = nil
		for _, w := range wrong { // without the bus, which nobody has asked for
			err = errors.Join(err, w)
		}
	}
	return errors.Join(err, rdb.Close())
}
