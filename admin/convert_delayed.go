package admin

import (
	"time"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/idl"
)

func toDelayed(e eventbus.DelayedEvent) *thriftbus.DelayedEvent {
	return &thriftbus.DelayedEvent{ID: e.ID, DueAtMs: e.DueAt.UnixMilli(), Size: idl.Int32(e.Size)}
}

func fromDelayed(e *thriftbus.DelayedEvent) eventbus.DelayedEvent {
	return eventbus.DelayedEvent{ID: e.ID, DueAt: time.UnixMilli(e.DueAtMs).UTC(), Size: int(e.Size)}
}
