package dispatch

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// usual are the settings of a handler that nothing holds back.
func usual() Settings {
	return Settings{Enabled: true, Timeout: 10 * time.Second, MaxAbandoned: 16}
}

// with returns the usual settings changed by f.
func with(f func(*Settings)) Settings {
	s := usual()
	f(&s)
	return s
}

// Run is what a task calls.
type Run func(ctx context.Context) error

// Task is one handler's share of a job.
type Task struct {
	Handler *Handler
	Run     Run
}

// work is made of functions.
type work struct {
	runs   []Run
	finish func([]Result)
}

func (w *work) Run(ctx context.Context, i int) error { return w.runs[i](ctx) }
func (w *work) Finish(results []Result)              { w.finish(results) }

func newJob(topic string, finish func([]Result), tasks ...Task) *Job {
	w := &work{finish: finish}
	job := &Job{Topic: topic, Work: w}
	for _, task := range tasks {
		job.Handlers = append(job.Handlers, task.Handler)
		w.runs = append(w.runs, task.Run)
	}
	return job
}

// testBundle is a pool in a bubble of synctest, where time passes only while all
// wait: every duration in these tests is exact.
type testBundle struct {
	t        *testing.T
	pool     *Pool
	finished atomic.Int64
}

// inBubble runs f with a pool of the given size, which is stopped afterwards.
func inBubble(t *testing.T, size int, f func(t *testing.T, b *testBundle)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &testBundle{t: t, pool: New(Config{Size: size})}
		defer func() { b.pool.Stop(t.Context()) }()
		f(t, b)
	})
}

// submit returns the channel on which the job's results come; a second Finish
// would close it twice and panic.
func (b *testBundle) submit(tasks ...Task) <-chan []Result {
	done := make(chan []Result, 1)
	b.pool.Submit(newJob("orders", func(results []Result) {
		done <- results
		close(done)
		b.finished.Add(1)
	}, tasks...))
	return done
}

// run submits one task and waits for its result.
func (b *testBundle) run(h *Handler, f Run) Result {
	b.t.Helper()
	results := <-b.submit(Task{h, f})
	require.Len(b.t, results, 1)
	require.Same(b.t, h, results[0].Handler)
	return results[0]
}

func (b *testBundle) requireStats(h *Handler, running, waiting, abandoned int) {
	b.t.Helper()
	synctest.Wait()
	r, w, a := h.Stats()
	require.Equal(b.t, [3]int{running, waiting, abandoned}, [3]int{r, w, a}, "running, waiting, abandoned")
}

// pass lets the bubble's time pass.
func pass(d time.Duration) { <-time.After(d) }

// returns is a handler that returns err at once.
func returns(err error) Run { return func(context.Context) error { return err } }

// ignores is a handler that heeds nothing but release.
func ignores(release <-chan struct{}) Run {
	return func(context.Context) error { <-release; return nil }
}

// heeds is a handler that waits for the end of its context.
func heeds(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
