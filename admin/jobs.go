package admin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/seed4933/eventbus/eventbus"
)

const (
	// maxJobs is how many jobs run in one service at once.
	maxJobs = 16
	// jobBeat is how often a running job writes how far it is, and reads whether it was
	// cancelled.
	jobBeat = 500 * time.Millisecond
	// jobAtOnce is how long the beginning of a job, and its cancelling, wait for its
	// end: most are that short.
	jobAtOnce = 250 * time.Millisecond
	// jobLast is how long the writing of a job's end is tried again, where Redis does not
	// take it.
	jobLast = 30 * time.Second
	// jobClosing is how long Close waits for the jobs to end, and for their ends to be
	// written, before it ends the calls that are under way.
	jobClosing = 2 * time.Second
)

var (
	errCancelled = errors.New("the job was cancelled")
	errStopped   = errors.New("the service was closed")
)

// mover moves failures: Replay or Discard.
type mover func(ctx context.Context, topic string, filter eventbus.FailureFilter) (int64, error)

// jobs runs the jobs of one service.
type jobs struct {
	store jobStore

	mu      sync.Mutex
	closed  bool
	closing chan struct{} // closed with it
	running map[string]*runningJob
	active  sync.WaitGroup
}

// runningJob is a job that this service runs.
type runningJob struct {
	job   Job // as it began
	moved atomic.Int64
	stop  context.CancelCauseFunc
	ended chan struct{}
	// after ended
	last Job
	err  error
}

// now is the job as it is known here.
func (r *runningJob) now() Job {
	select {
	case <-r.ended:
		return r.last
	default:
		j := r.job
		j.Moved = r.moved.Load()
		return j
	}
}

func (js *jobs) init(records *eventbus.JobRecords) {
	js.store, js.running, js.closing = jobStore{records}, map[string]*runningJob{}, make(chan struct{})
}

// begin starts a job and waits for its end, for jobAtOnce at most. One that fails by then
// and has moved nothing is an error, and leaves no record. Once it runs it is no error
// that its record cannot be read: it is returned as it is known here.
func (js *jobs) begin(ctx context.Context, j Job, filter eventbus.FailureFilter, move mover) (Job, error) {
	doing := func(err error) error {
		return fmt.Errorf("begin to %s failures of topic %q, group %q: %w", j.Kind, clip(j.Topic, maxName), clip(j.Group, maxName), err)
	}
	j.ID, j.State = uuid.Must(uuid.NewV7()).String(), JobRunning
	on, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	r := &runningJob{stop: stop, ended: make(chan struct{})}
	if err := js.admit(j.ID, r); err != nil {
		stop(nil)
		return Job{}, doing(err)
	}
	first, _, err := js.store.save(ctx, j, false)
	if err != nil {
		stop(nil)
		js.drop(j.ID)
		return Job{}, doing(err)
	}
	js.begun(r, first)
	go js.run(on, r, filter, move)
	select {
	case <-r.ended:
		if r.err != nil && r.last.Moved == 0 {
			_ = js.store.forget(context.WithoutCancel(ctx), j.ID) // else it expires: nobody knows its id
			return Job{}, r.err
		}
	case <-time.After(jobAtOnce):
	case <-ctx.Done(): // it goes on
	}
	return js.known(context.WithoutCancel(ctx), r), nil
}

// known returns a job that runs here, or has just ended, as it stands in Redis, else
// as it is known here.
func (js *jobs) known(ctx context.Context, r *runningJob) Job {
	j, err := js.store.load(ctx, r.job.ID)
	if err != nil {
		return r.now()
	}
	return j
}

// begun says what has become of a job by its first record: cancel may read it.
func (js *jobs) begun(r *runningJob, first Job) {
	js.mu.Lock()
	defer js.mu.Unlock()
	r.job = first
	r.job.State = JobRunning // also where a reply that came late looks like silence
}

func (js *jobs) admit(id string, r *runningJob) error {
	js.mu.Lock()
	defer js.mu.Unlock()
	switch {
	case js.closed:
		return eventbus.ErrClosed
	case len(js.running) >= maxJobs:
		return fmt.Errorf("%w: %d; wait for one to end, or cancel one", ErrTooManyJobs, len(js.running))
	}
	js.running[id] = r
	js.active.Add(1)
	return nil
}

func (js *jobs) drop(id string) {
	js.mu.Lock()
	defer js.mu.Unlock()
	delete(js.running, id)
	js.active.Done()
}

// run carries out a job, and tells of it until its end.
func (js *jobs) run(ctx context.Context, r *runningJob, filter eventbus.FailureFilter, move mover) {
	j := r.job
	defer js.drop(j.ID)
	defer r.stop(nil)
	filter.Progress = r.moved.Store
	done := make(chan error, 1)
	go func() {
		_, err := move(ctx, j.Topic, filter)
		done <- err
	}()
	unwanted := func() bool { return errors.Is(context.Cause(ctx), errCancelled) }
	beat := time.NewTicker(jobBeat)
	defer beat.Stop()
	var err error
	for going := true; going; {
		select {
		case err = <-done:
			going = false
		case <-beat.C:
			j.Moved = r.moved.Load()
			// An error here is no reason to end: whether the job can go on is shown by
			// its own calls.
			if _, cancelled, _ := js.store.save(context.WithoutCancel(ctx), j, unwanted()); cancelled {
				r.stop(errCancelled)
			}
		}
	}
	j.Moved = r.moved.Load()
	switch cause := context.Cause(ctx); {
	case err == nil:
		j.State = JobDone
	case errors.Is(cause, errCancelled):
		j.State = JobCancelled
	case errors.Is(cause, errStopped):
		j.State, j.Error = JobInterrupted, cause.Error()
	default:
		j.State, j.Error, r.err = JobFailed, err.Error(), err
	}
	r.last = js.tell(context.WithoutCancel(ctx), j, unwanted())
	close(r.ended)
}

// tell writes the end of a job, and returns it as it stands then. While Redis cannot be
// reached it tries again, for jobLast at most, and once more when the service is closed.
// A record that is not written even so stands as running, and counts as interrupted
// after jobSilent.
func (js *jobs) tell(ctx context.Context, j Job, cancelled bool) Job {
	ctx, cancel := context.WithTimeout(ctx, jobLast)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		last := js.isClosed()
		told, _, err := js.store.save(ctx, j, cancelled)
		if err == nil {
			return told
		}
		if last {
			return j
		}
		select {
		case <-time.After(pause):
		case <-js.closing:
		case <-ctx.Done():
			return j
		}
	}
}

func (js *jobs) isClosed() bool {
	js.mu.Lock()
	defer js.mu.Unlock()
	return js.closed
}

func (js *jobs) get(ctx context.Context, id string) (Job, error) { return js.store.load(ctx, id) }

// cancel asks a job to end, and waits a moment for it. One that runs here ends also
// where Redis cannot be asked.
func (js *jobs) cancel(ctx context.Context, id string) (Job, error) {
	js.mu.Lock()
	r := js.running[id]
	if r != nil && r.job.ID == "" {
		r = nil // not begun yet, and its id told to nobody
	}
	js.mu.Unlock()
	if r != nil {
		r.stop(errCancelled)
	}
	j, err := js.store.cancel(ctx, id)
	if r == nil {
		return j, err
	}
	select {
	case <-r.ended:
	case <-time.After(jobAtOnce):
	case <-ctx.Done():
	}
	return js.known(context.WithoutCancel(ctx), r), nil
}

// close ends the jobs and waits for them. After jobClosing it calls halt, which is
// to end the calls that are under way.
func (js *jobs) close(halt func() error) error {
	js.mu.Lock()
	if !js.closed {
		js.closed = true
		close(js.closing)
	}
	for _, r := range js.running {
		r.stop(errStopped)
	}
	js.mu.Unlock()
	all := make(chan struct{})
	go func() {
		defer close(all)
		js.active.Wait()
	}()
	select {
	case <-all:
	case <-time.After(jobClosing):
	}
	err := halt()
	<-all
	return err
}
