package admin

import (
	"time"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/idl"
)

func toFailure(f eventbus.Failure) *thriftbus.Failure {
	return &thriftbus.Failure{
		ID: f.ID, State: failureStates.to(f.State), Topic: f.Topic, Group: f.Group, Handler: f.Handler, EventID: f.EventID,
		Reason: string(f.Reason), Error: f.Error, Attempts: idl.Int32(f.Attempts), FirstFailedAtMs: idl.Millis(f.FirstFailedAt),
		FailedAtMs: idl.Millis(f.FailedAt), NextAttemptMs: idl.Millis(f.NextAttempt), Size: idl.Int32(f.Size), Event: idl.Event(f.Event),
	}
}

func fromFailure(f *thriftbus.Failure) eventbus.Failure {
	return eventbus.Failure{
		ID: f.ID, State: failureStates[f.State], Topic: f.Topic, Group: f.Group, Handler: f.Handler, EventID: f.EventID,
		Reason: eventbus.FailureReason(f.Reason), Error: f.Error, Attempts: int(f.Attempts), FirstFailedAt: timeOf(f.FirstFailedAtMs),
		FailedAt: timeOf(f.FailedAtMs), NextAttempt: timeOf(f.NextAttemptMs), Size: int(f.Size), Event: fromEvent(f.Event),
	}
}

func toFailureQuery(topic, group string, q eventbus.FailureQuery) *thriftbus.FailureQuery {
	out := &thriftbus.FailureQuery{Topic: topic, Group: group, Page: toPage(Page{Limit: q.Limit, Cursor: q.Cursor})}
	if q.State != "" {
		out.State = new(failureStates.to(q.State))
	}
	if q.Handler != "" {
		out.Handler = &q.Handler
	}
	return out
}

func fromFailureQuery(q *thriftbus.FailureQuery) (eventbus.FailureQuery, error) {
	state, err := failureStates.fromOptional("state", q.State)
	page := fromPage(q.Page)
	return eventbus.FailureQuery{State: deref(state), Handler: deref(q.Handler), Limit: page.Limit, Cursor: page.Cursor}, err
}

func toSelection(topic, group string, f eventbus.FailureFilter) *thriftbus.FailureSelection {
	out := &thriftbus.FailureSelection{Topic: topic, Group: group, Ids: f.IDs}
	if f.Handler != "" {
		out.Handler = &f.Handler
	}
	if !f.Before.IsZero() {
		out.BeforeMs = new(idl.UnixMilli(f.Before))
	}
	if f.All {
		out.All = &f.All
	}
	if f.State != "" {
		out.State = new(failureStates.to(f.State))
	}
	return out
}

func fromSelection(s *thriftbus.FailureSelection) (eventbus.FailureFilter, error) {
	state, err := failureStates.fromOptional("state", s.State)
	f := eventbus.FailureFilter{IDs: s.Ids, Handler: deref(s.Handler), All: deref(s.All), State: deref(state)}
	if s.BeforeMs != nil {
		f.Before = time.UnixMilli(max(*s.BeforeMs, 0)).UTC() // never the zero time, which is none
	}
	return f, err
}
