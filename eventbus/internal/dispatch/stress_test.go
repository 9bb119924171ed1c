package dispatch

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/outcome"
)

// On the real clock, with real scheduling: timeouts, panics, abandoned runs,
// settings and stops all at once. The race detector is the judge of most of it.
func TestStress(t *testing.T) {
	t.Parallel()
	for range 5 {
		const size, jobs = 8, 1000
		var released atomic.Int64
		pool := New(Config{Size: size, OnRelease: func(int) { released.Add(1) }})
		handlers := make([]*Handler, 4)
		draw := func() Settings {
			return Settings{
				Enabled:         rand.IntN(20) > 0,
				Timeout:         time.Duration(1+rand.IntN(3)) * time.Millisecond,
				Concurrency:     rand.IntN(4),
				MaxAbandoned:    1 + rand.IntN(20),
				BreakerFailures: rand.IntN(4),
				BreakerOpen:     time.Duration(rand.IntN(2000)) * time.Microsecond,
			}
		}
		for i := range handlers {
			handlers[i] = NewHandler("h", draw())
		}
		finished := make([]atomic.Int64, jobs)
		deaf := make(chan struct{}) // what deaf handlers wait for
		var working, helpers sync.WaitGroup

		helpers.Go(func() {
			for range 300 {
				h := handlers[rand.IntN(len(handlers))]
				h.Apply(draw())
				h.Blocked()
				h.Stats()
				pool.Free()
				pool.RunningOf("a")
				runtime.Gosched()
			}
		})
		working.Add(jobs)
		for i := range jobs {
			var tasks []Task
			for range rand.IntN(4) {
				tasks = append(tasks, Task{handlers[rand.IntN(len(handlers))], somehow(deaf)})
			}
			pool.Submit(newJob(string(rune('a'+i%3)), func(results []Result) {
				finished[i].Add(1)
				if len(results) != len(tasks) {
					t.Errorf("%d results for %d tasks", len(results), len(tasks))
				}
				working.Done()
			}, tasks...))
			if i == jobs*3/4 {
				for range 3 {
					helpers.Go(func() {
						ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(20))*time.Millisecond)
						defer cancel()
						pool.Stop(ctx)
					})
				}
			}
		}
		working.Wait()
		helpers.Wait()
		pool.Stop(t.Context())
		require.Zero(t, pool.Running())
		require.Empty(t, pool.topics)
		require.EqualValues(t, jobs, released.Load())
		for i := range finished {
			require.EqualValues(t, 1, finished[i].Load())
		}
		close(deaf)
		for _, h := range handlers {
			require.Eventually(t, func() bool {
				running, waiting, abandoned := h.Stats()
				return running == 0 && waiting == 0 && abandoned == 0
			}, 10*time.Second, time.Millisecond)
		}
	}
}

// somehow is a handler that ends in a way drawn anew for each run.
func somehow(deaf <-chan struct{}) Run {
	return func(ctx context.Context) error {
		switch n := rand.IntN(200); {
		case n == 0:
			<-deaf
			return nil
		case n < 4:
			<-ctx.Done()
			return context.Cause(ctx)
		case n < 8:
			panic(errors.New("boom"))
		case n < 12:
			runtime.Goexit()
		case n < 20:
			return errDown
		case n < 24:
			return outcome.Reject(errDown)
		case n < 28:
			return outcome.Snooze(time.Millisecond)
		}
		return nil
	}
}
