package faults_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// journal keeps what a bus logs from level Info up.
type journal struct {
	mu      sync.Mutex
	records []slog.Record
}

func newJournal() *journal { return &journal{} }

func (j *journal) logger() *slog.Logger { return slog.New(j) }

func (j *journal) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (j *journal) Handle(_ context.Context, r slog.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.records = append(j.records, r)
	return nil
}

func (j *journal) WithAttrs([]slog.Attr) slog.Handler { return j }

func (j *journal) WithGroup(string) slog.Handler { return j }

// lines returns what was logged at level or above.
func (j *journal) lines(level slog.Level) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var lines []string
	for _, r := range j.records {
		if r.Level < level {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s %s", r.Time.Format("15:04:05.000"), r.Level, r.Message)
		r.Attrs(func(a slog.Attr) bool {
			fmt.Fprintf(&b, " %s", a)
			return true
		})
		lines = append(lines, b.String())
	}
	return lines
}

// brief shows the first few of many ids.
func brief(ids []string) string {
	const most = 10
	if len(ids) > most {
		return fmt.Sprintf("%v and %d more", ids[:most], len(ids)-most)
	}
	return fmt.Sprint(ids)
}
