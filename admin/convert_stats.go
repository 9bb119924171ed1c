package admin

import (
	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/idl"
)

func toStats(s eventbus.Stats) *thriftbus.Stats {
	return &thriftbus.Stats{
		Topic: s.Topic, Group: s.Group, Enabled: s.Enabled, Waiting: s.Waiting, InFlight: s.InFlight, Delayed: s.Delayed, Retrying: s.Retrying,
		Dead: s.Dead, OldestAgeMs: toMillis(s.OldestAge), NextDueMs: idl.Millis(s.NextDue), Unreadable: s.Unreadable, Sent: s.Sent, Done: s.Done,
		Failed: s.Failed, PutOff: s.PutOff, Died: s.Died, Replayed: s.Replayed, Discarded: s.Discarded, Dropped: s.Dropped, Cancelled: s.Cancelled, ReadAtMs: idl.Millis(s.ReadAt),
	}
}

func fromStats(s *thriftbus.Stats) eventbus.Stats {
	age, _ := fromMillis("oldest_age_ms", s.OldestAgeMs)
	return eventbus.Stats{
		Topic: s.Topic, Group: s.Group, Enabled: s.Enabled, Waiting: s.Waiting, InFlight: s.InFlight, Delayed: s.Delayed, Retrying: s.Retrying,
		Dead: s.Dead, OldestAge: age, NextDue: timeOf(s.NextDueMs), Unreadable: s.Unreadable, Sent: s.Sent, Done: s.Done,
		Failed: s.Failed, PutOff: s.PutOff, Died: s.Died, Replayed: s.Replayed, Discarded: s.Discarded, Dropped: s.Dropped, Cancelled: s.Cancelled, ReadAt: timeOf(s.ReadAtMs),
	}
}
