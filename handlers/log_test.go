package handlers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// writes keeps what each call of Write was given. It is not safe for concurrent
// use, as many writers are not.
type writes struct {
	calls []string
	next  func(p []byte) (int, error) // replaces one call
}

func (w *writes) Write(p []byte) (int, error) {
	if next := w.next; next != nil {
		w.next = nil
		return next(p)
	}
	w.calls = append(w.calls, string(p))
	return len(p), nil
}

func TestLog_WritesOneLinePerCall(t *testing.T) {
	t.Parallel()
	w := &writes{}
	l := NewLog(w)
	first, second := newEvent("1", `{"a":1}`), newEvent("2", "{\n}")
	require.NoError(t, l.Handle(t.Context(), first))
	require.NoError(t, l.Handle(t.Context(), second))
	require.Equal(t, []string{
		string(first.AppendCloudEventLine(nil)), string(second.AppendCloudEventLine(nil)),
	}, w.calls)
}

func TestLog_SerialisesCalls(t *testing.T) {
	t.Parallel()
	w := &writes{}
	l := NewLog(w)
	var calls sync.WaitGroup
	for i := range 50 {
		calls.Go(func() {
			if err := l.Handle(t.Context(), newEvent(fmt.Sprint(i), "1")); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	require.Len(t, w.calls, 50)
}

func TestLog_FailedWrite(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken pipe")
	event := newEvent("1", "1")
	whole := string(event.AppendCloudEventLine(nil))
	for name, c := range map[string]struct {
		n     int
		err   error
		is    error
		after string
	}{
		"nothing written":     {0, broken, broken, whole},
		"half written":        {10, broken, broken, "\n" + whole},
		"short without error": {10, nil, io.ErrShortWrite, "\n" + whole},
		"all written":         {len(whole), broken, broken, whole},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &writes{next: func([]byte) (int, error) { return c.n, c.err }}
			l := NewLog(w)
			require.ErrorIs(t, l.Handle(t.Context(), event), c.is)
			require.NoError(t, l.Handle(t.Context(), event))
			require.NoError(t, l.Handle(t.Context(), event))
			require.Equal(t, []string{c.after, whole}, w.calls)
		})
	}
}

func TestLog_ContextEnded(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	require.ErrorIs(t, NewLog(&out).Handle(ctx, newEvent("1", "1")), why)
	require.Zero(t, out.Len())
}
