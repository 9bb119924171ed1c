package admin

import (
	"context"

	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

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
