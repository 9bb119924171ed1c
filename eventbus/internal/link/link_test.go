package link

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	errOne = errors.New("connection refused")
	errTwo = errors.New("MISCONF")
)

// logged collects the lines of a log from level Info on.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(b))
	return len(b), nil
}

func (l *logged) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "")
}

// pass lets the bubble's clock go on.
func pass(d time.Duration) { <-time.After(d) }

func newLink() (*Link, *logged) {
	log := &logged{}
	return New(slog.New(slog.NewTextHandler(log, nil))), log
}

func TestWaitReturnsWhenTheLinkWorks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, _ := newLink()
		require.NoError(t, l.Wait(t.Context()))
		began := time.Now()
		l.Down(errOne)
		waiting := make(chan error, 100)
		for range 100 {
			go func() { waiting <- l.Wait(t.Context()) }()
		}
		synctest.Wait()
		require.Empty(t, waiting)
		since, err := l.Err()
		require.ErrorIs(t, err, errOne)
		require.Equal(t, began, since)

		pass(time.Minute)
		l.Down(errTwo)
		synctest.Wait()
		require.Empty(t, waiting, "a second failure releases nobody")
		since, err = l.Err()
		require.ErrorIs(t, err, errTwo)
		require.Equal(t, began, since, "it is down since the first")

		l.Up()
		synctest.Wait()
		require.Len(t, waiting, 100)
		for range 100 {
			require.NoError(t, <-waiting)
		}
		_, err = l.Err()
		require.NoError(t, err)
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, _ := newLink()
		l.Down(errOne)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, l.Wait(ctx), context.DeadlineExceeded)
		l.Up()
		require.NoError(t, l.Wait(ctx), "a link that works lets pass all the same")
	})
}

func TestAnOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, log := newLink()
		for range 3 {
			pass(time.Minute) // calm
			for i := range 1000 {
				l.Down(fmt.Errorf("try %d: %w", i, errOne))
			}
			l.Up()
			l.Up()
		}
		require.Equal(t, 3, strings.Count(log.all(), "does not serve"))
		require.Equal(t, 3, strings.Count(log.all(), "serves the bus again"))
	})
}

func TestALinkThatWorksInTurnsIsLoggedTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, log := newLink()
		for range 1000 {
			l.Down(errOne)
			l.Up()
			pass(time.Second) // no calm
		}
		require.LessOrEqual(t, strings.Count(log.all(), "\n"), 4, log.all())
		require.Contains(t, log.all(), "in turns")
		pass(Calm + 1)
		l.Down(errOne)
		require.Equal(t, 2, strings.Count(log.all(), "trying again until it does"), "after a calm it is news again")
	})
}

func TestALongOutageIsLoggedAlsoAfterTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, log := newLink()
		for range 10 {
			l.Down(errOne)
			l.Up()
		}
		before := log.all()
		l.Down(errTwo)
		require.Equal(t, before, log.all())
		pass(Calm + 1)
		l.Down(errTwo)
		l.Down(errTwo)
		l.Up()
		later := strings.TrimPrefix(log.all(), before)
		require.Equal(t, 1, strings.Count(later, "does not serve"), later)
		require.Equal(t, 1, strings.Count(later, "serves the bus again"), later)
	})
}

func TestFailuresAskForAProbe(t *testing.T) {
	t.Parallel()
	l, _ := newLink()
	require.Empty(t, l.Probes())
	l.Suspect()
	l.Down(errOne)
	l.Down(errOne)
	require.Len(t, l.Probes(), 1, "one is enough, and nobody waits")
	<-l.Probes()
	require.Empty(t, l.Probes())
}

func TestPausesGrowToTheirCap(t *testing.T) {
	t.Parallel()
	var p Pause
	upper := FirstPause
	for range 20 {
		pause := p.Next()
		require.LessOrEqual(t, pause, upper)
		require.Greater(t, pause, upper/2)
		upper = min(2*upper, MaxPause)
	}
	p.Reset()
	require.LessOrEqual(t, p.Next(), FirstPause)
}

func TestPauseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p Pause
		began := time.Now()
		require.True(t, p.Wait(t.Context()))
		require.Positive(t, time.Since(began))
		require.LessOrEqual(t, time.Since(began), FirstPause)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began = time.Now()
		require.False(t, p.Wait(ctx))
		require.Zero(t, time.Since(began))
	})
}
