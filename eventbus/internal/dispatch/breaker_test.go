package dispatch

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/outcome"
)

const openFor = 30 * time.Second

func guarded(failures int) Settings {
	return with(func(s *Settings) { s.BreakerFailures, s.BreakerOpen = failures, openFor })
}

var errDown = errors.New("down")

// trip opens the breaker of a handler with guarded(2).
func (b *testBundle) trip(h *Handler) {
	b.t.Helper()
	for range 2 {
		require.Equal(b.t, Failed, b.run(h, returns(errDown)).Status)
	}
	reason, _ := h.Blocked()
	require.Equal(b.t, BreakerOpen, reason)
}

func (b *testBundle) requireOpen(h *Handler, wait time.Duration) {
	b.t.Helper()
	reason, blockedFor := h.Blocked()
	require.Equal(b.t, BreakerOpen, reason)
	require.InDelta(b.t, wait, blockedFor, 1)
	result := b.run(h, func(context.Context) error { b.t.Error("ran though the breaker is open"); return nil })
	require.Equal(b.t, PutOff, result.Status)
	require.Equal(b.t, BreakerOpen, result.Reason)
	require.InDelta(b.t, wait, result.Wait, 1)
	require.NoError(b.t, result.Err)
}

func (b *testBundle) requireClosed(h *Handler) {
	b.t.Helper()
	reason, wait := h.Blocked()
	require.Empty(b.t, reason)
	require.Zero(b.t, wait)
}

func TestBreakerOpensAndCloses(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, b *testBundle) {
		h := NewHandler("h", guarded(2))
		b.trip(h)
		b.requireOpen(h, openFor)
		pass(openFor / 3)
		b.requireOpen(h, openFor*2/3)
		_, wait := h.Blocked()
		pass(wait) // exactly what it said is long enough
		b.requireClosed(h)
		require.Equal(t, Failed, b.run(h, returns(errDown)).Status)
		b.requireOpen(h, openFor)
		_, wait = h.Blocked()
		pass(wait)
		require.Equal(t, Succeeded, b.run(h, returns(nil)).Status)
		b.requireClosed(h)
		require.Equal(t, Failed, b.run(h, returns(errDown)).Status)
		b.requireClosed(h) // one failure is not two in a row
	})
}

func TestWhatTheBreakerCounts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		run  Run
		open bool
	}{
		"error":           {returns(errDown), true},
		"later":           {returns(outcome.RetryAfter(time.Second, errDown)), true},
		"timeout":         {heeds, true},
		"panic":           {func(context.Context) error { panic("boom") }, true},
		"abandoned":       {func(context.Context) error { pass(time.Minute); return nil }, true},
		"success":         {returns(nil), false},
		"reject":          {returns(outcome.Reject(errDown)), false},
		"snooze":          {returns(outcome.Snooze(time.Second)), false},
		"answered":        {returns(fmt.Errorf("no: %w", answer(true))), false},
		"answered, later": {returns(outcome.RetryAfter(time.Second, answer(true))), false},
		"no answer":       {returns(fmt.Errorf("no: %w", answer(false))), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, 1, func(t *testing.T, b *testBundle) {
				h := NewHandler("h", guarded(3))
				for range 3 {
					b.run(h, test.run)
				}
				reason, _ := h.Blocked()
				require.Equal(t, test.open, reason == BreakerOpen)
				pass(2 * time.Minute)
			})
		})
	}
}

// answer is the error of something that has answered, or has not.
type answer bool

func (a answer) Error() string  { return "an answer" }
func (a answer) Answered() bool { return bool(a) }

// Whoever asks hears of each change, and of each trial that fails, with the error.
func TestBreakerTellsWhy(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]Run{
		"error":     returns(errDown),
		"abandoned": func(context.Context) error { pass(time.Minute); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, 1, func(t *testing.T, b *testBundle) {
				h := NewHandler("h", guarded(2))
				var told []BreakerState
				h.OnBreaker = func(now BreakerState, failed error) {
					told = append(told, now)
					if now == Closed {
						require.NoError(t, failed)
						return
					}
					require.Error(t, failed)
					if name == "error" {
						require.ErrorIs(t, failed, errDown)
					} else {
						require.ErrorIs(t, failed, errs.Timeout)
					}
				}
				b.run(h, run)
				b.run(h, run)
				for range 2 {
					_, wait := h.Blocked()
					pass(wait)
					b.run(h, run)
				}
				_, wait := h.Blocked()
				pass(wait)
				require.Equal(t, Succeeded, b.run(h, returns(nil)).Status)
				require.Equal(t, []BreakerState{Opened, Reopened, Reopened, Closed}, told)
				pass(2 * time.Minute)
			})
		})
	}
}

func TestNeutralRunsNeitherResetNorCount(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, b *testBundle) {
		h := NewHandler("h", guarded(2))
		b.run(h, returns(errDown))
		b.run(h, returns(outcome.Reject(errDown)))
		b.requireClosed(h)
		b.run(h, returns(errDown))
		b.requireOpen(h, openFor)
	})
	inBubble(t, 1, func(t *testing.T, b *testBundle) {
		h := NewHandler("h", guarded(2))
		b.run(h, returns(errDown))
		b.run(h, returns(nil))
		b.run(h, returns(errDown))
		b.requireClosed(h)
	})
}

func TestHalfOpenLetsOneThrough(t *testing.T) {
	t.Parallel()
	inBubble(t, 3, func(t *testing.T, b *testBundle) {
		h := NewHandler("h", guarded(2))
		b.trip(h)
		pass(openFor + 1)
		release := make(chan struct{})
		probe := b.submit(Task{h, ignores(release)})
		synctest.Wait()
		b.requireOpen(h, probeWait)
		b.requireOpen(h, probeWait)
		close(release)
		require.Equal(t, Succeeded, (<-probe)[0].Status)
		b.requireClosed(h)
	})
}

func TestNeutralProbeDoesNotLeaveTheBreakerStuck(t *testing.T) {
	t.Parallel()
	for name, neutral := range map[string]error{
		"reject": outcome.Reject(errDown),
		"snooze": outcome.Snooze(time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, 1, func(t *testing.T, b *testBundle) {
				h := NewHandler("h", guarded(2))
				b.trip(h)
				pass(openFor + 1)
				for range 5 {
					result := b.run(h, returns(neutral))
					require.ErrorIs(t, result.Err, neutral, "it must have run")
					b.requireClosed(h)
				}
				require.Equal(t, Failed, b.run(h, returns(errDown)).Status)
				b.requireOpen(h, openFor)
				pass(openFor + 1)
				require.Equal(t, Succeeded, b.run(h, returns(nil)).Status)
				b.requireClosed(h)
			})
		})
	}
}

func TestOpenBreakerKeepsNoTaskWaitingForTheLimit(t *testing.T) {
	t.Parallel()
	inBubble(t, 2, func(t *testing.T, b *testBundle) {
		h := NewHandler("h", with(func(s *Settings) {
			s.BreakerFailures, s.BreakerOpen, s.Concurrency = 2, openFor, 1
		}))
		b.trip(h)
		pass(openFor + 1)
		release := make(chan struct{})
		probe := b.submit(Task{h, ignores(release)})
		synctest.Wait()
		b.requireOpen(h, probeWait) // would wait for the limit otherwise
		close(release)
		<-probe
	})
}

func TestBreakerIsRebuiltOnlyForItsOwnSettings(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, b *testBundle) {
		h := NewHandler("h", guarded(2))
		b.trip(h)
		h.Apply(with(func(s *Settings) {
			s.BreakerFailures, s.BreakerOpen, s.Timeout, s.Concurrency = 2, openFor, time.Second, 3
		}))
		b.requireOpen(h, openFor)
		require.True(t, h.BreakerIsOpen())
		h.Apply(guarded(3))
		b.requireClosed(h)
		require.False(t, h.BreakerIsOpen())
		h.Apply(guarded(2))
		b.trip(h)
		h.Apply(usual())
		b.requireClosed(h)
		for range 5 {
			require.Equal(t, Failed, b.run(h, returns(errDown)).Status)
		}
		b.requireClosed(h)
	})
}

func TestBreakerIsRebuiltWhenAskedFor(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, b *testBundle) {
		h := NewHandler("h", guarded(2))
		anew := guarded(2)
		for anew.BreakerAnew = range int64(3) {
			h.Apply(anew)
			b.requireClosed(h)
			b.trip(h)
			off := anew
			off.Enabled = false
			h.Apply(off)
			require.True(t, h.BreakerIsOpen())
			h.Apply(anew)
			b.requireOpen(h, openFor)
		}
		pass(openFor + 1)
		require.True(t, h.BreakerIsOpen(), "half-open")
		require.Equal(t, Succeeded, b.run(h, returns(nil)).Status)
		require.False(t, h.BreakerIsOpen())
		require.False(t, NewHandler("h", usual()).BreakerIsOpen())
	})
}

// A breaker without an open time must not fall back to gobreaker's own minute.
func TestBreakerWithoutOpenTime(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, b *testBundle) {
		h := NewHandler("h", with(func(s *Settings) { s.BreakerFailures = 1 }))
		require.Equal(t, Failed, b.run(h, returns(errDown)).Status)
		pass(time.Millisecond)
		b.requireClosed(h)
	})
}
