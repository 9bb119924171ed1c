package cli

import (
	"fmt"
	"time"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
	"github.com/seed4933/eventbus/eventbus"
)

// statsView is the figures of a topic and group as JSON shows them.
type statsView struct {
	Topic    string `json:"topic"`
	Group    string `json:"group"`
	Enabled  bool   `json:"enabled"`
	Waiting  int64  `json:"waiting"`
	InFlight int64  `json:"in_flight"`
	Delayed  int64  `json:"delayed"`
	Retry    int64  `json:"retry"`
	Dead     int64  `json:"dead"`
	OldestMS int64  `json:"oldest_ms"`

	// NextDue is null where no event is delayed. Unreadable delayed events were set
	// aside; delayed list tells of them.
	NextDue    *time.Time `json:"next_due"`
	Unreadable int64      `json:"unreadable"`

	Sent      int64 `json:"sent"`
	Done      int64 `json:"done"`
	Failed    int64 `json:"failed"`
	Died      int64 `json:"died"`
	Replayed  int64 `json:"replayed"`
	Discarded int64 `json:"discarded"`
	Cancelled int64 `json:"cancelled"` // of the delayed events
	Dropped   int64 `json:"dropped"`

	// Rates are null where there is no earlier reading to compare with.
	SentPerSecond   *float64 `json:"sent_per_second"`
	DonePerSecond   *float64 `json:"done_per_second"`
	FailedPerSecond *float64 `json:"failed_per_second"`

	ReadAt *time.Time `json:"read_at"`

	next string // until NextDue, for the table
}

func viewStats(now eventbus.Stats, before *eventbus.Stats) statsView {
	v := statsView{
		Topic: now.Topic, Group: now.Group, Enabled: now.Enabled, Waiting: now.Waiting, InFlight: now.InFlight, Delayed: now.Delayed,
		Retry: now.Retrying, Dead: now.Dead, OldestMS: now.OldestAge.Milliseconds(), Sent: now.Sent, Done: now.Done, Failed: now.Failed,
		Died: now.Died, Replayed: now.Replayed, Discarded: now.Discarded, Cancelled: now.Cancelled, Dropped: now.Dropped, ReadAt: show.Moment(now.ReadAt),
		NextDue: dueTime(now.NextDue), Unreadable: now.Unreadable, next: until(now.NextDue, now.ReadAt),
	}
	if before == nil {
		return v
	}
	if seconds := now.ReadAt.Sub(before.ReadAt).Seconds(); seconds > 0 {
		// a group that was made anew begins at 0 again
		rate := func(now, before int64) *float64 { r := float64(max(0, now-before)) / seconds; return &r }
		v.SentPerSecond = rate(now.Sent, before.Sent)
		v.DonePerSecond = rate(now.Done, before.Done)
		v.FailedPerSecond = rate(now.Failed, before.Failed)
	}
	return v
}

func perSecond(rate *float64) string {
	if rate == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", *rate)
}

// delayed tells of unreadable ones beside, where there are any.
func (v statsView) delayed() string {
	if v.Unreadable == 0 {
		return fmt.Sprint(v.Delayed)
	}
	return fmt.Sprintf("%d (%d unreadable)", v.Delayed, v.Unreadable)
}

var statsColumns = []show.Column[statsView]{
	{Head: "TOPIC", Text: func(v statsView) string { return v.Topic }},
	{Head: "GROUP", Text: func(v statsView) string { return v.Group }},
	{Head: "STATE", Text: func(v statsView) string { return onOff(v.Enabled) }},
	{Head: "WAITING", Text: func(v statsView) string { return fmt.Sprint(v.Waiting) }},
	{Head: "IN FLIGHT", Text: func(v statsView) string { return fmt.Sprint(v.InFlight) }},
	{Head: "DELAYED", Text: statsView.delayed},
	{Head: "NEXT DUE", Text: func(v statsView) string { return v.next }},
	{Head: "RETRY", Text: func(v statsView) string { return fmt.Sprint(v.Retry) }},
	{Head: "DEAD", Text: func(v statsView) string { return fmt.Sprint(v.Dead) }},
	{Head: "OLDEST", Text: func(v statsView) string { return show.Duration(time.Duration(v.OldestMS) * time.Millisecond) }},
	{Head: "SENT/S", Text: func(v statsView) string { return perSecond(v.SentPerSecond) }},
	{Head: "DONE/S", Text: func(v statsView) string { return perSecond(v.DonePerSecond) }},
	{Head: "FAILED/S", Text: func(v statsView) string { return perSecond(v.FailedPerSecond) }},
}
