package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

const (
	// maxHeldBytes bounds the entries of one reply of ReadHeld and of one call of
	// PutBack; a single entry may be larger.
	maxHeldBytes = 4 << 20
	// maxHeldPage bounds their number.
	maxHeldPage = 500
)

// Held returns the receipts of all that the consumer holds, the one claimed last
// first: the order in which to put them back. What its own process does not know
// of stems from a claim whose reply was lost.
func (s *Store) Held(ctx context.Context, k *Keys, consumer string) ([]string, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	receipts, err := s.rdb.HKeys(ctx, k.Inflight(consumer)).Result()
	if err != nil {
		return nil, s.wrap(ctx, "read what is in flight", err, k.Inflight(consumer))
	}
	slices.SortFunc(receipts, func(a, b string) int {
		claimA, placeA := Order(a)
		claimB, placeB := Order(b)
		return cmp.Or(cmp.Compare(claimB, claimA), cmp.Compare(placeB, placeA))
	})
	return receipts, nil
}

// ReadHeld reads the entries of receipts and gives them to f in parts, in the
// order of the receipts: each part carries at most 4 MiB, or one entry that is
// larger, and may take the longer the more it carries. Receipts that are no longer
// held are left out. An error of f ends it.
func (s *Store) ReadHeld(ctx context.Context, k *Keys, consumer string, receipts []string, f func(receipts []string, entries [][]byte) error) error {
	for page := range slices.Chunk(receipts, maxHeldPage) {
		sizes, err := s.heldSizes(ctx, k, consumer, page)
		if err != nil {
			return err
		}
		for len(page) > 0 {
			n, size := fit(len(page), func(i int) int { return sizes[i] })
			part, entries, err := s.readHeld(ctx, k, consumer, page[:n], size)
			if err != nil {
				return err
			}
			if len(part) > 0 {
				if err := f(part, entries); err != nil {
					return err
				}
			}
			page, sizes = page[n:], sizes[n:]
		}
	}
	return nil
}

// heldSizes reads the sizes of entries, 0 for one that is gone.
func (s *Store) heldSizes(ctx context.Context, k *Keys, consumer string, receipts []string) ([]int, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	cmds := make([]*redis.IntCmd, len(receipts))
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, receipt := range receipts {
			cmds[i] = p.HStrLen(ctx, k.Inflight(consumer), receipt)
		}
		return nil
	})
	if err != nil {
		return nil, s.wrap(ctx, "read sizes of what is in flight", err, k.Inflight(consumer))
	}
	sizes := make([]int, len(cmds))
	for i, cmd := range cmds {
		sizes[i] = int(cmd.Val())
	}
	return sizes, nil
}

func (s *Store) readHeld(ctx context.Context, k *Keys, consumer string, receipts []string, size int) (held []string, entries [][]byte, err error) {
	ctx, cancel := Within(ctx, callTimeout+timeFor(size))
	defer cancel()
	reply, err := s.rdb.HMGet(ctx, k.Inflight(consumer), receipts...).Result()
	if err != nil {
		return nil, nil, s.wrap(ctx, "read what is in flight", err, k.Inflight(consumer))
	}
	for i, value := range reply {
		if entry, ok := value.(string); ok {
			held = append(held, receipts[i])
			entries = append(entries, []byte(entry))
		}
	}
	return held, entries, nil
}

// PutBack ends entries as Finish does, in calls that carry at most 4 MiB each, or
// one entry that is larger, and returns how many it ended, also with an error.
func (s *Store) PutBack(ctx context.Context, k *Keys, consumer string, deadLimit int64, ended []Ended) (n int64, err error) {
	for len(ended) > 0 {
		part, _ := fit(min(len(ended), maxHeldPage), func(i int) (size int) {
			for _, p := range ended[i].Parts {
				size += len(p.Meta) + len(p.Entry)
			}
			return size
		})
		m, _, err := s.Finish(ctx, k, consumer, deadLimit, ended[:part])
		n += m
		if err != nil {
			return n, err
		}
		ended = ended[part:]
	}
	return n, nil
}

// fit is how many of the first of most entries, at least one, have no more than
// maxHeldBytes together, and how many bytes those have.
func fit(most int, size func(i int) int) (n, total int) {
	n, total = 1, size(0)
	for n < most {
		next := total + size(n)
		if next > maxHeldBytes {
			break
		}
		n, total = n+1, next
	}
	return n, total
}
