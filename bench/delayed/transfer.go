package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus"
)

// slowest is how many events a second are sent at least.
const slowest = 8_000

// transfer measures how fast the bus moves events that have become due while
// nobody took them. The topic's only handler is busy, so that nothing but the moves
// goes on.
func (b *bench) transfer(ctx context.Context) error {
	if err := b.rdb.FlushAll(ctx).Err(); err != nil { // of the server started here
		return err
	}
	sender, err := newBus(b.rdb, 1)
	if err != nil {
		return err
	}
	defer sender.Close() //nolint:errcheck // it only sends
	// Sent without consumers, so that all are due, and none is moved, at the start.
	from := time.Now().Add(time.Duration(b.pending) * time.Second / slowest)
	if err := fill(ctx, sender, background, b.pending, b.size, from, time.Second); err != nil {
		return err
	}
	if time.Now().After(from) {
		return errors.New("sending took longer than the time that was left for it")
	}
	time.Sleep(time.Until(from.Add(1100 * time.Millisecond)))
	if _, err := sender.Send(ctx, background, payload(b.size)); err != nil {
		return err
	}
	if err := b.rdb.SlowLogReset(ctx).Err(); err != nil {
		return err
	}
	bus, err := newBus(b.rdb, 1)
	if err != nil {
		return err
	}
	release := make(chan struct{})
	bus.Handle(background, "bench", eventbus.HandleFunc(func(context.Context, *eventbus.Event) error { <-release; return nil }),
		eventbus.HandleConfig{Timeout: time.Hour})
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	busy, err := b.cpu(ctx)
	began := time.Now()
	go func() { ended <- bus.Run(running) }()
	for stats := (eventbus.Stats{Delayed: 1}); err == nil && stats.Delayed > 0; time.Sleep(5 * time.Millisecond) {
		stats, err = sender.GroupStats(ctx, background)
	}
	took := time.Since(began)
	after, cpuErr := b.cpu(ctx)
	close(release)
	cancel()
	longest, slowErr := b.longestCall(ctx)
	fmt.Printf("transfer: %.0f events a second of %d with random delays, longest call %v, Redis's CPU %v an event\n", float64(b.pending)/took.Seconds(), b.pending, longest, (after-busy)/time.Duration(b.pending))
	return errors.Join(err, cpuErr, slowErr, <-ended, bus.Close())
}

// Redisson's algorithm, told anew: up to 100 due members, each pushed onto the
// target and looked for in the list of all members, from its head; then removed
// from the sorted set.
const redissonMove = `
local due = redis.call('ZRANGEBYSCORE', KEYS[1], 0, ARGV[1], 'LIMIT', 0, 100)
for _, member in ipairs(due) do
  local _, body = struct.unpack('Bc0Lc0', member)
  redis.call('RPUSH', KEYS[3], body)
  redis.call('LREM', KEYS[2], 1, member)
end
if #due > 0 then redis.call('ZREM', KEYS[1], unpack(due)) end
return #due`

// redisson moves the same number of events of the same size by Redisson's way for
// some seconds.
func (b *bench) redisson(ctx context.Context) error {
	for _, order := range []string{"equal", "random", "reverse"} {
		if err := b.rdb.FlushAll(ctx).Err(); err != nil { // of the server started here
			return err
		}
		body := payload(b.size).Payload
		for i := 0; i < b.pending; i += 1000 {
			if _, err := b.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
				for j := range 1000 {
					member := redissonMember(body)
					score := float64(i + j) // equal delays: due in the order of offering
					switch order {
					case "random":
						score = rand.Float64() * 1e9
					case "reverse":
						score = float64(b.pending - i - j)
					}
					p.ZAdd(ctx, "set", redis.Z{Score: score, Member: member})
					p.RPush(ctx, "order", member)
				}
				return nil
			}); err != nil {
				return err
			}
		}
		if err := b.rdb.SlowLogReset(ctx).Err(); err != nil {
			return err
		}
		script := redis.NewScript(redissonMove)
		began, moved := time.Now(), 0
		for time.Since(began) < 10*time.Second {
			n, err := script.Run(ctx, b.rdb, []string{"set", "order", "target"}, "9e9").Int()
			if err != nil {
				return err
			}
			if moved += n; n == 0 {
				break
			}
		}
		took := time.Since(began)
		longest, err := b.longestCall(ctx)
		if err != nil {
			return err
		}
		fmt.Printf("redisson's algorithm, delays %s: %.0f events a second of %d, longest call %v\n", order, float64(moved)/took.Seconds(), b.pending, longest)
	}
	return nil
}

// redissonMember is a member with a random id.
func redissonMember(body []byte) []byte {
	member := make([]byte, 0, 17+len(body))
	member = append(member, 8)
	for range 8 {
		member = append(member, byte(rand.N(256)))
	}
	for n, i := uint64(len(body)), 0; i < 8; i++ {
		member = append(member, byte(n>>(8*i)))
	}
	return append(member, body...)
}
