package port

import "context"

// Client is who sent a call.
type Client struct {
	// Addr is the address of the other end of the connection.
	Addr string
	// Cert is the common name of the subject of the client's certificate,
	// when TLS has verified one; empty otherwise.
	Cert string
	// Headers are the THeader headers of this call, as they were sent; of a
	// call over ThriftHandler the HTTP headers, their names in lower case. It
	// is nil when there are none, and must not be changed.
	Headers map[string]string
}

type clientKey struct{}

// ClientFrom returns the client of a call, from the context that the processor
// or the HTTP handler got. It is false for contexts of other servers.
func ClientFrom(ctx context.Context) (Client, bool) {
	c, ok := ctx.Value(clientKey{}).(Client)
	return c, ok
}

func withClient(ctx context.Context, c Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}
