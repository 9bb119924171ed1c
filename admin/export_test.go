package admin

import (
	"time"

	"github.com/seed4933/eventbus/internal/quiet"
)

// SetPatience sets how long the first answer over a new connection may take.
func (c *Client) SetPatience(d time.Duration) { c.patience = d }

// Quiet tells that a client's connection stands, and that nothing has come on it that
// was not read. No call may be under way.
func (c *Client) Quiet() bool { return quiet.Socket(c.conn.raw) }
