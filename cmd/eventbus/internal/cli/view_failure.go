package cli

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
	"github.com/seed4933/eventbus/eventbus"
)

// failureView is a failure as JSON shows it.
type failureView struct {
	ID            string     `json:"id"`
	State         string     `json:"state"`
	Topic         string     `json:"topic"`
	Group         string     `json:"group"`
	Handler       string     `json:"handler"`
	EventID       string     `json:"event_id"`
	Reason        string     `json:"reason"`
	Error         string     `json:"error"`
	Attempts      int        `json:"attempts"`
	FirstFailedAt *time.Time `json:"first_failed_at"`
	FailedAt      *time.Time `json:"failed_at"`
	NextAttempt   *time.Time `json:"next_attempt"`
	Size          int        `json:"size"`
}

func viewFailure(f eventbus.Failure) failureView {
	return failureView{
		ID: f.ID, State: string(f.State), Topic: f.Topic, Group: f.Group, Handler: f.Handler, EventID: f.EventID,
		Reason: string(f.Reason), Error: f.Error, Attempts: f.Attempts, FirstFailedAt: show.Moment(f.FirstFailedAt),
		FailedAt: show.Moment(f.FailedAt), NextAttempt: show.Moment(f.NextAttempt), Size: f.Size,
	}
}

func at(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return show.Time(*t)
}

// errorWidth is how much of an error a row shows, in characters.
const errorWidth = 80

var failureColumns = []show.Column[failureView]{
	{Head: "ID", Text: func(v failureView) string { return v.ID }},
	{Head: "FAILED", Text: func(v failureView) string { return at(v.FailedAt) }},
	{Head: "HANDLER", Text: func(v failureView) string { return show.Or(v.Handler) }},
	{Head: "EVENT", Text: func(v failureView) string { return v.EventID }},
	{Head: "REASON", Text: func(v failureView) string { return v.Reason }},
	{Head: "ATTEMPTS", Text: func(v failureView) string { return fmt.Sprint(v.Attempts) }},
	{Head: "NEXT", Text: func(v failureView) string { return at(v.NextAttempt) }},
	{Head: "ERROR", Text: func(v failureView) string { return show.Cut(v.Error, errorWidth) }},
}

func (v failureView) sheet(e *eventbus.Event) []show.Row {
	rows := []show.Row{
		{Name: "Failure", Text: v.ID}, {Name: "State", Text: v.State}, {Name: "Topic", Text: v.Topic}, {Name: "Group", Text: v.Group},
		{Name: "Handler", Text: show.Or(v.Handler)}, {Name: "Reason", Text: v.Reason}, {Name: "Error", Text: v.Error},
		{Name: "Attempts", Text: fmt.Sprint(v.Attempts)}, {Name: "First failed", Text: at(v.FirstFailedAt)},
		{Name: "Failed", Text: at(v.FailedAt)}, {Name: "Next attempt", Text: at(v.NextAttempt)},
		{Name: "Event", Text: e.ID}, {Name: "Type", Text: e.Type}, {Name: "Source", Text: show.Or(e.Source)},
		{Name: "Sent", Text: show.Time(e.Time)}, {Name: "Content type", Text: show.Or(e.ContentType)},
	}
	var names []string
	for name := range e.Headers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		rows = append(rows, show.Row{Name: "Header", Text: name + "=" + e.Headers[name]})
	}
	return append(rows,
		show.Row{Name: "Payload size", Text: show.Count(len(e.Payload), "byte")},
		show.Row{Name: "Payload", Text: string(e.Payload)})
}

// eventMember is the event as a CloudEvents object of one line.
func eventMember(e *eventbus.Event) show.Member {
	return show.Member{Name: "event", JSON: bytes.TrimSuffix(e.AppendCloudEventLine(nil), []byte("\n"))}
}
