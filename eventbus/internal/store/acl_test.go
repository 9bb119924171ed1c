package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/internal/redistest"
)

// A user who may not call one of the commands of a script gets an error, and what
// the script moves stays where it is: Redis does not take back what a script has
// done before its error.
func TestRefusedCommandLosesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	for _, delivery := range []store.Delivery{store.AtLeastOnce, store.AtMostOnce} {
		for _, refused := range []string{"lpush", "rpush", "zremrangebyrank", "zrange", "hset", "hdel", "hmget", "hincrby", "unlink", "lindex", "lpop", "rpop", "zrem", "zadd", "publish"} {
			t.Run(string(delivery)+" without "+refused, func(t *testing.T) {
				t.Parallel()
				b := setup(t, server.Client(t))
				b.create(&store.Topic{Name: "other", Enabled: true, Delivery: delivery, Groups: []store.Group{{Name: group}}, RedissonOrderList: true})
				b.delay(later("a", time.Hour), later("b", time.Hour))
				b.due(b.keys.Delayed)
				b.delay(later("cancelled", 2*time.Hour))
				b.put(1, "unreadable")
				user := "without-" + refused
				require.NoError(t, b.rdb.ACLSetUser(t.Context(), user, "on", "nopass", "~*", "&*", "+@all", "-"+refused).Err())
				rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: user, Password: "any"})
				defer func() { require.NoError(t, rdb.Close()) }()
				s, err := store.Open(rdb, b.ns)
				require.NoError(t, err)
				defer func() { require.NoError(t, s.Close()) }()
				members := func() int {
					return len(b.zset(b.keys.Delayed)) + len(b.list(b.keys.Queue)) + len(b.list(b.keys.Unreadable))
				}
				require.Equal(t, 4, members())
				_, err = s.Cancel(t.Context(), b.topic, "cancelled")
				require.True(t, err == nil || store.OfTopic(err), "%v", err)
				left := members()
				require.True(t, left == 3 || err != nil && left == 4, "%d are left: %v", left, err)
				for range 2 {
					_, err = s.Transfer(t.Context(), &b.keys, delivery)
					require.True(t, err == nil || store.OfTopic(err), "%v", err)
					require.Equal(t, left, members(), "%v", err)
				}
				before := len(b.list(b.keys.Queue)) + len(b.zset(b.keys.Delayed))
				_, err = s.SendDelayed(t.Context(), b.topic, []store.Delayed{later("x", 0), later("y", time.Hour)})
				after := len(b.list(b.keys.Queue)) + len(b.zset(b.keys.Delayed))
				if err != nil {
					require.True(t, store.OfTopic(err), "%v", err)
					require.Equal(t, before, after, "half sent: %v", err)
				} else {
					require.Equal(t, before+2, after)
				}
			})
		}
	}
}

// A server over its maxmemory refuses sends; what is due is handed out, and nothing
// is lost between the two places.
func TestDueEventsMoveWithoutMemory(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	b := setup(t, server.Client(t))
	for _, delivery := range []store.Delivery{store.AtLeastOnce, store.AtMostOnce} {
		b.create(&store.Topic{Name: string(delivery), Enabled: true, Delivery: delivery, Groups: []store.Group{{Name: group}}})
		for i := range 300 {
			b.delay(later(fmt.Sprint(i), time.Hour))
		}
		b.due(b.keys.Delayed)
		b.put(1, "unreadable")
		require.NoError(t, b.rdb.ConfigSet(t.Context(), "maxmemory", "1mb").Err())
		before := b.dump()
		_, err := b.store.SendDelayed(t.Context(), b.topic, []store.Delayed{later("x", 0), later("y", time.Hour)})
		require.True(t, store.OutOfMemory(err), "%v", err)
		require.Equal(t, before, b.dump())
		got := b.transfer()
		require.EqualValues(t, 300, got.Moved)
		require.EqualValues(t, 1, got.Unreadable)
		require.Len(t, b.list(b.keys.Queue), 300)
		require.NoError(t, b.rdb.ConfigSet(t.Context(), "maxmemory", "0").Err())
	}
}
