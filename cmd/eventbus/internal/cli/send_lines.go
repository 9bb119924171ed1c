package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
	"github.com/seed4933/eventbus/eventbus"
)

// Bounds of one batch: what is in memory is two of them and one line.
const (
	batchLines = 500
	batchBytes = 4 << 20
)

// lineTooLong says that a line is over the limit of a payload.
type lineTooLong struct{ line, most int }

func (e *lineTooLong) Error() string {
	return fmt.Sprintf("line %d has more than %s", e.line, show.Count(e.most, "byte"))
}

func (e *lineTooLong) Unwrap() error { return eventbus.ErrPayloadTooLarge }

// sendLines sends each line as one event. Three goroutines pass the lines on,
//
//	read a line ──▶ gather a batch ──▶ send it
//
// so that while one batch is on its way the next one gathers; and a line that
// comes while nothing is on its way is sent at once.
func (a *app) sendLines(ctx context.Context, bus *session, s *sending, in io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines, batches := make(chan []byte), make(chan [][]byte)
	var reading error // to be read once lines is closed
	go func() {
		defer close(lines)
		reading = readLines(ctx, in, s.maxPayload, lines)
	}()
	go gather(ctx, lines, batches)

	var count atomic.Int64
	p := a.progress()
	p.every(ctx, func(context.Context) string { return fmt.Sprintf("sent %d", count.Load()) })
	err := a.sendBatches(ctx, bus, s, batches, &count)
	p.end()
	if err == nil {
		err = reading // batches is closed after lines
	}
	if err == nil {
		if count.Load() > 0 {
			a.tellPast(s)
		}
		return nil
	}
	switch n := count.Load(); n {
	case 0:
		return fmt.Errorf("sent nothing: %w", err)
	case 1:
		return fmt.Errorf("sent 1 event, line 1, and no more: %w", err)
	default:
		return fmt.Errorf("sent %d events, lines 1 to %d, and no more: %w", n, n, err)
	}
}

func (a *app) sendBatches(ctx context.Context, bus *session, s *sending, batches <-chan [][]byte, count *atomic.Int64) error {
	messages := make([]eventbus.Message, 0, batchLines)
	for {
		var batch [][]byte
		select {
		case b, ok := <-batches:
			if !ok {
				return nil
			}
			batch = b
		case <-ctx.Done():
			return ctx.Err()
		}
		messages = messages[:0]
		for _, line := range batch {
			m := s.message
			m.Value = eventbus.Raw{Payload: line, ContentType: s.contentType}
			messages = append(messages, m)
		}
		ids, err := bus.api.SendBatch(ctx, s.topic, messages)
		if err != nil {
			return instead(fmt.Sprintf("topic %q", s.topic), fmt.Sprintf("send to topic %q", s.topic), err)
		}
		count.Add(int64(len(ids)))
		if err := a.answer(s, ids); err != nil {
			return err
		}
	}
}

// gather collects lines until somebody takes them, or the batch is full.
func gather(ctx context.Context, lines <-chan []byte, batches chan<- [][]byte) {
	defer close(batches)
	var batch [][]byte
	var size int
	for lines != nil || len(batch) > 0 {
		in, out := lines, batches
		if len(batch) == 0 {
			out = nil
		}
		if len(batch) == batchLines || size >= batchBytes {
			in = nil
		}
		select {
		case line, ok := <-in:
			if !ok {
				lines = nil
				continue
			}
			batch = append(batch, line)
			size += len(line)
		case out <- batch:
			batch, size = nil, 0
		case <-ctx.Done():
			return
		}
	}
}

// readLines reads lines of at most so many bytes, without their ends. A last
// line needs no end; nothing after the last end is no line.
func readLines(ctx context.Context, in io.Reader, most int, lines chan<- []byte) error {
	r := bufio.NewReaderSize(in, 64<<10)
	var line []byte
	for n := 1; ; {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if len(line) > most+2 {
				return &lineTooLong{n, most}
			}
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("read line %d: %w", n, err)
		case err != nil && len(line) == 0:
			return nil
		}
		text := line
		if cut, ended := bytes.CutSuffix(line, []byte("\n")); ended {
			text = bytes.TrimSuffix(cut, []byte("\r"))
		}
		if len(text) > most {
			return &lineTooLong{n, most}
		}
		select {
		case lines <- text:
		case <-ctx.Done():
			return nil // who ended it knows why
		}
		if err != nil {
			return nil
		}
		line = nil
		n++
	}
}
