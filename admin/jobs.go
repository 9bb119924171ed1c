package admin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus"
)

const (
	// maxJobs is how many jobs run in one service at once.
	maxJobs = 16
	// jobBeat is how often a running job tells how far it is, and asks whether it
	// is wanted any more.
	jobBeat = 500 * time.Millisecond
	// jobAtOnce is how long the beginning of a job, and its cancelling, wait for its
	// end: most are that short.
	jobAtOnce = 250 * time.Millisecond
	// jobLast is for how long the end of a job is tried to be told.
	jobLast = 30 * time.Second
)

var (
	errCancelled = errors.New("the job was cancelled")
	errStopped   = errors.New("the service was closed")
)

// mover moves failures: Replay or Discard.
type mover func(ctx context.Context, topic string, filter eventbus.FailureFilter) (int64, error)

// jobs runs the jobs of one service.
type jobs struct {
	store *jobStore

	mu      sync.Mutex
	closed  bool
	running map[string]*running
	all     sync.WaitGroup
}

// running is a job that this service runs.
type running struct {
	stop  context.CancelCauseFunc
	ended chan struct{}
	// after ended
	last Job
	err  error
}

func (js *jobs) init(rdb redis.UniversalClient, namespace string) {
	js.store, js.running = newJobStore(rdb, namespace), map[string]*running{}
}

// begin starts a job and waits a moment for its end. What is wrong with the filter
// or the topic is an error at once, and no job.
func (js *jobs) begin(ctx context.Context, j Job, filter eventbus.FailureFilter, move mover) (Job, error) {
	doing := func(err error) error {
		return fmt.Errorf("begin to %s failures of topic %q, group %q: %w", j.Kind, j.Topic, j.Group, err)
	}
	j.ID, j.State = uuid.Must(uuid.NewV7()).String(), JobRunning
	on, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	r := &running{stop: stop, ended: make(chan struct{})}
	if err := js.admit(j.ID, r); err != nil {
		return Job{}, doing(err)
	}
	if _, err := js.store.save(ctx, j); err != nil {
		js.drop(j.ID)
		return Job{}, doing(err)
	}
	go js.run(on, j, r, filter, move)
	select {
	case <-r.ended:
		if r.err != nil && r.last.Moved == 0 {
			_ = js.store.forget(context.WithoutCancel(ctx), j.ID) // else it expires: nobody knows its id
			return Job{}, r.err
		}
		return js.get(ctx, j.ID)
	case <-time.After(jobAtOnce):
	case <-ctx.Done(): // it goes on
	}
	return js.get(context.WithoutCancel(ctx), j.ID)
}

func (js *jobs) admit(id string, r *running) error {
	js.mu.Lock()
	defer js.mu.Unlock()
	switch {
	case js.closed:
		return eventbus.ErrClosed
	case len(js.running) >= maxJobs:
		return fmt.Errorf("%w: %d; wait for one to end, or cancel one", ErrTooManyJobs, len(js.running))
	}
	js.running[id] = r
	js.all.Add(1)
	return nil
}

func (js *jobs) drop(id string) {
	js.mu.Lock()
	defer js.mu.Unlock()
	delete(js.running, id)
	js.all.Done()
}

// run carries out a job, and tells of it until its end.
func (js *jobs) run(ctx context.Context, j Job, r *running, filter eventbus.FailureFilter, move mover) {
	defer js.drop(j.ID)
	defer r.stop(nil)
	var moved atomic.Int64
	filter.Progress = moved.Store
	done := make(chan error, 1)
	go func() {
		_, err := move(ctx, j.Topic, filter)
		done <- err
	}()
	beat := time.NewTicker(jobBeat)
	defer beat.Stop()
	var err error
	for going := true; going; {
		select {
		case err = <-done:
			going = false
		case <-beat.C:
			j.Moved = moved.Load()
			// An error here is no reason to end: whether the job can go on is shown by
			// its own calls.
			if cancelled, _ := js.store.save(ctx, j); cancelled {
				r.stop(errCancelled)
			}
		}
	}
	j.Moved = moved.Load()
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
	js.tell(context.WithoutCancel(ctx), j)
	r.last = j
	close(r.ended)
}

// tell writes the end of a job. While Redis cannot be reached it tries again for
// some time; what then still stands there as running is seen as interrupted.
func (js *jobs) tell(ctx context.Context, j Job) {
	ctx, cancel := context.WithTimeout(ctx, jobLast)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		if _, err := js.store.save(ctx, j); err == nil || js.isClosed() {
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

func (js *jobs) isClosed() bool {
	js.mu.Lock()
	defer js.mu.Unlock()
	return js.closed
}

func (js *jobs) get(ctx context.Context, id string) (Job, error) {
	j, err := js.store.load(ctx, id)
	if err != nil {
		return Job{}, fmt.Errorf("read job %q: %w", id, err)
	}
	return j, nil
}

// cancel asks a job to end, and waits a moment for it.
func (js *jobs) cancel(ctx context.Context, id string) (Job, error) {
	j, err := js.store.cancel(ctx, id)
	if err != nil {
		return Job{}, fmt.Errorf("cancel job %q: %w", id, err)
	}
	js.mu.Lock()
	r := js.running[id]
	js.mu.Unlock()
	if r == nil {
		return j, nil
	}
	r.stop(errCancelled)
	select {
	case <-r.ended:
	case <-time.After(jobAtOnce):
	case <-ctx.Done():
	}
	return js.get(ctx, id)
}

// close ends the jobs and waits for them.
func (js *jobs) close() {
	js.mu.Lock()
	js.closed = true
	for _, r := range js.running {
		r.stop(errStopped)
	}
	js.mu.Unlock()
	js.all.Wait()
}
