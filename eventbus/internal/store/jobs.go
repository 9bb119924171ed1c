package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// Job is the record of one job, by which all processes of a namespace know it.
type Job struct {
	ID string
	// State is what the job's process says of it; "running" until its end.
	State  string
	Fields map[string]string // what else is kept
	// Started is when it was first saved, Updated when it was last, by Redis's
	// clock. Silent is the time since then.
	Started, Updated time.Time
	Silent           time.Duration
	Cancelled        bool // somebody wants it to end
}

// The fields of a record that are not in Job.Fields.
const (
	jobState     = "state"
	jobStarted   = "started"
	jobUpdated   = "updated"
	jobCancelled = "cancel"
)

func (ns keyspace) job(id string) string { return string(ns) + ":job:" + id }

// SaveJob writes a record, which is then kept for some time, and returns it as it
// stands. One that has ended is not made running again. Where there is none (any
// more) it is made, with the job's Started, if that is not zero, and its wish to end.
func (s *Store) SaveJob(ctx context.Context, j Job, kept time.Duration) (Job, error) {
	args := []any{"save", kept.Milliseconds(), "", flag(j.Cancelled), j.State}
	if !j.Started.IsZero() {
		args[2] = j.Started.UnixMilli()
	}
	for _, field := range slices.Sorted(maps.Keys(j.Fields)) {
		args = append(args, field, j.Fields[field])
	}
	j, _, err := s.job(ctx, "write", j.ID, args...)
	return j, err
}

// LoadJob reads a record.
func (s *Store) LoadJob(ctx context.Context, id string) (j Job, found bool, err error) {
	return s.job(ctx, "read", id, "load")
}

// CancelJob writes that somebody wants a job to end.
func (s *Store) CancelJob(ctx context.Context, id string) (j Job, found bool, err error) {
	return s.job(ctx, "cancel", id, "cancel")
}

// ForgetJob removes a record.
func (s *Store) ForgetJob(ctx context.Context, id string) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return s.wrap(ctx, fmt.Sprintf("forget job %s", errs.Quote(id)), s.rdb.Unlink(ctx, s.ns.job(id)).Err())
}

func (s *Store) job(ctx context.Context, verb, id string, args ...any) (j Job, found bool, err error) {
	key := s.ns.job(id)
	reply, err := s.eval(ctx, "job", []string{key}, args...).StringSlice()
	if err != nil {
		return Job{}, false, s.wrap(ctx, fmt.Sprintf("%s job %s", verb, errs.Quote(id)), err, key)
	}
	if len(reply) < 2 {
		return Job{}, false, nil
	}
	fields := make(map[string]string, len(reply)/2)
	for i := 1; i+1 < len(reply); i += 2 {
		fields[reply[i]] = reply[i+1]
	}
	j = Job{
		ID: id, State: fields[jobState], Fields: fields, Started: jobTime(fields[jobStarted]), Updated: jobTime(fields[jobUpdated]),
		Cancelled: fields[jobCancelled] == "1",
	}
	j.Silent = jobTime(reply[0]).Sub(j.Updated)
	for _, own := range []string{jobState, jobStarted, jobUpdated, jobCancelled} {
		delete(fields, own)
	}
	return j, true, nil
}

// jobTime reads a time that the script wrote.
func jobTime(ms string) time.Time {
	n, _ := strconv.ParseInt(ms, 10, 64) // a field that somebody spoiled counts as 0
	return time.UnixMilli(n).UTC()
}
