package admin

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed4933/eventbus/admin/internal/port"
	"github.com/seed4933/eventbus/eventbus"
)

type roomKey struct{}

// withRoom has a Service ask for room before it reads a failure's event.
func withRoom(ctx context.Context, ask func(ctx context.Context, f eventbus.Failure) error) context.Context {
	return context.WithValue(ctx, roomKey{}, ask)
}

// room asks for it, if ctx says so.
func room(ctx context.Context, f eventbus.Failure) error {
	if ask, ok := ctx.Value(roomKey{}).(func(context.Context, eventbus.Failure) error); ok {
		return ask(ctx, f)
	}
	return nil
}

// eventCopies is how often an event stands in memory before it is an answer: as it is
// kept, and decoded, which its payload may be twice.
const eventCopies = 3

// roomOfEvent asks the server for it, and refuses an event that no answer has room for.
func roomOfEvent(ctx context.Context, f eventbus.Failure) error {
	if f.Size > maxShown {
		return &eventbus.ArgumentError{
			Field: "id", Value: fmt.Sprintf("%q", f.ID),
			Reason: fmt.Sprintf("its event has %d bytes, and an answer shows %d at most; what reads Redis itself shows it", f.Size, maxShown),
		}
	}
	return roomFor(ctx, eventCopies*int64(f.Size))
}

// failureCost is how many bytes a failure in a list takes up: its record as it is kept,
// and decoded, with an error of 4 KiB in each.
const failureCost = 12 << 10

// roomOfPage asks the server for room for so many elements of a list, of which each
// takes up so many bytes.
func roomOfPage(ctx context.Context, limit int, each int64) error {
	return roomFor(ctx, each*int64(min(cmp.Or(max(limit, 0), DefaultPage), MaxPage)))
}

// roomOfGroups asks the server for room for the figures of a topic's groups. Why the
// topic cannot be read the call itself tells.
func (f *face) roomOfGroups(ctx context.Context, topic string) error {
	t, err := f.api.GetTopic(ctx, topic)
	if err != nil {
		return nil
	}
	return roomFor(ctx, elementSize*int64(len(t.Groups)))
}

func roomFor(ctx context.Context, bytes int64) error {
	if err := port.Room(ctx, bytes); err != nil {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return nil
}
