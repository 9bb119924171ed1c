package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/seed4933/eventbus/eventbus"
)

// checkAttributes looks at what is sent beside the payload, and at when: whether it
// is right, which needs no server, and then whether the topic keeps it.
func (s *sending) checkAttributes(c *cobra.Command, bus *session) error {
	var given []string
	for _, name := range []string{"id", "header", "content-type"} {
		if c.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) == 0 && s.delay <= 0 && s.at.IsZero() {
		return nil
	}
	m := s.message
	m.Value = eventbus.Raw{ContentType: s.contentType}
	if err := checkMessage(c.Context(), s.topic, m); err != nil || len(given) == 0 {
		return err
	}
	// A topic keeps its wire for life, so that this holds until the event is sent.
	t, err := bus.bus.Topics().Get(c.Context(), s.topic)
	if err != nil {
		return partOf(fmt.Sprintf("send to topic %q", s.topic), err)
	}
	if t.Wire == eventbus.WireRaw {
		return wrongUsage("topic %s has wire raw, which keeps the payload alone; leave out %s", s.topic, strings.Join(given, ", "))
	}
	return nil
}

// errNoServer is what the bus of checkMessage meets in place of a server.
var errNoServer = errors.New("no server is asked")

// checkMessage has a message checked by the bus's own rules: it sends it by a bus
// that reaches no server, which finds what is wrong before that.
func checkMessage(ctx context.Context, topic string, m eventbus.Message) error {
	rdb := redis.NewClient(&redis.Options{
		DialerRetries: 1,
		Dialer:        func(context.Context, string, string) (net.Conn, error) { return nil, errNoServer },
	})
	bus, err := eventbus.New(rdb, eventbus.Config{})
	if err == nil {
		_, err = bus.SendBatch(ctx, topic, []eventbus.Message{m})
		_ = bus.Close() // neither has a connection whose closing could fail
	}
	_ = rdb.Close()
	if errors.Is(err, errNoServer) {
		return nil
	}
	return err
}
