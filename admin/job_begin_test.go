package admin

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// admitted is a job that has a place, and no record yet.
func admitted(t *testing.T) (js *jobs, r *runningJob, ctx context.Context) {
	t.Helper()
	s, err := New(redistest.Start(t, redistest.Options{}).Client(t), eventbus.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	ctx, stop := context.WithCancelCause(t.Context())
	r = &runningJob{stop: stop, ended: make(chan struct{})}
	require.NoError(t, s.jobs.admit("j", r))
	t.Cleanup(func() { s.jobs.drop("j") })
	return &s.jobs, r, ctx
}

// A job that has no record yet cannot be cancelled: nobody was told its id.
func TestCancelOfAJobThatHasNotBegun(t *testing.T) {
	t.Parallel()
	js, _, ctx := admitted(t)
	_, err := js.cancel(t.Context(), "j")
	require.ErrorIs(t, err, ErrJobNotFound)
	require.NoError(t, ctx.Err(), "it goes on")
}

// From its record on it can, and is then ended here at once.
func TestCancelOfAJobThatHasBegun(t *testing.T) {
	t.Parallel()
	js, r, ctx := admitted(t)
	first, _, err := js.store.save(t.Context(), Job{ID: "j", Kind: JobReplay, State: JobRunning}, false)
	require.NoError(t, err)
	js.begun(r, first)
	_, err = js.cancel(t.Context(), "j")
	require.NoError(t, err)
	require.ErrorIs(t, context.Cause(ctx), errCancelled)
}

// The reply to a job's first record may come so late that the record looks like that of
// a process which is silent; the job runs all the same.
func TestJobRunsWhoseFirstReplyComesLate(t *testing.T) {
	t.Parallel()
	js, r, _ := admitted(t)
	late := fromRecord(eventbus.JobRecord{ID: "j", State: string(JobRunning), Silent: jobSilent + 1, Fields: map[string]string{"total": "5"}})
	require.Equal(t, JobInterrupted, late.State)
	js.begun(r, late)
	require.Equal(t, JobRunning, r.now().State)
	require.EqualValues(t, 5, r.now().Total)
}
