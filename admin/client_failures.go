package admin

import (
	"context"
	"fmt"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/idl"
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

// job carries out a call that returns a job.
func (c *Client) job(ctx context.Context, do func(ctx context.Context, conn *clientConn) (*thriftbus.Job, error)) (Job, error) {
	j, err := ask(ctx, c, do)
	if err != nil {
		return Job{}, err
	}
	return fromJob(j), nil
}

// GetJob implements API.
func (c *Client) GetJob(ctx context.Context, id string) (Job, error) {
	return c.job(ctx, func(ctx context.Context, conn *clientConn) (*thriftbus.Job, error) { return conn.admin.GetJob(ctx, id) })
}

// CancelJob implements API.
func (c *Client) CancelJob(ctx context.Context, id string) (Job, error) {
	return c.job(ctx, func(ctx context.Context, conn *clientConn) (*thriftbus.Job, error) {
		return conn.admin.CancelJob(ctx, id)
	})
}

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
