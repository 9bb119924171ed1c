package admin

import (
	"context"
	"fmt"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// SendBatch implements API. Values are marshalled here.
func (c *Client) SendBatch(ctx context.Context, topic string, messages []eventbus.Message) ([]string, error) {
	if n := len(messages); n > eventbus.MaxBatch {
		return nil, fmt.Errorf("send to topic %q: %w", topic, &eventbus.ArgumentError{
			Field: "messages", Value: fmt.Sprint(n), Reason: fmt.Sprintf("a batch has at most %d events; send several", eventbus.MaxBatch),
		})
	}
	batch := make([]*thriftbus.Message, len(messages))
	for i, m := range messages {
		var err error
		batch[i], err = toMessage(m)
		if err != nil && len(messages) > 1 {
			err = fmt.Errorf("event %d of %d: %w", i+1, len(messages), err)
		}
		if err != nil {
			return nil, fmt.Errorf("send to topic %q: %w", topic, err)
		}
	}
	ids, err := ask(ctx, c, func(ctx context.Context, conn *clientConn) ([]string, error) {
		return conn.bus.SendBatch(ctx, topic, batch)
	})
	return nilIfEmpty(ids), err
}
