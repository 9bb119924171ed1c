package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// ListTopics implements API.
func (c *Client) ListTopics(ctx context.Context, page Page) (TopicPage, error) {
	p, err := ask(ctx, c, func(ctx context.Context, conn *clientConn) (*thriftbus.TopicPage, error) {
		return conn.admin.ListTopics(ctx, toPage(page))
	})
	if err != nil {
		return TopicPage{}, err
	}
	return TopicPage{Topics: each(p.Topics, fromTopic), Deleting: nilIfEmpty(p.Deleting), Unreadable: nilIfEmpty(p.Unreadable), Next: p.NextCursor}, nil
}

// GetTopic implements API.
func (c *Client) GetTopic(ctx context.Context, topic string) (eventbus.Topic, error) {
	return c.topic(ctx, func(ctx context.Context, conn *clientConn) (*thriftbus.Topic, error) {
		return conn.admin.GetTopic(ctx, topic)
	})
}

// topic carries out a call that returns a topic.
func (c *Client) topic(ctx context.Context, do func(ctx context.Context, conn *clientConn) (*thriftbus.Topic, error)) (eventbus.Topic, error) {
	t, err := ask(ctx, c, do)
	if err != nil {
		return eventbus.Topic{}, err
	}
	return fromTopic(t), nil
}

// CreateTopic implements API.
func (c *Client) CreateTopic(ctx context.Context, topic string, cfg eventbus.TopicConfig) error {
	if err := errors.Join(deliveries.known("Delivery", cfg.Delivery), wires.known("Wire", cfg.Wire)); err != nil {
		return fmt.Errorf("create topic %q: %w", topic, err)
	}
	_, err := c.topic(ctx, func(ctx context.Context, conn *clientConn) (*thriftbus.Topic, error) {
		return conn.admin.CreateTopic(ctx, topic, toSettings(cfg))
	})
	return err
}

// UpdateTopic implements API.
func (c *Client) UpdateTopic(ctx context.Context, topic string, u eventbus.TopicUpdate) (int64, error) {
	if err := deliveries.known("Delivery", deref(u.Delivery)); err != nil {
		return 0, fmt.Errorf("change topic %q: %w", topic, err)
	}
	t, err := c.topic(ctx, func(ctx context.Context, conn *clientConn) (*thriftbus.Topic, error) {
		return conn.admin.UpdateTopic(ctx, topic, toTopicUpdate(u))
	})
	return t.Revision, err
}

// DeleteTopic implements API.
func (c *Client) DeleteTopic(ctx context.Context, topic string) error {
	_, err := askWithin(ctx, c, 0, func(ctx context.Context, conn *clientConn) (nothing, error) {
		return nothing{}, conn.admin.DeleteTopic(ctx, topic)
	})
	return err
}

// EnableTopic implements API.
func (c *Client) EnableTopic(ctx context.Context, topic string) error {
	_, err := c.topic(ctx, func(ctx context.Context, conn *clientConn) (*thriftbus.Topic, error) {
		return conn.admin.EnableTopic(ctx, topic)
	})
	return err
}

// DisableTopic implements API.
func (c *Client) DisableTopic(ctx context.Context, topic string) error {
	_, err := c.topic(ctx, func(ctx context.Context, conn *clientConn) (*thriftbus.Topic, error) {
		return conn.admin.DisableTopic(ctx, topic)
	})
	return err
}

// AddGroup implements API.
func (c *Client) AddGroup(ctx context.Context, topic string, g eventbus.GroupConfig) error {
	_, err := c.topic(ctx, func(ctx context.Context, conn *clientConn) (*thriftbus.Topic, error) {
		return conn.admin.AddGroup(ctx, topic, toGroup(g))
	})
	return err
}

// RemoveGroup implements API.
func (c *Client) RemoveGroup(ctx context.Context, topic, group string) error {
	_, err := askWithin(ctx, c, 0, func(ctx context.Context, conn *clientConn) (*thriftbus.Topic, error) {
		return conn.admin.RemoveGroup(ctx, topic, group)
	})
	return err
}
