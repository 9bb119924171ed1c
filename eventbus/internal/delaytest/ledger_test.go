package delaytest_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// ledger notes how often each event ran, and by how much after its time, which is
// the event's payload in µs by Redis's clock.
type ledger struct {
	skew time.Duration // of Redis's clock, as against this process's

	mu    sync.Mutex
	runs  map[string]int
	order []string
	early []string
	late  time.Duration // the most
}

func newLedger(skew time.Duration) *ledger { return &ledger{skew: skew, runs: map[string]int{}} }

// now is the time by Redis's clock, which is the machine's but for the skew.
func (l *ledger) now() time.Time { return time.Now().Add(l.skew) }

// Handle makes the ledger an EventHandle that succeeds.
func (l *ledger) Handle(_ context.Context, e *eventbus.Event) error {
	l.note(e.ID, lateness(e.Payload, l.now()))
	return nil
}

// lateness is how long after its time an event came, below zero when before it.
func lateness(payload []byte, now time.Time) time.Duration {
	due, err := strconv.ParseInt(string(payload), 10, 64)
	if err != nil {
		return 0 // it tells no time
	}
	return now.Sub(time.UnixMicro(due))
}

func (l *ledger) note(id string, late time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[id]++
	l.order = append(l.order, id)
	if late < 0 {
		l.early = append(l.early, fmt.Sprintf("%s by %v", id, -late))
	}
	l.late = max(l.late, late)
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.runs)
}

func (l *ledger) missing(ids []string) (missing []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if l.runs[id] == 0 {
			missing = append(missing, id)
		}
	}
	return missing
}

// repeated is how many runs there were beyond one of each event.
func (l *ledger) repeated() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.order) - len(l.runs)
}

func (l *ledger) worst() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.late
}

// awaitAll waits until each of the ids ran.
func (l *ledger) awaitAll(t *testing.T, ids []string, within time.Duration) {
	t.Helper()
	limit := time.After(within)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		if l.count() >= len(ids) && len(l.missing(ids)) == 0 {
			return
		}
		select {
		case <-ticker.C:
		case <-limit:
			missing := l.missing(ids)
			require.Fail(t, "events are missing", "%d of %d: %q", len(missing), len(ids), missing[:min(10, len(missing))])
		}
	}
}

// requireNoneEarly demands the promise that holds everywhere.
func (l *ledger) requireNoneEarly(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	require.Empty(t, l.early, "events came before they were due")
}

// requireOnce demands that each of the ids ran once, none early, and nothing else.
func (l *ledger) requireOnce(t *testing.T, ids []string) {
	t.Helper()
	l.requireNoneEarly(t)
	require.Empty(t, l.missing(ids), "events are lost")
	require.Zero(t, l.repeated(), "events ran twice though nothing crashed")
	require.Equal(t, len(ids), l.count())
}

// journal keeps what a bus logs from level Info up.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) logger() *slog.Logger { return slog.New(j) }

// Enabled, Handle, WithAttrs and WithGroup make it a slog.Handler.
func (j *journal) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (j *journal) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", r.Level, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&b, " %s", a)
		return true
	})
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, b.String())
	return nil
}

func (j *journal) WithAttrs([]slog.Attr) slog.Handler { return j }

func (j *journal) WithGroup(string) slog.Handler { return j }

func (j *journal) with(text string) (lines []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, line := range j.lines {
		if strings.Contains(line, text) {
			lines = append(lines, line)
		}
	}
	return lines
}
