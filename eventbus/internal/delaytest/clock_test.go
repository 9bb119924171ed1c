package delaytest_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// The clocks of producer and consumer are five minutes off Redis's: a delay is a
// delay, and a due time is one by Redis's clock.
func TestClocksThatAreWrong(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{5 * time.Minute, -5 * time.Minute} {
		t.Run(skew.String(), func(t *testing.T) {
			t.Parallel()
			w := setup(t, redistest.Options{Skew: skew})
			w.consume(w.server.Options(), eventbus.Config{})
			var ids []string
			for i := range 20 {
				d := time.Duration(i) * 100 * time.Millisecond
				ids = append(ids, w.after(d))
				ids = append(ids, w.at(w.now().Add(d), 1)...)
			}
			ids = append(ids, w.at(w.now().Add(-time.Second), 1)...)
			w.awaitAll(t, ids, patience)
			w.awaitIdle()
			w.requireOnce(t, ids)
			require.Less(t, w.worst(), sweep+slack)
			t.Logf("the latest came %v late", w.worst())
			s := w.stats()
			require.InDelta(t, skew, time.Until(s.ReadAt), float64(slack))
		})
	}
}

// What is due soon does not wait behind what was sent before it.
func TestShortDelaysOvertakeLongOnes(t *testing.T) {
	t.Parallel()
	w := setup(t, redistest.Options{})
	w.consume(w.server.Options(), eventbus.Config{})
	long, middle, short := w.after(6*time.Second), w.after(2*time.Second), w.after(time.Second)
	w.awaitAll(t, []string{long, middle, short}, patience)
	require.Equal(t, []string{short, middle, long}, w.order)
	w.requireOnce(t, w.order)
	require.Less(t, w.worst(), slack, "on time, without a sweep's help")
	t.Logf("the latest came %v late", w.worst())
}

// Below zero and zero are at once, also where a time is beyond what milliseconds can
// count; too far off is an error. What is due in ten years costs nothing till then.
func TestDelaysAtTheirLimits(t *testing.T) {
	t.Parallel()
	w := setup(t, redistest.Options{})
	w.consume(w.server.Options(), eventbus.Config{})
	send := func(option eventbus.SendOption) (string, error) {
		return w.sender.Send(t.Context(), topic, "x", option)
	}
	var ids []string
	for _, option := range []eventbus.SendOption{
		eventbus.WithDelay(0), eventbus.WithDelay(-1), eventbus.WithDelay(-290 * 365 * 24 * time.Hour), eventbus.WithDelay(math.MinInt64),
		eventbus.WithDueAt(w.now().Add(-time.Hour)), eventbus.WithDueAt(time.Unix(0, 0)), eventbus.WithDueAt(time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC)),
		eventbus.WithDueAt(time.Date(-290_000_000, 1, 1, 0, 0, 0, 0, time.UTC)), eventbus.WithDueAt(time.Unix(math.MinInt64/4, 0)), eventbus.WithDueAt(time.Unix(-1<<55-12345678901, 0)),
	} {
		id, err := send(option)
		require.NoError(t, err)
		ids = append(ids, id)
	}
	w.awaitAll(t, ids, slack)
	for _, option := range []eventbus.SendOption{
		eventbus.WithDelay(eventbus.MaxDelay + 1), eventbus.WithDelay(290 * 365 * 24 * time.Hour), eventbus.WithDelay(math.MaxInt64),
		eventbus.WithDueAt(w.now().AddDate(300, 0, 0)), eventbus.WithDueAt(time.Date(290_000_000, 1, 1, 0, 0, 0, 0, time.UTC)), eventbus.WithDueAt(time.Unix(1<<55+12345678901, 0)),
	} {
		_, err := send(option)
		require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
		var wrong *eventbus.ArgumentError
		require.True(t, errors.As(err, &wrong), "%v", err)
	}
	_, err := send(eventbus.WithDelay(eventbus.MaxDelay))
	require.NoError(t, err)
	_, err = send(eventbus.WithDueAt(w.now().Add(eventbus.MaxDelay - time.Hour)))
	require.NoError(t, err)
	require.NoError(t, w.server.Admin().ConfigResetStat(t.Context()).Err())
	until(t, time.Now().Add(2*time.Second))
	commands := w.server.CommandStats(t)
	require.Less(t, commands["evalsha"], int64(30), "%v", commands)
	require.EqualValues(t, 2, w.stats().Delayed)
	w.requireOnce(t, ids)
}

// A delay of several leases is no lease: the event runs once.
func TestDelayLongerThanTheLease(t *testing.T) {
	t.Parallel()
	w := setup(t, redistest.Options{})
	for range 2 {
		w.consume(w.server.Options(), eventbus.Config{Lease: time.Second})
	}
	ids := []string{w.after(3500 * time.Millisecond), w.after(4 * time.Second)}
	w.awaitAll(t, ids, patience)
	until(t, time.Now().Add(2*time.Second)) // two more leases
	w.awaitIdle()
	w.requireOnce(t, ids)
}
