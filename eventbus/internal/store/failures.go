package store

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// FailureSet is one of the two sets of failures.
type FailureSet string

const (
	RetrySet FailureSet = "retry"
	DeadSet  FailureSet = "dead"
)

// Record is one failure as it stands in Redis.
type Record struct {
	ID       string
	Set      FailureSet
	Score    int64  // next attempt (RetrySet) or death (DeadSet), epoch ms
	FailedAt int64  // last attempt, epoch ms by Redis's clock
	Meta     []byte // JSON
	Size     int    // bytes of the entry
	Entry    []byte // only from Read
}

// splitMeta separates what the finish script puts before the JSON object: the
// time by Redis's clock.
func (r *Record) splitMeta(meta string) {
	b := []byte(meta)
	if i := bytes.IndexByte(b, '{'); i >= 0 {
		r.FailedAt, _ = strconv.ParseInt(string(b[:i]), 10, 64)
		b = b[i:]
	}
	r.Meta = b
}

// parseScore reads a score as Redis writes it.
func (r *Record) parseScore(text string) {
	score, _ := strconv.ParseFloat(text, 64)
	r.Score = int64(score)
}

func (k *Keys) set(set FailureSet) string {
	if set == RetrySet {
		return k.Retry
	}
	return k.Dead
}

// PageFailures reads up to most failures of a set in the order of their scores,
// from the one after (afterScore, afterID) up to the score upto (0: all).
func (s *Store) PageFailures(ctx context.Context, k *Keys, set FailureSet, afterScore int64, afterID string, upto int64, most int) ([]Record, error) {
	limit := "+inf"
	if upto > 0 {
		limit = strconv.FormatInt(upto, 10)
	}
	keys := []string{k.set(set), k.Failures}
	reply, err := s.eval(ctx, "page", keys, afterScore, afterID, limit, most).Slice()
	if err != nil {
		return nil, s.wrap(ctx, fmt.Sprintf("list failures of topic %q, group %q", k.Topic, k.Group), err, keys...)
	}
	records := make([]Record, 0, len(reply)/4)
	for i := 0; i+3 < len(reply); i += 4 {
		r := Record{ID: reply[i].(string), Set: set, Size: int(reply[i+3].(int64))}
		r.parseScore(reply[i+1].(string))
		r.splitMeta(reply[i+2].(string))
		records = append(records, r)
	}
	return records, nil
}

// FindFailure reads one failure without its entry: errs.FailureNotFound.
func (s *Store) FindFailure(ctx context.Context, k *Keys, id string) (Record, error) {
	doing := fmt.Sprintf("find a failure of topic %q, group %q", k.Topic, k.Group)
	keys := []string{k.Failures, k.Retry, k.Dead}
	reply, err := s.eval(ctx, "find", keys, id).Slice()
	switch {
	case err != nil:
		return Record{}, s.wrap(ctx, doing, err, keys...)
	case len(reply) == 0:
		return Record{}, errs.Doing(errs.FailureNotFound, doing)
	}
	r := Record{ID: id, Set: FailureSet(reply[0].(string)), Size: int(reply[3].(int64))}
	r.parseScore(reply[1].(string))
	r.splitMeta(reply[2].(string))
	return r, nil
}

const maxReadBytes = 4 << 20

// ReadFailures reads failures with their entries: the first of the ids, as far
// as a bounded reply holds them, at least one. A failure that is gone has no Set.
func (s *Store) ReadFailures(ctx context.Context, k *Keys, ids []string) ([]Record, error) {
	args := make([]any, 1, 1+len(ids))
	args[0] = maxReadBytes
	for _, id := range ids {
		args = append(args, id)
	}
	keys := []string{k.Failures, k.Retry, k.Dead}
	reply, err := s.eval(ctx, "read", keys, args...).Slice()
	if err != nil {
		return nil, s.wrap(ctx, fmt.Sprintf("read failures of topic %q, group %q", k.Topic, k.Group), err, keys...)
	}
	records := make([]Record, 0, len(reply)/4)
	for i := 0; i+3 < len(reply); i += 4 {
		entry := []byte(reply[i+3].(string))
		r := Record{ID: ids[i/4], Set: FailureSet(reply[i].(string)), Entry: entry, Size: len(entry)}
		r.parseScore(reply[i+1].(string))
		r.splitMeta(reply[i+2].(string))
		records = append(records, r)
	}
	return records, nil
}

// Replay moves failures back to the queue, each with the entry given for it,
// and returns the ids of those that it moved. One that is gone is left out, and
// so is one that has failed once more since it was read: somebody else has
// replayed it meanwhile, and that is done.
func (s *Store) Replay(ctx context.Context, k *Keys, failures []Record, entries [][]byte) ([]string, error) {
	doing := fmt.Sprintf("replay failures of topic %q, group %q", k.Topic, k.Group)
	args := make([]any, 1, 1+3*len(failures))
	args[0] = groupField(k.Group)
	for i, r := range failures {
		args = append(args, r.ID, r.FailedAt, entries[i])
	}
	keys := []string{k.Config, k.Retry, k.Dead, k.Failures, k.Returns, k.Bell, k.Counts}
	reply, err := s.eval(ctx, "replay", keys, args...).Slice()
	if err != nil {
		return nil, s.wrap(ctx, doing, err, keys...)
	}
	if reply[0].(int64) == 0 {
		return nil, errs.Doing(errs.GroupNotFound, doing)
	}
	moved := make([]string, 0, len(reply)-1)
	for _, id := range reply[1:] {
		moved = append(moved, id.(string))
	}
	return moved, nil
}

// Pick is a failure as it was when it was picked.
type Pick struct {
	ID       string
	FailedAt int64 // AnyTime for one that is picked by its id alone
}

// AnyTime is no time of a failure.
const AnyTime = -1

// Discard removes failures for good and returns how many there were. One that has
// failed once more since it was picked stays, as in Replay.
func (s *Store) Discard(ctx context.Context, k *Keys, picks []Pick) (int64, error) {
	doing := fmt.Sprintf("discard failures of topic %q, group %q", k.Topic, k.Group)
	args := make([]any, 1, 1+2*len(picks))
	args[0] = groupField(k.Group)
	for _, p := range picks {
		begins := ""
		if p.FailedAt != AnyTime {
			begins = strconv.FormatInt(p.FailedAt, 10)
		}
		args = append(args, p.ID, begins)
	}
	keys := []string{k.Config, k.Retry, k.Dead, k.Failures, k.Counts}
	n, err := s.eval(ctx, "discard", keys, args...).Int64()
	switch {
	case err != nil:
		return 0, s.wrap(ctx, doing, err, keys...)
	case n < 0:
		return 0, errs.Doing(errs.GroupNotFound, doing)
	}
	return n, nil
}

// maxExpire bounds one call of Expire.
const maxExpire = 200

// Expire drops dead failures over the topic's limits of age and number, a
// bounded number of them, and returns how many.
func (s *Store) Expire(ctx context.Context, k *Keys, t *Topic) (int64, error) {
	keys := []string{k.Dead, k.Failures, k.Counts}
	n, err := s.eval(ctx, "expire", keys, t.DeadAge.Milliseconds(), t.DeadLimit, maxExpire).Int64()
	return n, s.wrap(ctx, fmt.Sprintf("drop old failures of topic %q, group %q", k.Topic, k.Group), err, keys...)
}
