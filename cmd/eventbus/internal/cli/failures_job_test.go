package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
)

// jobAPI has one job, which moves one failure in each tenth of a second until it has
// moved all, or somebody cancels it.
type jobAPI struct {
	admin.API // everything else panics
	began     time.Time
	stopped   admin.JobState // "" while it runs
	job       admin.Job
	failing   error // of the calls that ask for it, from failFrom after its beginning up to failTo
	failFrom  time.Duration
	failTo    time.Duration // 0: without end
	deaf      bool          // to the cancelling
}

func begun(total int64) *jobAPI {
	return &jobAPI{began: time.Now(), job: admin.Job{ID: "j", Kind: admin.JobReplay, State: admin.JobRunning, Topic: "orders", Group: "default", Total: total}}
}

func (f *jobAPI) GetJob(context.Context, string) (admin.Job, error) {
	if ran := time.Since(f.began); f.failing != nil && ran >= f.failFrom && (f.failTo == 0 || ran < f.failTo) {
		return admin.Job{}, f.failing
	}
	if f.job.State == admin.JobRunning {
		f.job.Moved = min(f.job.Total, int64(time.Since(f.began)/(100*time.Millisecond)))
		if f.job.Moved == f.job.Total {
			f.job.State = admin.JobDone
		}
		if f.stopped != "" {
			f.job.State = f.stopped
		}
	}
	return f.job, nil
}

func (f *jobAPI) CancelJob(ctx context.Context, id string) (admin.Job, error) {
	if err := ctx.Err(); err != nil {
		return admin.Job{}, err
	}
	job, err := f.GetJob(ctx, id)
	if !f.deaf && err == nil {
		f.stopped = admin.JobCancelled
	}
	return job, err
}

// follow follows the job of a server.
func follow(ctx context.Context, f *jobAPI) (admin.Job, error) { return followIn(ctx, f, true) }

func followIn(ctx context.Context, f *jobAPI, remote bool) (admin.Job, error) {
	a := &app{env: Env{Stderr: &strings.Builder{}}, remote: remote}
	return a.follow(ctx, &session{api: f, group: "default"}, f.job, 0, 0)
}

func TestFollowJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		job, err := follow(t.Context(), begun(25))
		require.NoError(t, err)
		require.EqualValues(t, 25, job.Moved)
		require.Less(t, time.Since(began), 3*time.Second)

		for state, says := range map[admin.JobState]string{
			admin.JobCancelled:   "somebody has cancelled it; begin it again for the rest",
			admin.JobInterrupted: "the process that did it has ended; begin it again for the rest",
			admin.JobFailed:      "redis is unavailable",
		} {
			f := begun(25)
			f.stopped, f.job.Error = state, `replay failures of topic "orders", group "default": 2 done, then: redis is unavailable`
			job, err := follow(t.Context(), f)
			require.EqualError(t, err, says)
			require.EqualValues(t, 2, job.Moved)
			require.False(t, ofConnection(err))
		}
	})
}

// A job in a server goes on while it cannot be asked for, one of this process ends
// with it.
func TestFollowJobOutOfSight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failing := func(err error, to time.Duration) *jobAPI {
			f := begun(100)
			f.failing, f.failFrom, f.failTo = err, time.Second, to
			return f
		}
		f := failing(eventbus.ErrUnavailable, 5*time.Second)
		job, err := follow(t.Context(), f)
		require.NoError(t, err)
		require.EqualValues(t, 100, job.Moved)

		f = failing(eventbus.ErrUnavailable, 0)
		job, err = follow(t.Context(), f)
		require.EqualError(t, err, "job j may go on: redis is unavailable")
		require.InDelta(t, 9, job.Moved, 2)
		require.InDelta(t, time.Second+jobBear, time.Since(f.began), float64(jobPoll))

		f = failing(admin.ErrUnauthenticated, 0)
		_, err = follow(t.Context(), f)
		require.EqualError(t, err, "job j may go on: unauthenticated")
		require.InDelta(t, time.Second, time.Since(f.began), float64(jobPoll), "waiting does not mend it")

		f = failing(eventbus.ErrUnavailable, 0)
		_, err = followIn(t.Context(), f, false)
		require.EqualError(t, err, "it was ended, since how far it is could not be read; begin it again for the rest: redis is unavailable")
		require.InDelta(t, time.Second, time.Since(f.began), float64(jobPoll))

		ctx, cancel := context.WithTimeout(t.Context(), 1150*time.Millisecond)
		defer cancel()
		_, err = followIn(ctx, failing(eventbus.ErrUnavailable, 0), false)
		require.NotContains(t, err.Error(), "may go on")
	})
}

// An interrupt cancels the job, and tells how far it has come.
func TestFollowJobInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1150*time.Millisecond)
		defer cancel()
		f := begun(1000)
		job, err := follow(ctx, f)
		require.ErrorIs(t, err, ctx.Err())
		require.Equal(t, admin.JobCancelled, f.job.State)
		require.InDelta(t, 12, job.Moved, 2)

		// One that is at its end by then has done what was asked for.
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		f = begun(11)
		f.deaf = true
		job, err = follow(ctx, f)
		require.NoError(t, err)
		require.EqualValues(t, 11, job.Moved)

		// One that does not hear of it is not waited for.
		began := time.Now()
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		f = begun(1000)
		f.deaf = true
		job, err = follow(ctx, f)
		require.ErrorContains(t, err, "job j could not be cancelled and may go on")
		require.Greater(t, job.Moved, int64(30))
		require.Equal(t, time.Second+jobLast, time.Since(began))
	})
}

// A job whose beginning is under way at an interrupt is waited for, so that it can be
// cancelled.
func TestBeginJobInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		answer := func(after time.Duration) func(ctx context.Context) (admin.Job, error) {
			return func(ctx context.Context) (admin.Job, error) {
				select {
				case <-time.After(after):
					return admin.Job{ID: "j"}, nil
				case <-ctx.Done():
					return admin.Job{}, ctx.Err()
				}
			}
		}
		job, err := beginJob(ctx, answer(time.Second))
		require.NoError(t, err)
		require.Equal(t, "j", job.ID)
		_, err = beginJob(ctx, answer(time.Hour))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "it may have begun")
		_, err = beginJob(t.Context(), func(context.Context) (admin.Job, error) { return admin.Job{}, errors.New("no") })
		require.EqualError(t, err, "no")
		synctest.Wait()
	})
}

// manyAPI takes as many ids as a service does, and fails at a job.
type manyAPI struct {
	admin.API       // everything else panics
	jobs      []int // how many ids each had
	failAt    int   // the job that cannot be begun
	ids       map[string]bool
	then      func()         // after each
	state     admin.JobState // of each, JobDone where it is empty
}

func (m *manyAPI) ReplayFailures(_ context.Context, topic, group string, filter eventbus.FailureFilter) (admin.Job, error) {
	n := len(filter.IDs)
	m.jobs = append(m.jobs, n)
	if len(m.jobs) == m.failAt {
		return admin.Job{}, admin.ErrTooManyJobs
	}
	for _, id := range filter.IDs {
		m.ids[id] = true
	}
	if m.then != nil {
		m.then()
	}
	return admin.Job{ID: "j", Kind: admin.JobReplay, State: cmp.Or(m.state, admin.JobDone), Topic: topic, Group: group, Moved: int64(n), Total: int64(n)}, nil
}

// More ids than one job takes go by several, and what those have moved counts together.
func TestMoveManyIDs(t *testing.T) {
	t.Parallel()
	ids := make([]string, 2*admin.MaxJobIDs+1)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}
	move := func(ctx context.Context, m *manyAPI, ids []string) (int64, error) {
		m.ids = map[string]bool{}
		a := &app{env: Env{Stderr: &strings.Builder{}}}
		n, _, err := a.move(ctx, &session{api: m, group: "default"}, "orders", eventbus.FailureFilter{IDs: ids}, admin.JobReplay)
		return n, err
	}
	m := &manyAPI{}
	n, err := move(t.Context(), m, ids)
	require.NoError(t, err)
	require.EqualValues(t, len(ids), n)
	require.Equal(t, []int{admin.MaxJobIDs, admin.MaxJobIDs, 1}, m.jobs)
	require.Len(t, m.ids, len(ids))

	m = &manyAPI{failAt: 2}
	n, err = move(t.Context(), m, ids)
	require.ErrorIs(t, err, admin.ErrTooManyJobs)
	require.ErrorContains(t, err, `replay failures of topic "orders", group "default": 1000 replayed, then: `)
	require.EqualValues(t, admin.MaxJobIDs, n)

	// Whoever did it may have moved more than it came to tell.
	_, err = move(t.Context(), &manyAPI{state: admin.JobInterrupted}, ids)
	require.ErrorContains(t, err, "at least 1000 replayed, then: the process that did it has ended")

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m = &manyAPI{then: cancel}
	n, err = move(ctx, m, ids)
	require.ErrorIs(t, err, context.Canceled)
	require.EqualValues(t, admin.MaxJobIDs, n)
	require.Equal(t, []int{admin.MaxJobIDs}, m.jobs, "no job is begun after an interrupt")
}
