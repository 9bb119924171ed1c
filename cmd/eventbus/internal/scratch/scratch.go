// Package scratch gives a command a namespace or topic of its own on somebody's
// Redis, and takes away everything that it left there.
package scratch

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus"
)

// Name returns a name that nobody else has, with a prefix that tells whose it is.
func Name(prefix string) string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails, as its documentation says
	return prefix + "-" + hex.EncodeToString(b)
}

const (
	// cleanTimeout bounds the whole of Clean.
	cleanTimeout = 30 * time.Second
	scanCount    = 1000
)

// Clean removes every key of the namespace. Its topics go first, each in one step: a
// send that is still under way finds none, and leaves nothing behind it. Then Clean walks
// over all keys of the server, in small steps that hold up nobody, and asks for no more
// than the prefix, also behind that of Redisson's delayed queues: how the bus names its
// keys is the bus's own business. It goes on when ctx has ended.
func Clean(ctx context.Context, rdb redis.UniversalClient, namespace string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	clean := func(ctx context.Context, node redis.Cmdable) error {
		return errors.Join(remove(ctx, node, rdb, namespace+":*"), remove(ctx, node, rdb, "redisson_delay_queue*:"+namespace+":*"))
	}
	err := deleteTopics(ctx, rdb, namespace)
	if c, ok := rdb.(*redis.ClusterClient); ok {
		err = errors.Join(err, c.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return clean(ctx, node) }))
	} else {
		err = errors.Join(err, clean(ctx, rdb))
	}
	if err != nil {
		return fmt.Errorf("remove the keys %s:* (they may be removed by hand): %w", namespace, err)
	}
	return nil
}

func deleteTopics(ctx context.Context, rdb redis.UniversalClient, namespace string) (err error) {
	bus, err := eventbus.New(rdb, eventbus.Config{Namespace: namespace, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bus.Close()) }()
	topics, err := bus.Topics().List(ctx)
	if err != nil {
		return err
	}
	for _, topic := range topics {
		if err := bus.Topics().Delete(ctx, topic); err != nil && !errors.Is(err, eventbus.ErrTopicNotFound) {
			return err
		}
	}
	return nil
}

func remove(ctx context.Context, node, all redis.Cmdable, pattern string) error {
	var failed []error
	for cursor := uint64(0); ; {
		keys, next, err := node.Scan(ctx, cursor, pattern, scanCount).Result()
		if err != nil {
			return err
		}
		for _, key := range keys {
			// one by one: on a Cluster they lie in different slots
			if err := all.Unlink(ctx, key).Err(); err != nil {
				failed = append(failed, err)
			}
		}
		if cursor = next; cursor == 0 {
			return errors.Join(failed...)
		}
	}
}
