package admin

import (
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/idl"
)

func toJob(j Job) *thriftbus.Job {
	return &thriftbus.Job{
		ID: j.ID, Kind: jobKinds.to(j.Kind), State: jobStates.to(j.State), Topic: j.Topic, Group: j.Group, Moved: j.Moved, Total: j.Total,
		StartedMs: idl.Millis(j.Started), UpdatedMs: idl.Millis(j.Updated), Error: j.Error,
	}
}

func fromJob(j *thriftbus.Job) Job {
	return Job{
		ID: j.ID, Kind: jobKinds[j.Kind], State: jobStates[j.State], Topic: j.Topic, Group: j.Group, Moved: j.Moved, Total: j.Total,
		Started: timeOf(j.StartedMs), Updated: timeOf(j.UpdatedMs), Error: j.Error,
	}
}
