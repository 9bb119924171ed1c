package stop

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A signal counts only when it comes more than Same after one that has counted.
func TestSecond(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		after []time.Duration // the first signal, which ends soft
		armed bool
		hard  time.Duration // 0: never
	}{
		"one":                    {nil, true, 0},
		"two at once":            {[]time.Duration{0}, true, 0},
		"two 1ms apart":          {[]time.Duration{ms}, true, 0},
		"a burst":                {[]time.Duration{0, ms, 2 * ms, Same - ms}, true, 0},
		"an impatient one":       {[]time.Duration{Same + ms}, true, Same + ms},
		"the same and impatient": {[]time.Duration{ms, 2 * Same}, true, 2 * Same},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				soft, begin := context.WithCancel(t.Context())
				signals, over, ended := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
				began, armed, hard := time.Now(), false, time.Duration(0)
				go func() {
					defer close(ended)
					second(soft, signals, over, func() { armed = true }, func() { hard = time.Since(began) })
				}()
				begin()
				for _, at := range c.after {
					<-time.After(at - time.Since(began)) // the bubble's clock
					signals <- os.Interrupt
				}
				<-time.After(time.Hour)
				close(over)
				<-ended
				require.Equal(t, c.armed, armed)
				require.Equal(t, c.hard, hard)
			})
		})
	}
}

// What comes right after the first signal is still caught: else it would end the
// process before the command has stopped.
func TestFirstLetsItsDoublesPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signals, ended := make(chan os.Signal), make(chan struct{})
		began, calls := time.Now(), 0
		go func() {
			defer close(ended)
			first(signals, nil, func() { calls++ })
		}()
		for range 3 {
			signals <- os.Interrupt
		}
		<-ended
		require.Equal(t, Same, time.Since(began))
		require.Equal(t, 1, calls)
	})
}

func TestSoftEndsWithItsParent(t *testing.T) {
	t.Parallel()
	parent, cancel := context.WithCancel(t.Context())
	soft := Soft(parent)
	require.NoError(t, soft.Err())
	cancel()
	<-soft.Done()
}

// What comes right after the second signal is still caught, so that it does not
// end the process in the middle of its hard stop.
func TestSecondLetsItsDoublesPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		soft, begin := context.WithCancel(t.Context())
		begin()
		signals, ended := make(chan os.Signal), make(chan struct{})
		var stopped time.Time
		go func() {
			defer close(ended)
			second(soft, signals, nil, func() {}, func() { stopped = time.Now() })
		}()
		<-time.After(2 * Same)
		signals <- os.Interrupt
		signals <- os.Interrupt
		<-ended
		require.Equal(t, Same, time.Since(stopped))
	})
}

// The end of the work ends the waiting at every stage.
func TestSecondIsOver(t *testing.T) {
	t.Parallel()
	for _, stage := range []int{0, 1, 2} {
		synctest.Test(t, func(t *testing.T) {
			soft, begin := context.WithCancel(t.Context())
			defer begin()
			over, ended := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(ended)
				second(soft, nil, over, func() {}, func() { t.Error("it was stopped hard") })
			}()
			if stage > 0 {
				begin()
			}
			if stage > 1 {
				<-time.After(2 * Same)
			}
			synctest.Wait()
			close(over)
			<-ended
		})
	}
}
