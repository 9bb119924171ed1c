package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
	"github.com/seed4933/eventbus/eventbus"
)

// A replay is a job that the administration carries out. In a server it goes on when
// this process is gone, so that an interrupt must cancel it; here it ends with the
// session:
//
//	begin ──▶ running ── asked every jobPoll ──▶ done, failed, interrupted
//	             │                                  ▲
//	          Ctrl-C ──▶ cancel ── for jobLast ─────┘ or cancelled

const (
	jobPoll = 200 * time.Millisecond
	// jobLast is for how long after an interrupt the end of a job is waited for.
	jobLast = 5 * time.Second
	// jobBear is for how long a job in a server is asked for in vain: the server
	// may be starting again, or out of its Redis's reach for a moment.
	jobBear = 5 * time.Second
)

// past are the words for what jobs have done.
var past = map[admin.JobKind]string{admin.JobReplay: "replayed", admin.JobDiscard: "discarded"}

// move replays or discards, and tells on a terminal how far it has come. More ids
// than one job takes are moved by jobs one after another. The answer names the group
// where the session does not know it.
func (a *app) move(ctx context.Context, s *session, topic string, filter eventbus.FailureFilter, kind admin.JobKind) (moved int64, group string, err error) {
	group = s.group
	all := parts(filter)
	if err := checkFilter(ctx, s, topic, all[0], kind); err != nil { // what is wrong is wrong with each
		return 0, group, err
	}
	begin := s.api.ReplayFailures
	if kind == admin.JobDiscard {
		begin = s.api.DiscardFailures
	}
	for i, part := range all {
		job, err := admin.Job{}, ctx.Err()
		if i == 0 || err == nil {
			job, err = beginJob(ctx, func(ctx context.Context) (admin.Job, error) { return begin(ctx, topic, s.group, part) })
		}
		switch {
		case err == nil:
			job, err = a.follow(ctx, s, job, moved, int64(len(filter.IDs)))
			moved, group = moved+job.Moved, cmp.Or(group, job.Group)
		case i == 0:
			return 0, group, s.insteadOfCounting(ctx, kind, topic, err)
		}
		if err != nil {
			return moved, group, fmt.Errorf("%s: %s%d %s, then: %w", moving(kind, topic, group), atLeast(job), moved, past[kind], err)
		}
	}
	if missing := int64(len(filter.IDs)) - moved; missing > 0 {
		return moved, group, fmt.Errorf("%s: %d of %s: %w", moving(kind, topic, group), missing, show.Count(len(filter.IDs), "id"), eventbus.ErrFailureNotFound)
	}
	return moved, group, nil
}

// atLeast goes before the number that a job has moved: whoever did it has not come to
// tell of its last steps.
func atLeast(job admin.Job) string {
	if job.State == admin.JobRunning || job.State == admin.JobInterrupted {
		return "at least "
	}
	return ""
}

// parts are what one job each takes of a filter.
func parts(filter eventbus.FailureFilter) (all []eventbus.FailureFilter) {
	if len(filter.IDs) <= admin.MaxJobIDs {
		return []eventbus.FailureFilter{filter}
	}
	for ids := range slices.Chunk(filter.IDs, admin.MaxJobIDs) {
		part := filter
		part.IDs = ids
		all = append(all, part)
	}
	return all
}

// checkFilter has a filter checked before any server is asked.
func checkFilter(ctx context.Context, s *session, topic string, filter eventbus.FailureFilter, kind admin.JobKind) error {
	return offline(func(bus *eventbus.Bus) error {
		f := bus.Failures().InGroup(cmp.Or(s.group, eventbus.DefaultGroup))
		if kind == admin.JobDiscard {
			_, err := f.Discard(ctx, topic, filter)
			return err
		}
		_, err := f.Replay(ctx, topic, filter)
		return err
	})
}

// beginJob waits for the answer for some time after an interrupt, too: without it
// nobody would know the job, and could cancel it.
func beginJob(ctx context.Context, begin func(ctx context.Context) (admin.Job, error)) (admin.Job, error) {
	type begun struct {
		job admin.Job
		err error
	}
	on, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	answer := make(chan begun, 1)
	go func() {
		job, err := begin(on)
		answer <- begun{job, err}
	}()
	select {
	case b := <-answer:
		return b.job, b.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(jobLast)
	defer timer.Stop()
	select {
	case b := <-answer:
		return b.job, b.err
	case <-timer.C:
		return admin.Job{}, fmt.Errorf("no answer came, it may have begun: %w", ctx.Err())
	}
}

// follow waits for the end of a job, and cancels it when ctx ends. The job that it
// returns is as it was last seen. Earlier ones have moved before, of ids; 0 where
// nobody has counted what there is to move.
func (a *app) follow(ctx context.Context, s *session, job admin.Job, before, ids int64) (admin.Job, error) {
	total := cmp.Or(ids, job.Total)
	var failing time.Time // since when asking fails; zero where it does not
	var moved atomic.Int64
	moved.Store(job.Moved)
	p := a.progress()
	p.every(ctx, func(context.Context) string {
		return fmt.Sprintf("%s %d of %d", past[job.Kind], before+moved.Load(), total)
	})
	defer p.end()
	for job.State == admin.JobRunning {
		if pause(ctx, jobPoll) != nil {
			return a.cancelJob(ctx, s, job)
		}
		now, err := s.api.GetJob(ctx, job.ID)
		switch {
		case err != nil && ctx.Err() != nil:
			return a.cancelJob(ctx, s, job)
		case err != nil && !a.remote:
			return job, endedHere(err)
		case err != nil:
			if failing.IsZero() {
				failing = time.Now()
			}
			if !errors.Is(err, eventbus.ErrUnavailable) || time.Since(failing) >= jobBear {
				return job, fmt.Errorf("job %s may go on: %w", job.ID, err)
			}
			continue
		}
		job, failing = now, time.Time{}
		moved.Store(job.Moved)
	}
	return job, outcome(job)
}

// endedHere says what becomes of a job of this process that cannot be asked for: the
// end of the session ends it.
func endedHere(err error) error {
	return fmt.Errorf("it was ended, since how far it is could not be read; begin it again for the rest: %w", err)
}

// cancelJob cancels a job after an interrupt and waits for its end.
func (a *app) cancelJob(ctx context.Context, s *session, job admin.Job) (admin.Job, error) {
	interrupted := ctx.Err()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), jobLast)
	defer cancel()
	now, err := s.api.CancelJob(ctx, job.ID)
	for err == nil && now.State == admin.JobRunning {
		job = now
		if err = pause(ctx, jobPoll); err == nil {
			now, err = s.api.GetJob(ctx, job.ID)
		}
	}
	switch {
	case err != nil && !a.remote:
		return job, fmt.Errorf("%w; %w", endedHere(err), interrupted)
	case err != nil:
		return job, fmt.Errorf("job %s could not be cancelled and may go on: %w; %w", job.ID, err, interrupted)
	case now.State == admin.JobCancelled:
		return now, fmt.Errorf("no more: %w", interrupted)
	}
	return now, outcome(now) // it was quicker
}

// jobError says why a job has not come to its end.
type jobError struct{ text string }

func (e *jobError) Error() string { return e.text }

// outcome is nil for a job that went through all that was picked.
func outcome(job admin.Job) error {
	switch job.State {
	case admin.JobDone:
		return nil
	case admin.JobCancelled:
		return &jobError{"somebody has cancelled it; begin it again for the rest"}
	case admin.JobInterrupted:
		return &jobError{"the process that did it has ended; begin it again for the rest"}
	}
	// Its error says itself what was done, and how often.
	text, _ := strings.CutPrefix(job.Error, moving(job.Kind, job.Topic, job.Group)+": ")
	text, _ = strings.CutPrefix(text, fmt.Sprintf("%d done, then: ", job.Moved))
	return &jobError{text}
}
