package admin

import (
	"context"
	"fmt"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// ListFailures implements API.
func (c *Client) ListFailures(ctx context.Context, topic, group string, q eventbus.FailureQuery) (eventbus.FailurePage, error) {
	if err := failureStates.known("state", q.State); err != nil {
		return eventbus.FailurePage{}, fmt.Errorf("list failures of topic %q, group %q: %w", topic, group, err)
	}
	p, err := ask(ctx, c, func(ctx context.Context, conn *clientConn) (*thriftbus.FailurePage, error) {
		return conn.admin.ListFailures(ctx, toFailureQuery(topic, group, q))
	})
	if err != nil {
		return eventbus.FailurePage{}, err
	}
	return eventbus.FailurePage{Failures: each(p.Failures, fromFailure), Next: p.NextCursor}, nil
}

// GetFailure implements API.
func (c *Client) GetFailure(ctx context.Context, topic, group, id string) (eventbus.Failure, error) {
	f, err := ask(ctx, c, func(ctx context.Context, conn *clientConn) (*thriftbus.Failure, error) {
		return conn.admin.GetFailure(ctx, topic, group, id)
	})
	if err != nil {
		return eventbus.Failure{}, err
	}
	return fromFailure(f), nil
}

// CountFailures implements API.
func (c *Client) CountFailures(ctx context.Context, topic, group string) (eventbus.FailureCount, error) {
	n, err := ask(ctx, c, func(ctx context.Context, conn *clientConn) (*thriftbus.FailureCount, error) {
		return conn.admin.CountFailures(ctx, topic, group)
	})
	if err != nil {
		return eventbus.FailureCount{}, err
	}
	return eventbus.FailureCount{Retrying: n.Retrying, Dead: n.Dead}, nil
}

// ReplayFailures implements API.
func (c *Client) ReplayFailures(ctx context.Context, topic, group string, filter eventbus.FailureFilter) (Job, error) {
	if err := checkFilter(JobReplay, topic, group, filter); err != nil {
		return Job{}, err
	}
	return c.job(ctx, func(ctx context.Context, conn *clientConn) (*thriftbus.Job, error) {
		return conn.admin.ReplayFailures(ctx, toSelection(topic, group, filter))
	})
}

// DiscardFailures implements API.
func (c *Client) DiscardFailures(ctx context.Context, topic, group string, filter eventbus.FailureFilter) (Job, error) {
	if err := checkFilter(JobDiscard, topic, group, filter); err != nil {
		return Job{}, err
	}
	return c.job(ctx, func(ctx context.Context, conn *clientConn) (*thriftbus.Job, error) {
		return conn.admin.DiscardFailures(ctx, toSelection(topic, group, filter))
	})
}
