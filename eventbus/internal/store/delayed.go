package store

import (
	"context"
	"crypto/sha1" //nolint:gosec // spreads ids evenly; nothing is kept secret by it
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// # Delayed events
//
// They lie where Redisson's RDelayedQueue keeps them, so that a Java service and
// the bus share one delayed queue without either knowing:
//
//	Delayed        zset of members, scored by due time
//	DelayOrder     list of the same members in the order of sending, for Java's
//	               size, readAll, contains and remove; written where a topic wants it
//	DelayChannel   due time of a member that has become the head
//
// A member's id bytes mean nothing to Redisson. Six of the eight (five of seven, where
// older clients share the queue) are a counter of the topic's, so that events of one
// millisecond keep their order, and two are the slot of the index. The index is a hash of slots that are rows of records: six
// more bytes of the event's key (a digest of its id), the counter, the due time. So
// an event is found by its id, and a record by its member, also where the payload
// does not tell the id; and a record costs 25 bytes where a field of its own would
// cost 75.
//
// What it survives:
//
//   - A member is moved out, by the bus or by Java: its record stays, and finds
//     nothing. Records of what was due before the head go slot by slot, some with
//     every move, or when their slot grows, and all of them when nothing is delayed
//     any more. So up to a million more than are pending may stand there, or 20 MB.
//   - A member is none of Redisson's: it is moved to a list of its own, in the same
//     call as the others, which it does not stop.
//   - The counter is lost: a member that is there already gets the next number.

// MaxDelay is how far off an event may be due.
const MaxDelay = 10 * 365 * 24 * time.Hour

// Due is when an event is to be handed out; the zero value is at once.
type Due struct {
	After time.Duration // from the moment in which Redis takes it
	At    time.Time     // by Redis's clock
}

// Now tells that the event is not delayed.
func (d Due) Now() bool { return d.After <= 0 && d.At.IsZero() }

// endOfTime is the last moment that text and JSON can tell (RFC 3339).
var endOfTime = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// text is what the script reads, in whole milliseconds, rounded up.
func (d Due) text() string {
	switch {
	case d.Now():
		return ""
	case d.At.IsZero():
		ms := d.After.Milliseconds()
		if d.After > time.Duration(ms)*time.Millisecond {
			ms++
		}
		return "+" + strconv.FormatInt(ms, 10)
	case d.At.Before(time.UnixMilli(0)): // milliseconds may not reach that far
		return "@0"
	case d.At.After(endOfTime):
		return "@" + strconv.FormatInt(endOfTime.UnixMilli(), 10)
	}
	return "@" + strconv.FormatInt(d.At.Add(time.Millisecond-1).UnixMilli(), 10)
}

// Delayed is one event of a SendDelayed.
type Delayed struct {
	ID    string
	Due   Due
	Entry []byte
}

// tooFar is the status of the script where an event is due after MaxDelay.
const tooFar = -5

// Forms of a member, which are the number of bytes in its id and its first byte:
// Redisson from 3.21.1 on writes the first and reads both; older ones read only the
// second, whose first eight bytes they take for a number.
const (
	memberForm       = 8
	memberFormForAll = 7
)

// delayKey is an event's key in the index: slot and the record's first bytes.
func delayKey(id string) []byte {
	sum := sha1.Sum([]byte(id)) //nolint:gosec // as above
	return sum[:8]
}

// SendDelayed puts each event into the delayed set of every group of the topic, or,
// where it is due already, into its queue: all or none. unheard names a channel on
// which this user may not announce what is due, "" where there is none: then the
// events are late by up to a sweep.
func (s *Store) SendDelayed(ctx context.Context, t *Topic, events []Delayed) (unheard string, err error) {
	doing := fmt.Sprintf("send to topic %q", t.Name)
	if len(t.Groups) == 0 {
		return "", noGroup(doing)
	}
	keys := make([]string, 1, 1+6*len(t.Groups))
	keys[0] = s.ns.config(t.Name)
	args := make([]any, 5, 5+len(t.Groups)+3*len(events))
	args[0], args[1], args[2] = t.Revision, flag(t.Delivery == AtLeastOnce), flag(t.RedissonOrderList)
	args[3], args[4] = MaxDelay.Milliseconds(), memberForm
	if t.RedissonOldClients {
		args[4] = memberFormForAll
	}
	for _, g := range t.Groups {
		k := s.Keys(t, g)
		keys = append(keys, k.Queue, k.Bell, k.Counts, k.Delayed, k.DelayIndex, k.DelayOrder)
		args = append(args, k.DelayChannel)
	}
	for _, e := range events {
		args = append(args, e.Due.text(), delayKey(e.ID), e.Entry)
	}
	reply, err := s.eval(ctx, "delay", keys, args...).Int64Slice()
	if err == nil && reply[0] == tooFar {
		due, now := events[reply[1]-1].Due, time.UnixMilli(reply[2]).UTC()
		if due.At.IsZero() {
			return "", errs.Doing(errs.Invalid("Delay", due.After, "at most %v, ten years, are right", MaxDelay), doing)
		}
		return "", errs.Doing(errs.Invalid("DueAt", due.At, "it is more than ten years from now, %s by Redis's clock", now.Format(time.RFC3339)), doing)
	}
	if err := s.sent(ctx, doing, t, keys, reply, err); err != nil {
		return "", err
	}
	if reply[2] > 0 {
		k := s.Keys(t, t.Groups[reply[1]-1])
		unheard = k.DelayChannel
	}
	return unheard, nil
}

const (
	maxTransfer      = 500
	maxTransferBytes = 1 << 20
)

// Transferred is what a Transfer did.
type Transferred struct {
	Moved      int64
	Unreadable int64         // members that were set aside
	Next       time.Duration // until the next is due, by Redis's clock; below 0: there is none
}

// Transfer moves delayed events that are due into the queue, a bounded number.
func (s *Store) Transfer(ctx context.Context, k *Keys, delivery Delivery) (Transferred, error) {
	keys := []string{k.Config, k.Queue, k.Bell, k.Delayed, k.DelayIndex, k.DelayOrder, k.Unreadable, k.Counts}
	// Whoever takes from the left gets what is due in order if it comes from the right,
	// which is what Redisson does.
	push := "LPUSH"
	if delivery == AtMostOnce {
		push = "RPUSH"
	}
	reply, err := s.eval(ctx, "transfer", keys, groupField(k.Group), maxTransfer, maxTransferBytes, push, flag(delivery == AtLeastOnce)).Int64Slice()
	if err != nil {
		return Transferred{}, s.wrap(ctx, fmt.Sprintf("move due events of topic %q, group %q", k.Topic, k.Group), err, keys...)
	}
	return Transferred{Moved: reply[0], Unreadable: reply[2], Next: time.Duration(reply[1]) * time.Microsecond}, nil
}

// What Heads says of a topic without delayed events, and of one whose delayed set
// cannot be read.
const (
	HeadNone time.Duration = -1 * time.Microsecond
	HeadBad  time.Duration = -2 * time.Microsecond
)

// Heads tells for each topic the time until its next delayed event is due, by
// Redis's clock: 0 when it is, or when a Transfer has something to clear away,
// HeadNone, HeadBad.
func (s *Store) Heads(ctx context.Context, topics []*Keys) ([]time.Duration, error) {
	most := 500
	if s.spread {
		most = 1
	}
	heads := make([]time.Duration, 0, len(topics))
	for len(topics) > 0 {
		part := topics[:min(most, len(topics))]
		topics = topics[len(part):]
		keys := make([]string, 0, 3*len(part))
		for _, k := range part {
			keys = append(keys, k.Delayed, k.DelayIndex, k.DelayOrder)
		}
		reply, err := s.eval(ctx, "heads", keys).Int64Slice()
		if err != nil {
			return nil, s.wrap(ctx, "look when delayed events are due", err)
		}
		for _, us := range reply {
			heads = append(heads, time.Duration(us)*time.Microsecond)
		}
	}
	return heads, nil
}

// Cancel removes the delayed events of one id and returns the groups in which any
// was pending.
func (s *Store) Cancel(ctx context.Context, t *Topic, id string) (groups []string, err error) {
	if len(t.Groups) == 0 {
		return nil, nil
	}
	doing := fmt.Sprintf("cancel event %q of topic %q", id, t.Name)
	var keys []string
	for _, g := range t.Groups {
		k := s.Keys(t, g)
		keys = append(keys, k.Delayed, k.DelayIndex, k.DelayOrder, k.Counts)
	}
	cancelled := make([]int64, len(t.Groups))
	for more := true; more; {
		reply, err := s.eval(ctx, "cancel", keys, delayKey(id), maxCancel).Int64Slice()
		if err != nil {
			maybe := mayHaveRun(err)
			if err = s.wrap(ctx, doing, err, keys...); maybe {
				err = errs.Doing(fmt.Errorf("no reply came, and it may have been cancelled: %w", errs.Cause(err)), doing)
			}
			return nil, err
		}
		more = reply[0] > 0
		for i, n := range reply[1:] {
			cancelled[i] += n
		}
	}
	for i, n := range cancelled {
		if n > 0 {
			groups = append(groups, t.Groups[i].Name)
		}
	}
	return groups, nil
}

// maxCancel bounds what one call cancels in each group, where many bear one id.
const maxCancel = 100

// Pending is one delayed event as it is listed.
type Pending struct {
	Due   time.Time
	Size  int    // bytes of the member
	Head  []byte // the member's first bytes, at most pendingHead
	score string
}

const (
	pendingHead = 2048
	cursorHead  = 17 // bytes of a member by which the next page finds its place
	cursorWhole = "w"
)

// Entry returns the first bytes of what the member holds, and the length of the
// whole; of a member that is none of Redisson's, its own.
func (p *Pending) Entry() (head []byte, size int) {
	for _, form := range []int{memberForm, memberFormForAll} {
		n := form + 9 // 1 and the id, then the length
		if len(p.Head) < n || form == memberForm && p.Head[0] != memberForm {
			continue
		}
		if binary.LittleEndian.Uint64(p.Head[n-8:n]) == uint64(p.Size-n) {
			return p.Head[n:], p.Size - n
		}
	}
	return p.Head, p.Size
}

// Cursor is where the page after this event begins: behind all of its score that begin
// as it does, or, with a mark, behind a member that is given whole.
func (p *Pending) Cursor() string {
	if p.Size < cursorHead {
		return p.score + "-" + hex.EncodeToString(p.Head) + cursorWhole
	}
	return p.score + "-" + hex.EncodeToString(p.Head[:min(cursorHead, len(p.Head))])
}

// Pending lists up to most delayed events in the order in which they are due, from
// a cursor on, "" for the start.
func (s *Store) Pending(ctx context.Context, k *Keys, cursor string, most int) (events []Pending, more bool, err error) {
	at := max(0, strings.LastIndexByte(cursor, '-')) // the score may have one too
	score, text, ok := cursor[:at], strings.TrimPrefix(cursor[at:], "-"), at > 0
	text, whole := strings.CutSuffix(text, cursorWhole)
	head, err := hex.DecodeString(text)
	_, notNumber := strconv.ParseFloat(score, 64)
	if cursor != "" && (!ok || err != nil || notNumber != nil) {
		return nil, false, errs.Invalid("cursor", cursor, "it is not one that a list has returned")
	}
	if whole {
		head = append(head, 0) // what follows it immediately
	}
	reply, err := s.eval(ctx, "pending", []string{k.Delayed}, score, head, most, pendingHead, flag(!whole)).Slice()
	if err != nil {
		return nil, false, s.wrap(ctx, fmt.Sprintf("list delayed events of topic %q, group %q", k.Topic, k.Group), err, k.Delayed)
	}
	events = make([]Pending, 0, len(reply)/3)
	for i := 1; i+2 < len(reply); i += 3 {
		p := Pending{score: reply[i].(string), Size: int(reply[i+1].(int64)), Head: []byte(reply[i+2].(string))}
		due, _ := strconv.ParseFloat(p.score, 64)
		p.Due = dueTime(due)
		events = append(events, p)
	}
	return events, reply[0].(int64) > 0, nil
}

// dueTime is the time of a score. Others may have written any.
func dueTime(score float64) time.Time {
	return time.UnixMilli(int64(min(max(score, 0), float64(endOfTime.UnixMilli())))).UTC()
}

// maxUnreadableBytes is how much of what was set aside is read at once.
const maxUnreadableBytes = 1 << 20

// Unreadable returns how many members were set aside that are none of Redisson's,
// and the first of them, up to most, and as far as a bounded reply holds them.
func (s *Store) Unreadable(ctx context.Context, k *Keys, delivery Delivery, most int) (total int64, members [][]byte, err error) {
	// They stand as due events do in a queue; see Transfer.
	right := flag(delivery == AtLeastOnce)
	reply, err := s.eval(ctx, "unreadable", []string{k.Unreadable}, right, most, maxUnreadableBytes).Slice()
	if err != nil {
		return 0, nil, s.wrap(ctx, fmt.Sprintf("list unreadable delayed events of topic %q, group %q", k.Topic, k.Group), err, k.Unreadable)
	}
	for _, member := range reply[1:] {
		members = append(members, []byte(member.(string)))
	}
	return reply[0].(int64), members, nil
}
