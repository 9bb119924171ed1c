package admin

import (
	"context"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// ListHandlers implements API.
func (c *Client) ListHandlers(ctx context.Context, topic, group string, page Page) (HandlerPage, error) {
	p, err := ask(ctx, c, func(ctx context.Context, conn *clientConn) (*thriftbus.HandlerPage, error) {
		return conn.admin.ListHandlers(ctx, topic, group, toPage(page))
	})
	if err != nil {
		return HandlerPage{}, err
	}
	return HandlerPage{Handlers: each(p.Handlers, fromHandler), Next: p.NextCursor}, nil
}

func handlerRef(topic, group, id string) *thriftbus.HandlerRef {
	return &thriftbus.HandlerRef{Topic: topic, Group: group, ID: id}
}

// GetHandler implements API.
func (c *Client) GetHandler(ctx context.Context, topic, group, id string) (eventbus.HandlerInfo, error) {
	h, err := ask(ctx, c, func(ctx context.Context, conn *clientConn) (*thriftbus.Handler, error) {
		return conn.admin.GetHandler(ctx, handlerRef(topic, group, id))
	})
	if err != nil {
		return eventbus.HandlerInfo{}, err
	}
	return fromHandler(h), nil
}

// UpdateHandler implements API.
func (c *Client) UpdateHandler(ctx context.Context, topic, group, id string, u eventbus.HandlerUpdate) (int64, error) {
	return ask(ctx, c, func(ctx context.Context, conn *clientConn) (int64, error) {
		return conn.admin.UpdateHandler(ctx, handlerRef(topic, group, id), toHandlerUpdate(u))
	})
}

// EnableHandler implements API.
func (c *Client) EnableHandler(ctx context.Context, topic, group, id string) error {
	return tell(ctx, c, func(ctx context.Context, conn *clientConn) error {
		return conn.admin.EnableHandler(ctx, handlerRef(topic, group, id))
	})
}

// DisableHandler implements API.
func (c *Client) DisableHandler(ctx context.Context, topic, group, id string) error {
	return tell(ctx, c, func(ctx context.Context, conn *clientConn) error {
		return conn.admin.DisableHandler(ctx, handlerRef(topic, group, id))
	})
}

// ResetHandler implements API.
func (c *Client) ResetHandler(ctx context.Context, topic, group, id string) error {
	return tell(ctx, c, func(ctx context.Context, conn *clientConn) error {
		return conn.admin.ResetHandler(ctx, handlerRef(topic, group, id))
	})
}
