package eventbus

import (
	"context"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// JobRecord is the record of one job: a piece of work that one process carries out
// and that all of a namespace may watch and cancel. It is kept in the hash
// NAMESPACE:job:ID.
type JobRecord struct {
	// ID is chosen by who saves it first.
	ID string
	// State is what the job's process says of it; "running" until its end.
	State string
	// Fields is what else is kept. The names "state", "started", "updated" and "cancel"
	// are the record's own.
	Fields map[string]string
	// Started is when it was first saved, Updated when it was last, by Redis's
	// clock. Silent is the time since then.
	Started, Updated time.Time
	Silent           time.Duration
	// Cancelled says that somebody wants the job to end.
	Cancelled bool
}

// JobRecords keeps the records of jobs, over the bus's own connections. Errors of all
// methods: ErrUnavailable, ErrRedisTooOld, ErrLayoutMismatch, ErrWrongType (of the
// record's key), ErrClosed, and ctx's error when that ends first. It is what package
// admin is built on; a program that replays or discards failures calls Failures, or an
// admin.Service.
type JobRecords struct{ bus *Bus }

// JobRecords returns the records of jobs of the bus's namespace.
func (b *Bus) JobRecords() *JobRecords { return &JobRecords{b} }

// Save writes a record, which is then kept for some time, and returns it as it
// stands. One that has ended is not made running again. Where there is none (any
// more) it is made, with r.Started, if that is not zero, else now, and r.Cancelled;
// r.Updated and r.Silent are not used. kept is in whole milliseconds, from now.
func (rs *JobRecords) Save(ctx context.Context, r JobRecord, kept time.Duration) (JobRecord, error) {
	if err := rs.bus.ready(ctx); err != nil {
		return JobRecord{}, err
	}
	j, err := rs.bus.store.SaveJob(ctx, store.Job(r), kept)
	return JobRecord(j), err
}

// Load reads a record; found is false where there is none (any more).
func (rs *JobRecords) Load(ctx context.Context, id string) (r JobRecord, found bool, err error) {
	if err := rs.bus.ready(ctx); err != nil {
		return JobRecord{}, false, err
	}
	j, found, err := rs.bus.store.LoadJob(ctx, id)
	return JobRecord(j), found, err
}

// Cancel writes that somebody wants a job to end, and returns its record; found is false
// where there is none (any more), and none is made. Its process learns of it by its
// next Save.
func (rs *JobRecords) Cancel(ctx context.Context, id string) (r JobRecord, found bool, err error) {
	if err := rs.bus.ready(ctx); err != nil {
		return JobRecord{}, false, err
	}
	j, found, err := rs.bus.store.CancelJob(ctx, id)
	return JobRecord(j), found, err
}

// Forget removes a record; it is no error that there is none.
func (rs *JobRecords) Forget(ctx context.Context, id string) error {
	if err := rs.bus.ready(ctx); err != nil {
		return err
	}
	return rs.bus.store.ForgetJob(ctx, id)
}
