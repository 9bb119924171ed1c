package dispatch

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/outcome"
)

// behaviour is what a handler does in one run: something, after some time, with
// or without regard for its context.
type behaviour struct {
	after time.Duration
	heeds bool
	last  string
}

var lasts = []string{"nil", "error", "reject", "snooze", "later", "panic", "goexit"}

func drawBehaviour(t *rapid.T) behaviour {
	return behaviour{
		after: drawTime(t, "run", 2500),
		heeds: rapid.Bool().Draw(t, "heeds"),
		last:  rapid.SampledFrom(lasts).Draw(t, "last"),
	}
}

// drawTime returns whole milliseconds, few enough that many things fall together.
func drawTime(t *rapid.T, label string, most int) time.Duration {
	return time.Duration(rapid.IntRange(0, most/50).Draw(t, label)) * 50 * time.Millisecond
}

func drawSettings(t *rapid.T) Settings {
	return Settings{
		Enabled:         rapid.IntRange(0, 9).Draw(t, "enabled") > 0,
		Timeout:         drawTime(t, "timeout", 2000) + time.Millisecond,
		Concurrency:     rapid.IntRange(0, 2).Draw(t, "concurrency"),
		MaxAbandoned:    rapid.IntRange(1, 4).Draw(t, "max abandoned"),
		BreakerFailures: rapid.IntRange(0, 3).Draw(t, "breaker failures"),
		BreakerOpen:     drawTime(t, "breaker open", 1000),
	}
}

// observed is what the test saw of one task, beside the pool's result.
type observed struct {
	handler   *Handler
	timeout   time.Duration
	behaviour behaviour
	calls     int
	began     time.Time
	ended     time.Time // when it was about to return, panic or exit
	cancelled bool      // it returned its context's error
}

// observer counts what happens in a pool.
type observer struct {
	mu       sync.Mutex
	given    int // jobs whose Submit has returned
	tasks    [][]*observed
	results  [][]Result
	finishes []int
}

func (o *observer) run(seen *observed) Run {
	return func(ctx context.Context) error {
		o.mu.Lock()
		seen.calls++
		seen.began = time.Now()
		seen.timeout = ctxTimeout(ctx)
		o.mu.Unlock()
		var err error
		if seen.behaviour.heeds {
			select {
			case <-time.After(seen.behaviour.after):
			case <-ctx.Done():
				err = ctx.Err()
			}
		} else {
			pass(seen.behaviour.after)
		}
		o.mu.Lock()
		seen.ended, seen.cancelled = time.Now(), err != nil
		o.mu.Unlock()
		if err != nil {
			return err
		}
		switch seen.behaviour.last {
		case "error":
			return errDown
		case "reject":
			return outcome.Reject(errDown)
		case "snooze":
			return outcome.Snooze(time.Second)
		case "later":
			return outcome.RetryAfter(time.Second, errDown)
		case "panic":
			panic("boom")
		case "goexit":
			runtime.Goexit()
		}
		return nil
	}
}

func ctxTimeout(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline()
	return time.Until(deadline)
}

// job returns a job whose tasks and results the observer records.
func (o *observer) job(t *rapid.T, handlers []*Handler) *Job {
	index := len(o.tasks)
	var seen []*observed
	topic := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "topic")
	var tasks []Task
	for range rapid.IntRange(0, 3).Draw(t, "tasks") {
		which := rapid.IntRange(0, len(handlers)-1).Draw(t, "handler") // rapid prints what it draws
		task := &observed{handler: handlers[which], behaviour: drawBehaviour(t)}
		seen = append(seen, task)
		tasks = append(tasks, Task{task.handler, o.run(task)})
	}
	blocked := drawTime(t, "finish", 200)
	job := newJob(topic, func(results []Result) {
		pass(blocked)
		o.mu.Lock()
		defer o.mu.Unlock()
		o.finishes[index]++
		o.results[index] = results
	}, tasks...)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tasks = append(o.tasks, seen)
	o.results = append(o.results, nil)
	o.finishes = append(o.finishes, 0)
	return job
}

// Whatever handlers do, whenever settings change and however many stops come at
// whatever time: each job is finished once, with one result for each task, and
// the result says what happened.
func TestEveryTaskHasOneTrueResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// A bubble's test has no Deadline, which rapid would ask for: hidden.
		rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) {
			o := &observer{}
			pool := New(Config{Size: rapid.IntRange(1, 4).Draw(t, "size"), OnRelease: func(int) {}})
			var handlers []*Handler
			for _, id := range []string{"x", "y"} {
				handlers = append(handlers, NewHandler(id, drawSettings(t)))
			}
			hardAt := time.Now().Add(time.Hour)
			var stops sync.WaitGroup
			steps := rapid.IntRange(1, 20).Draw(t, "steps")
			for range steps {
				switch rapid.IntRange(0, 9).Draw(t, "step") {
				case 0:
					handlers[rapid.IntRange(0, 1).Draw(t, "which")].Apply(drawSettings(t))
				case 1:
					soft := drawTime(t, "soft", 3000)
					hardAt = earlier(hardAt, time.Now().Add(soft))
					stops.Go(func() { o.stop(t, pool, soft) })
				case 2, 3:
					pass(drawTime(t, "pause", 1000))
				default:
					pool.Submit(o.job(t, handlers))
					o.mu.Lock()
					o.given++
					o.mu.Unlock()
				}
			}
			last := drawTime(t, "last soft", 3000)
			hardAt = earlier(hardAt, time.Now().Add(last))
			o.stop(t, pool, last)
			stops.Wait()
			require.Zero(t, pool.Running())
			require.Empty(t, pool.topics)
			require.Nil(t, pool.parked)
			pass(time.Minute) // until the last abandoned run has ended
			for _, h := range handlers {
				running, waiting, abandoned := h.Stats()
				require.Equal(t, [3]int{}, [3]int{running, waiting, abandoned})
			}
			o.check(t, hardAt)
		})
	})
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// stop checks that Stop returns no earlier than the Finish of every job that it found.
func (o *observer) stop(t *rapid.T, pool *Pool, soft time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), soft)
	defer cancel()
	o.mu.Lock()
	given := o.given
	o.mu.Unlock()
	pool.Stop(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, times := range o.finishes[:given] {
		if times != 1 {
			t.Errorf("job %d was finished %d times when Stop returned", i, times)
		}
	}
}

func (o *observer) check(t *rapid.T, hardAt time.Time) {
	for i, results := range o.results {
		require.Equal(t, 1, o.finishes[i], "Finish")
		require.Len(t, results, len(o.tasks[i]))
		var before time.Time
		for j, result := range results {
			seen := o.tasks[i][j]
			require.Same(t, seen.handler, result.Handler)
			require.GreaterOrEqual(t, result.Wait, time.Duration(0))
			require.LessOrEqual(t, seen.calls, 1)
			if seen.calls == 0 {
				require.Zero(t, result.Took)
				require.Contains(t, []Status{PutOff, Unfinished}, result.Status)
				require.NotEqual(t, Snoozed, result.Reason)
				continue
			}
			require.False(t, seen.began.Before(before), "tasks ran side by side")
			before = seen.began
			o.checkRun(t, seen, result, hardAt)
		}
	}
}

// checkRun checks the result of a task that ran. Where two things fall on the
// same instant either may have come first.
func (o *observer) checkRun(t *rapid.T, seen *observed, result Result, hardAt time.Time) {
	took := seen.ended.Sub(seen.began)
	givenUp := errors.Is(result.Err, errs.Abandoned)
	switch result.Status {
	case Succeeded:
		require.Equal(t, "nil", seen.behaviour.last)
		require.False(t, seen.cancelled)
		require.LessOrEqual(t, took, seen.timeout+abandonGrace)
	case Unfinished:
		require.False(t, seen.ended.Before(hardAt), "it ended before the hard stop")
		require.False(t, seen.began.Add(seen.timeout).Before(hardAt), "its timeout passed before the hard stop")
	case PutOff:
		require.Equal(t, Snoozed, result.Reason)
		require.Equal(t, "snooze", seen.behaviour.last)
		require.Equal(t, time.Second, result.Wait)
	case Failed:
		require.Error(t, result.Err)
		if givenUp {
			require.GreaterOrEqual(t, took, seen.timeout+abandonGrace)
			require.Equal(t, seen.timeout+abandonGrace, result.Took)
			return
		}
		require.LessOrEqual(t, took, seen.timeout+abandonGrace)
		broken := errors.Is(result.Err, errs.Panic)
		panics := seen.behaviour.last == "panic" || seen.behaviour.last == "goexit"
		require.Equal(t, panics && !seen.cancelled, broken, "%v", result.Err)
		if seen.cancelled {
			require.ErrorIs(t, result.Err, errs.Timeout)
		}
	default:
		t.Fatalf("status %v", result.Status)
	}
}
