package dispatch

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTasksRunInOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, 4, func(t *testing.T, b *testBundle) {
		var ran []string // one carrier at a time, so no lock
		task := func(id string, err error) Task {
			return Task{NewHandler(id, usual()), func(context.Context) error {
				pass(time.Second)
				ran = append(ran, id)
				return err
			}}
		}
		failure := errors.New("boom")
		results := <-b.submit(task("a", nil), task("b", failure), task("c", nil))
		require.Equal(t, []string{"a", "b", "c"}, ran)
		require.Len(t, results, 3)
		for i, want := range []struct {
			id     string
			status Status
			err    error
		}{{"a", Succeeded, nil}, {"b", Failed, failure}, {"c", Succeeded, nil}} {
			require.Equal(t, want.id, results[i].Handler.ID())
			require.Equal(t, want.status, results[i].Status)
			require.True(t, errors.Is(results[i].Err, want.err))
			require.Equal(t, time.Second, results[i].Took)
		}
	})
}

func TestJobWithoutTasksIsFinished(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, b *testBundle) {
		require.Empty(t, <-b.submit())
	})
}

func TestAtMostSizeJobsRunAndTheRestWaitInOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, 2, func(t *testing.T, b *testBundle) {
		h := NewHandler("h", usual())
		var started []int
		release := make(chan struct{})
		var last <-chan []Result
		for i := range 6 {
			last = b.submit(Task{h, func(context.Context) error {
				started = append(started, i) // the pool starts them one by one, see below
				<-release
				return nil
			}})
			synctest.Wait()
			require.Equal(t, max(1-i, 0), b.pool.Free())
			require.Equal(t, i+1, b.pool.Running())
			require.Equal(t, i+1, b.pool.RunningOf("orders"))
		}
		require.Equal(t, []int{0, 1}, started)
		require.Zero(t, b.pool.RunningOf("others"))
		for i := 2; i < 6; i++ {
			release <- struct{}{}
			synctest.Wait()
			require.Len(t, started, i+1)
		}
		close(release)
		<-last
		synctest.Wait()
		require.Equal(t, []int{0, 1, 2, 3, 4, 5}, started)
		require.Equal(t, 2, b.pool.Free())
		require.Zero(t, b.pool.Running())
		require.Empty(t, b.pool.topics, "topics that are not running must not pile up")
	})
}

func TestSlotIsFreeOnlyAfterFinish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var pool *Pool
		var events []string
		note := func(what string) {
			events = append(events, fmt.Sprintf("%s, free %d, running %d", what, pool.Free(), pool.RunningOf("orders")))
		}
		pool = New(Config{Size: 1, OnRelease: func(int) { note("released orders") }})
		defer func() { pool.Stop(t.Context()) }()
		unblock := make(chan struct{})
		pool.Submit(newJob("orders", func([]Result) { note("finish"); <-unblock }))
		synctest.Wait()
		pool.Submit(newJob("orders", func([]Result) { note("finish second") }))
		synctest.Wait()
		require.Equal(t, []string{"finish, free 0, running 1"}, events)
		close(unblock)
		synctest.Wait()
		require.Equal(t, []string{
			"finish, free 0, running 1",
			"released orders, free 0, running 1",
			"finish second, free 0, running 1",
			"released orders, free 1, running 0",
		}, events)
	})
}

func TestSlowTopicLeavesOtherSlots(t *testing.T) {
	t.Parallel()
	inBubble(t, 2, func(t *testing.T, b *testBundle) {
		release := make(chan struct{})
		slow := b.submit(Task{NewHandler("slow", usual()), ignores(release)})
		for range 100 {
			require.Equal(t, Succeeded, b.run(NewHandler("fast", usual()), returns(nil)).Status)
		}
		close(release)
		<-slow
	})
}

func TestStatusNames(t *testing.T) {
	t.Parallel()
	for status, want := range map[Status]string{
		0: "none", Succeeded: "succeeded", Failed: "failed", PutOff: "put off", Unfinished: "unfinished",
	} {
		require.Equal(t, want, status.String())
	}
}
