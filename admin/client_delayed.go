package admin

import (
	"context"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/idl"
)

// ListDelayed implements API.
func (c *Client) ListDelayed(ctx context.Context, topic, group string, q eventbus.DelayedQuery) (eventbus.DelayedPage, error) {
	p, err := ask(ctx, c, func(ctx context.Context, conn *clientConn) (*thriftbus.DelayedPage, error) {
		return conn.admin.ListDelayed(ctx, topic, group, toPage(Page{Limit: q.Limit, Cursor: q.Cursor}))
	})
	if err != nil {
		return eventbus.DelayedPage{}, err
	}
	return eventbus.DelayedPage{Events: each(p.Events, fromDelayed), Next: p.NextCursor}, nil
}

// CancelDelayed implements API.
func (c *Client) CancelDelayed(ctx context.Context, topic, id string) ([]string, error) {
	return ask(ctx, c, func(ctx context.Context, conn *clientConn) ([]string, error) {
		return conn.admin.CancelDelayed(ctx, topic, id)
	})
}

// ListUnreadable implements API.
func (c *Client) ListUnreadable(ctx context.Context, topic, group string, most int) (eventbus.UnreadableEvents, error) {
	u, err := ask(ctx, c, func(ctx context.Context, conn *clientConn) (*thriftbus.UnreadableEvents, error) {
		return conn.admin.ListUnreadable(ctx, topic, group, idl.Int32(most))
	})
	if err != nil {
		return eventbus.UnreadableEvents{}, err
	}
	return eventbus.UnreadableEvents{Total: u.Total, Members: nilIfEmpty(u.Members), List: u.ListKey}, nil
}
