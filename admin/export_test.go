package admin

import "github.com/seed4933/eventbus/internal/quiet"

// Quiet tells that a client's connection stands, and that nothing has come on it that
// was not read. No call may be under way.
func Quiet(c *Client) bool { return quiet.Socket(c.conn.raw) }
