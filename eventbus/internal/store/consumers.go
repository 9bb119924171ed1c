package store

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// Enroll writes what a consumer runs, and takes its lease.
func (s *Store) Enroll(ctx context.Context, consumer string, lease time.Duration, runs []byte) error {
	if err := s.Describe(ctx, consumer, runs); err != nil {
		return errs.Doing(err, "take a lease")
	}
	_, _, err := s.renew(ctx, consumer, lease, true)
	return errs.Doing(err, "take a lease")
}

// Describe writes what a consumer runs beside its lease.
func (s *Store) Describe(ctx context.Context, consumer string, runs []byte) error {
	return s.wrap(ctx, "describe consumer", s.eval(ctx, "describe", []string{s.ns.runs()}, consumer, runs).Err(), s.ns.runs())
}

// Renew renews a consumer's lease; held is false when it is gone, which means
// that others may have taken what the consumer held. expired names consumers
// whose lease has run out.
func (s *Store) Renew(ctx context.Context, consumer string, lease time.Duration) (held bool, expired []string, err error) {
	return s.renew(ctx, consumer, lease, false)
}

func (s *Store) renew(ctx context.Context, consumer string, lease time.Duration, take bool) (bool, []string, error) {
	reply, err := s.eval(ctx, "renew", []string{s.ns.consumers()}, consumer, lease.Milliseconds(), flag(take)).Slice()
	if err != nil {
		return false, nil, s.wrap(ctx, "renew lease", err, s.ns.consumers())
	}
	var expired []string
	for _, id := range reply[1:] {
		expired = append(expired, id.(string))
	}
	return reply[0].(int64) == 1, expired, nil
}

// Forget removes a consumer whose lease has run out.
func (s *Store) Forget(ctx context.Context, consumer string) error {
	gone, err := s.eval(ctx, "forget", []string{s.ns.consumers()}, consumer).Int()
	if err != nil {
		return s.wrap(ctx, "forget consumer", err, s.ns.consumers())
	}
	if gone == 0 {
		return nil
	}
	return s.undescribe(ctx, consumer)
}

// Leave removes a consumer that holds nothing any more, and what it ran also where
// its lease cannot be removed.
func (s *Store) Leave(ctx context.Context, consumer string) error {
	call, cancel := bounded(ctx)
	defer cancel()
	err := s.rdb.ZRem(call, s.ns.consumers(), consumer).Err()
	if err != nil && !OfTopic(err) {
		return s.wrap(ctx, "leave", err)
	}
	return errors.Join(s.wrap(ctx, "leave", err, s.ns.consumers()), s.undescribe(ctx, consumer))
}

func (s *Store) undescribe(ctx context.Context, consumer string) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return s.wrap(ctx, "forget what a consumer ran", s.rdb.HDel(ctx, s.ns.runs(), consumer).Err(), s.ns.runs())
}

// GiveUp marks a consumer's lease as run out, so that others reclaim what it
// held: for a lease that was lost, or a stop that could not give back.
func (s *Store) GiveUp(ctx context.Context, consumer string) error {
	return s.wrap(ctx, "give up lease", s.eval(ctx, "giveup", []string{s.ns.consumers()}, consumer).Err(), s.ns.consumers())
}

// Consumer is one consumer's lease and what it runs.
type Consumer struct {
	ID      string
	Expires time.Time
	Runs    []byte // JSON, nil when unknown
}

// Consumers lists all consumers, also those whose lease has run out.
func (s *Store) Consumers(ctx context.Context) ([]Consumer, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	leases, err := s.rdb.ZRangeWithScores(ctx, s.ns.consumers(), 0, -1).Result()
	if err != nil {
		return nil, s.wrap(ctx, "list consumers", err, s.ns.consumers())
	}
	runs, err := s.rdb.HGetAll(ctx, s.ns.runs()).Result()
	if err != nil {
		return nil, s.wrap(ctx, "list what consumers run", err, s.ns.runs())
	}
	all := make([]Consumer, 0, len(leases))
	for _, z := range leases {
		c := Consumer{ID: z.Member.(string), Expires: time.UnixMilli(int64(z.Score)).UTC()}
		if r, ok := runs[c.ID]; ok {
			c.Runs = []byte(r)
		}
		all = append(all, c)
	}
	return all, nil
}

// Runs reads what one consumer ran; nil when nothing is known of it.
func (s *Store) Runs(ctx context.Context, consumer string) ([]byte, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	runs, err := s.rdb.HGet(ctx, s.ns.runs(), consumer).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return runs, s.wrap(ctx, "read what a consumer ran", err, s.ns.runs())
}

// Holders lists the consumers that may hold entries of a queue.
func (s *Store) Holders(ctx context.Context, k *Keys) ([]string, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	ids, err := s.rdb.SMembers(ctx, k.Holders).Result()
	return ids, s.wrap(ctx, "list holders", err, k.Holders)
}

// Enrolled tells which of the consumers stand in the registry, expired or not.
func (s *Store) Enrolled(ctx context.Context, consumers []string) (map[string]bool, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	cmds := make([]*redis.FloatCmd, len(consumers))
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, id := range consumers {
			cmds[i] = p.ZScore(ctx, s.ns.consumers(), id)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, s.wrap(ctx, "look for consumers", err, s.ns.consumers())
	}
	found := make(map[string]bool, len(consumers))
	for i, cmd := range cmds {
		if err := cmd.Err(); err != nil && !errors.Is(err, redis.Nil) {
			return nil, s.wrap(ctx, "look for consumers", err, s.ns.consumers())
		}
		found[consumers[i]] = cmd.Err() == nil
	}
	return found, nil
}

// Unhold takes a consumer that holds nothing off the holders of a queue.
func (s *Store) Unhold(ctx context.Context, k *Keys, consumer string) error {
	keys := []string{k.Inflight(consumer), k.Holders}
	return s.wrap(ctx, "unhold", s.eval(ctx, "unhold", keys, consumer).Err(), keys...)
}
