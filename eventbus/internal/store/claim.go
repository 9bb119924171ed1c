package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"github.com/redis/go-redis/v9"
)

// maxClaimBytes bounds the reply of one claim.
const maxClaimBytes = 8 << 20

// Claimed is what one claim or take brought.
type Claimed struct {
	Revision int64    // the topic's settings; 0: no such topic or group, or disabled
	Entries  [][]byte // in the order in which they are to run
	Returned int      // so many of the first entries had come back, not from producers
}

// Receipts are the receipts of the entries of a claim.
func (c *Claimed) Receipts(claim uint64) []string {
	var buf []byte
	ends := make([]int, len(c.Entries))
	for i := range c.Entries {
		buf = strconv.AppendUint(buf, claim, 10)
		buf = append(buf, '-')
		buf = strconv.AppendInt(buf, int64(i+1), 10)
		if i < c.Returned {
			buf = append(buf, returnedMark...)
		}
		ends[i] = len(buf)
	}
	all, receipts, from := string(buf), make([]string, len(c.Entries)), 0 // one string, cut up
	for i, end := range ends {
		receipts[i], from = all[from:end], end
	}
	return receipts
}

const returnedMark = "r"

// CameBack tells from a receipt whether its entry came from Returns, where the
// bus alone writes, and not from a producer.
func CameBack(receipt string) bool { return strings.HasSuffix(receipt, returnedMark) }

// Order reads from a receipt when its entry was claimed: by which claim, and
// there as the how manieth.
func Order(receipt string) (claim uint64, place int) {
	number, rest, _ := strings.Cut(strings.TrimSuffix(receipt, returnedMark), "-")
	claim, _ = strconv.ParseUint(number, 10, 64)
	place, _ = strconv.Atoi(rest)
	return claim, place
}

// Claim moves up to most waiting entries into the consumer's in-flight hash.
// claim numbers the consumer's claims, and with them the receipts. pop is how
// many entries to pop at first, see PopFor: the script goes on by their size.
//
// When it returns an error that wraps errs.Unavailable, the claim may have been
// executed, or may still be: see Held.
func (s *Store) Claim(ctx context.Context, k *Keys, consumer string, claim uint64, most, pop int) (Claimed, error) {
	keys := []string{k.Config, k.Queue, k.Bell, k.Inflight(consumer), k.Holders}
	if k.Shared() {
		keys = append(keys, k.Returns)
	}
	return s.claimed(ctx, k, "claim", keys, groupField(k.Group), consumer, strconv.FormatUint(claim, 10)+"-", most, maxClaimBytes, pop)
}

// PopFor is how many entries of a size like these one pop may fetch, so that the
// reply stays bounded. With none to go by it is a cautious number.
func PopFor(entries [][]byte) int {
	if len(entries) == 0 {
		return 4
	}
	size := 1
	for _, e := range entries {
		size += len(e)
	}
	return min(max(maxPopBytes*len(entries)/size, 1), 500)
}

const maxPopBytes = 256 << 10

// Take pops up to most entries of an at_most_once topic for good.
func (s *Store) Take(ctx context.Context, k *Keys, most int) (Claimed, error) {
	keys := []string{k.Config, k.Queue}
	if k.Shared() {
		keys = append(keys, k.Returns)
	}
	return s.claimed(ctx, k, "take", keys, groupField(k.Group), most)
}

func (s *Store) claimed(ctx context.Context, k *Keys, script string, keys []string, args ...any) (c Claimed, err error) {
	reply, err := evalAs(ctx, s, redis.NewStringSliceCmd, script, keys, args).Result()
	if err == nil {
		c.Revision, err = strconv.ParseInt(reply[0], 10, 64)
	}
	if err == nil {
		c.Returned, err = strconv.Atoi(reply[1])
	}
	if err != nil {
		return Claimed{}, s.wrap(ctx, fmt.Sprintf("claim from topic %q, group %q", k.Topic, k.Group), err, keys...)
	}
	c.Entries = make([][]byte, len(reply)-2)
	for i, e := range reply[2:] {
		c.Entries[i] = bytesOf(e)
	}
	return c, nil
}

// bytesOf returns the bytes of a reply without copying them: nothing else refers
// to the string, and whoever gets the bytes is told not to change them.
func bytesOf(reply string) []byte {
	return unsafe.Slice(unsafe.StringData(reply), len(reply))
}

// WakeKey is the list on which the consumer is woken out of a Block that waits
// for that topic.
func (s *Store) WakeKey(topic, consumer string) string {
	if s.spread {
		return s.ns.topicWake(topic, consumer)
	}
	return s.ns.wake(consumer)
}

// Wake ends the Block that waits on a wake key.
func (s *Store) Wake(ctx context.Context, wakeKey string) error {
	return s.wrap(ctx, "wake the poller", s.eval(ctx, "wake", []string{wakeKey}).Err(), wakeKey)
}

// Unwake removes a wake key that nobody waits on any more.
func (s *Store) Unwake(ctx context.Context, wakeKey string) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return s.wrap(ctx, "remove the wake key", s.rdb.Unlink(ctx, wakeKey).Err())
}

// Ring tells whether a queue has entries. When it has, and its bell no token, it
// rings, and tells that too. A topic or group that is gone has none, though a list
// of the user's may stay.
func (s *Store) Ring(ctx context.Context, k *Keys) (waiting, rang bool, err error) {
	keys := []string{k.Config, k.Bell, k.Queue}
	if k.Shared() {
		keys = append(keys, k.Returns)
	}
	found, err := s.eval(ctx, "ring", keys, groupField(k.Group)).Int()
	return found > 0, found == 2, s.wrap(ctx, fmt.Sprintf("look at the queue of topic %q", k.Topic), err, keys...)
}

// AnyExists tells how many of the keys exist.
func (s *Store) AnyExists(ctx context.Context, keys []string) (int64, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if !s.spread {
		n, err := s.rdb.Exists(ctx, keys...).Result()
		return n, s.wrap(ctx, "look over the queues", err)
	}
	cmds, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, key := range keys {
			p.Exists(ctx, key)
		}
		return nil
	})
	if err != nil {
		return 0, s.wrap(ctx, "look over the queues", err)
	}
	var n int64
	for _, cmd := range cmds {
		n += cmd.(*redis.IntCmd).Val()
	}
	return n, nil
}

// TypeOf returns the type of a key, "none" when there is none.
func (s *Store) TypeOf(ctx context.Context, key string) (string, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	kind, err := s.rdb.Type(ctx, key).Result()
	return kind, s.wrap(ctx, "look at key "+key, err)
}
