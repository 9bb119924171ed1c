package admin

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/seed4933/eventbus/eventbus"
)

const (
	// jobKept is for how long a job is known after its process last told of it.
	jobKept = 24 * time.Hour
	// jobSilent is after what time of silence its process is taken for dead. It
	// tells of a job every jobBeat.
	jobSilent = 15 * time.Second
)

// jobStore keeps jobs in Redis, so that all services of a namespace know them, and
// they outlive the process that runs them. Times are by Redis's clock.
type jobStore struct{ records *eventbus.JobRecords }

// save writes how far a job is, and that it is to end, and returns it as it stands,
// and whether somebody wants it to end.
func (s *jobStore) save(ctx context.Context, j Job, cancelled bool) (Job, bool, error) {
	r, err := s.records.Save(ctx, eventbus.JobRecord{
		ID: j.ID, State: string(j.State), Started: j.Started, Cancelled: cancelled,
		Fields: map[string]string{
			"kind": string(j.Kind), "topic": j.Topic, "group": j.Group, "error": j.Error,
			"moved": strconv.FormatInt(j.Moved, 10), "total": strconv.FormatInt(j.Total, 10),
		},
	}, jobKept)
	return fromRecord(r), r.Cancelled, err
}

// load reads a job: ErrJobNotFound.
func (s *jobStore) load(ctx context.Context, id string) (Job, error) {
	return known(ctx, "read", id, s.records.Load)
}

// cancel asks whoever runs the job to end it: ErrJobNotFound.
func (s *jobStore) cancel(ctx context.Context, id string) (Job, error) {
	return known(ctx, "cancel", id, s.records.Cancel)
}

// known carries out a call that returns the record of a job, if there is one.
func known(ctx context.Context, verb, id string, do func(ctx context.Context, id string) (eventbus.JobRecord, bool, error)) (Job, error) {
	var r eventbus.JobRecord
	var found bool
	if len(id) <= maxName { // no longer one was ever given
		var err error
		if r, found, err = do(ctx, id); err != nil {
			return Job{}, err
		}
	}
	if !found {
		return Job{}, fmt.Errorf("%s job %q: %w", verb, clip(id, maxName), ErrJobNotFound)
	}
	return fromRecord(r), nil
}

func (s *jobStore) forget(ctx context.Context, id string) error { return s.records.Forget(ctx, id) }

func fromRecord(r eventbus.JobRecord) Job {
	j := Job{
		ID: r.ID, Kind: JobKind(r.Fields["kind"]), State: JobState(r.State), Topic: r.Fields["topic"], Group: r.Fields["group"],
		Moved: number(r.Fields["moved"]), Total: number(r.Fields["total"]), Error: r.Fields["error"],
		Started: r.Started, Updated: r.Updated,
	}
	if j.State == JobRunning && r.Silent > jobSilent {
		j.State = JobInterrupted
	}
	return j
}

// number reads what save wrote.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // a field that somebody spoiled counts as 0
	return n
}
