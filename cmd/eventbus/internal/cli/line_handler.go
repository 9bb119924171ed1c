package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// lineHandler has what the bus logs told as this program tells everything on stderr.
type lineHandler struct {
	tell  func(text string, args ...any)
	attrs []slog.Attr
}

func (h *lineHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	var parts []string
	add := func(a slog.Attr) bool {
		parts = append(parts, fmt.Sprintf("%s %v", a.Key, a.Value))
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	text := r.Message
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, ", ") + ")"
	}
	h.tell("%s", text)
	return nil
}

func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &lineHandler{h.tell, append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)}
}

func (h *lineHandler) WithGroup(string) slog.Handler { return h } // the bus has none
