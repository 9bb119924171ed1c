package handlers

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/seed4933/eventbus/eventbus"
)

// Log is an EventHandle that writes each event to a stream: one line, the
// CloudEvents JSON object, by one call of Write. Calls write one after another,
// so a writer that blocks holds up all of them.
type Log struct {
	mu   sync.Mutex
	w    io.Writer
	line []byte
	torn bool // the last write ended within a line
}

// NewLog returns a Log that writes to w, which stays the caller's.
func NewLog(w io.Writer) *Log { return &Log{w: w} }

// Handle writes the event. An event whose write failed half way is followed by
// a newline before the next one.
func (l *Log) Handle(ctx context.Context, event *eventbus.Event) error {
	if ctx.Err() != nil {
		return fmt.Errorf("write event: %w", context.Cause(ctx))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.line[:0]
	if l.torn {
		line = append(line, lineGuard)
	}
	line = event.AppendCloudEventLine(line)
	if cap(line) <= maxSpare {
		l.line = line
	}
	n, err := l.w.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if n > 0 {
		l.torn = n < len(line)
	}
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}
