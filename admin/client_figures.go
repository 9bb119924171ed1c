package admin

import (
	"context"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// Stats implements API.
func (c *Client) Stats(ctx context.Context, topic string) ([]eventbus.Stats, error) {
	all, err := ask(ctx, c, func(ctx context.Context, conn *clientConn) ([]*thriftbus.Stats, error) {
		return conn.admin.GetStats(ctx, topic)
	})
	return each(all, fromStats), err
}

// ListConsumers implements API.
func (c *Client) ListConsumers(ctx context.Context, page Page) (ConsumerPage, error) {
	p, err := ask(ctx, c, func(ctx context.Context, conn *clientConn) (*thriftbus.ConsumerPage, error) {
		return conn.admin.ListConsumers(ctx, toPage(page))
	})
	if err != nil {
		return ConsumerPage{}, err
	}
	return ConsumerPage{Consumers: each(p.Consumers, fromConsumer), Next: p.NextCursor}, nil
}
