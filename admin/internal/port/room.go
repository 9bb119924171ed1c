package port

import (
	"context"
	"time"
)

type exchangeKey struct{}

// Room returns once a call that a Server has begun may take up so many bytes of memory
// besides its arguments and its answer. It is for what a call reads elsewhere whose size
// nothing limits: where it is much, such calls go one after another. The error says that
// there was no room within Limits.Write, or why the client may not call. Elsewhere Room
// returns nil at once.
func Room(ctx context.Context, bytes int64) error {
	x, ok := ctx.Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil
	}
	return x.account.room(bytes, time.Now().Add(x.write))
}
