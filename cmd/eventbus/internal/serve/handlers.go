package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/settings"
	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/handlers"
)

// handlerSet is the handlers of the file, made.
type handlerSet struct {
	file    *settings.File
	stdout  *handlers.Log
	files   map[string]*handlers.File // by absolute path: those that share one share its commits
	made    []madeHandler
	closers []io.Closer
}

type madeHandler struct {
	topic   string
	setting *settings.Handler
	handle  eventbus.EventHandle
}

// newHandlerSet makes all handlers, which opens the files. On an error the set
// is returned too, for what was made is to be closed.
func newHandlerSet(f *settings.File, stdout io.Writer) (*handlerSet, error) {
	s := &handlerSet{file: f, stdout: handlers.NewLog(stdout), files: map[string]*handlers.File{}}
	for i := range f.Topics {
		t := &f.Topics[i]
		for j := range t.Handlers {
			h := &t.Handlers[j]
			handle, err := s.make(h)
			if err != nil {
				return s, f.AtHandler(h, fmt.Errorf("handler %q: %w", h.ID, err))
			}
			s.made = append(s.made, madeHandler{t.Name, h, handle})
		}
	}
	return s, nil
}

func (s *handlerSet) make(h *settings.Handler) (eventbus.EventHandle, error) {
	switch h.Type {
	case settings.TypeFile:
		return s.openFile(h.Path)
	case settings.TypeLog:
		return s.stdout, nil
	case settings.TypeWebhook:
		w, err := h.Webhook()
		if err != nil {
			return nil, err
		}
		s.closers = append(s.closers, w)
		return w, nil
	case settings.TypeThrift:
		t, err := h.NewThrift()
		if err != nil {
			return nil, err
		}
		s.closers = append(s.closers, t)
		return t, nil
	}
	return nil, fmt.Errorf("type %q is none that is known", h.Type)
}

func (s *handlerSet) openFile(path string) (*handlers.File, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", path, err)
	}
	if f := s.files[absolute]; f != nil {
		return f, nil
	}
	f, err := handlers.NewFile(absolute)
	if err != nil {
		return nil, err
	}
	s.files[absolute] = f
	s.closers = append(s.closers, f)
	return f, nil
}

func (s *handlerSet) count() int { return len(s.made) }

func (s *handlerSet) register(bus *eventbus.Bus) error {
	for _, m := range s.made {
		if err := bus.TryHandle(m.topic, m.setting.ID, m.handle, m.setting.Config); err != nil {
			return s.file.AtHandler(m.setting, err)
		}
	}
	return nil
}

// close is called once the bus has ended.
func (s *handlerSet) close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// errHard is the cause of a handler's context that a hard stop ends.
var errHard = errors.New("the process stops hard")

// stopHard ends the handlers' contexts when hard ends. What then fails is put
// off to the next process, at once and without costing an attempt.
func stopHard(hard context.Context) eventbus.Middleware {
	return func(next eventbus.EventHandle) eventbus.EventHandle {
		return eventbus.HandleFunc(func(ctx context.Context, event *eventbus.Event) error {
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			defer context.AfterFunc(hard, func() { cancel(errHard) })()
			err := next.Handle(ctx, event)
			if err != nil && errors.Is(context.Cause(ctx), errHard) {
				return eventbus.Snooze(0)
			}
			return err
		})
	}
}
