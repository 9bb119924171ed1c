package cli

import (
	"fmt"
	"math"
	"time"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
	"github.com/seed4933/eventbus/eventbus"
)

// delayedView is a delayed event as JSON shows it.
type delayedView struct {
	Topic string `json:"topic"`
	Group string `json:"group,omitempty"` // left out where the server has not told it
	ID    string `json:"id"`              // "" where it is not known
	// Due and InMS are null where another program has written a time that no
	// calendar has: the event is never due. InMS is below zero where it is overdue.
	Due  *time.Time `json:"due"`
	InMS *int64     `json:"in_ms"`
	Size int        `json:"size"`

	in string // InMS, for the table
}

// viewDelayed shows an event at a moment of Redis's clock.
func viewDelayed(topic, group string, e eventbus.DelayedEvent, now time.Time) delayedView {
	v := delayedView{Topic: topic, Group: group, ID: e.ID, Due: dueTime(e.DueAt), Size: e.Size, in: until(e.DueAt, now)}
	if v.Due != nil {
		ms := e.DueAt.UnixMilli() - now.UnixMilli()
		v.InMS = &ms
	}
	return v
}

// lastYear is the last that RFC 3339 can write, and JSON with it. What is due then, or
// after that, is never due.
const lastYear = 9999

// dueTime is a due time for JSON: nil where there is none, or never.
func dueTime(t time.Time) *time.Time {
	if t.Year() >= lastYear {
		return nil
	}
	return show.Moment(t)
}

// until shows how long from now a due time is.
func until(t, now time.Time) string {
	// What is less than a millisecond is the time that the question took.
	switch left := t.Sub(now); {
	case t.IsZero():
		return "-"
	case t.Year() >= lastYear:
		return "never"
	case left.Truncate(time.Millisecond) == 0:
		return "now"
	case left < 0:
		return "overdue " + show.Duration(-left)
	case left == math.MaxInt64: // longer than a Duration can be
		return "over " + show.Duration(left.Truncate(time.Hour))
	default:
		return show.Duration(left)
	}
}

var delayedColumns = []show.Column[delayedView]{
	{Head: "ID", Text: func(v delayedView) string { return show.Or(v.ID) }},
	{Head: "DUE", Text: func(v delayedView) string { return at(v.Due) }},
	{Head: "IN", Text: func(v delayedView) string { return v.in }},
	{Head: "SIZE", Text: func(v delayedView) string { return fmt.Sprint(v.Size) }},
}
