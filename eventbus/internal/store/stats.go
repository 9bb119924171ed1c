package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// Figures are the numbers of one topic and group, read one after another.
type Figures struct {
	Waiting  int64
	InFlight int64
	Delayed  int64
	NextDue  time.Time // of the delayed, by Redis's clock
	// Unreadable counts the members of the delayed set that were set aside.
	Unreadable int64
	Retry      int64
	Dead       int64
	Oldest     []byte // the entry that is handed out next, nil when none waits
	Totals     map[string]int64
	Now        time.Time // Redis's clock
}

// Figures reads the numbers of a topic and group.
func (s *Store) Figures(ctx context.Context, k *Keys) (Figures, error) {
	doing := fmt.Sprintf("read figures of topic %q, group %q", k.Topic, k.Group)
	holders, err := s.Holders(ctx, k)
	if err != nil {
		return Figures{}, errs.Doing(err, doing)
	}
	call, cancel := bounded(ctx)
	defer cancel()
	var waiting, returned, retry, dead, delayed, unreadable *redis.IntCmd
	var head *redis.ZSliceCmd
	var oldest *redis.StringCmd
	var totals *redis.MapStringStringCmd
	held := make([]*redis.IntCmd, len(holders))
	_, err = s.rdb.Pipelined(call, func(p redis.Pipeliner) error {
		waiting = p.LLen(call, k.Queue)
		if k.Shared() {
			returned = p.LLen(call, k.Returns)
		}
		retry, dead, delayed = p.ZCard(call, k.Retry), p.ZCard(call, k.Dead), p.ZCard(call, k.Delayed)
		head = p.ZRangeWithScores(call, k.Delayed, 0, 0)
		unreadable = p.LLen(call, k.Unreadable)
		oldest = p.LIndex(call, k.Queue, -1)
		totals = p.HGetAll(call, k.Counts)
		for i, consumer := range holders {
			held[i] = p.HLen(call, k.Inflight(consumer))
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		keys := []string{k.Queue, k.Returns, k.Retry, k.Dead, k.Delayed, k.Unreadable, k.Counts}
		for _, consumer := range holders {
			keys = append(keys, k.Inflight(consumer))
		}
		return Figures{}, s.wrap(ctx, doing, err, keys...)
	}
	f := Figures{Waiting: waiting.Val(), Retry: retry.Val(), Dead: dead.Val(), Delayed: delayed.Val(), Totals: map[string]int64{}}
	f.Unreadable = unreadable.Val()
	for _, next := range head.Val() {
		f.NextDue = dueTime(next.Score)
	}
	if returned != nil {
		f.Waiting += returned.Val()
	}
	for _, h := range held {
		f.InFlight += h.Val()
	}
	if oldest.Err() == nil {
		f.Oldest = []byte(oldest.Val())
	}
	for name, text := range totals.Val() {
		f.Totals[name], _ = strconv.ParseInt(text, 10, 64)
	}
	f.Now, err = s.Now(ctx)
	return f, errs.Doing(err, doing)
}

// CountFailures counts the failures of a topic and group.
func (s *Store) CountFailures(ctx context.Context, k *Keys) (retry, dead int64, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	var r, d *redis.IntCmd
	_, err = s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		r, d = p.ZCard(ctx, k.Retry), p.ZCard(ctx, k.Dead)
		return nil
	})
	return r.Val(), d.Val(), s.wrap(ctx, "count failures", err, k.Retry, k.Dead)
}

// Now reads Redis's clock.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	now, err := s.rdb.Time(ctx).Result()
	return now, s.wrap(ctx, "read Redis's clock", err)
}
