package admin

import (
	"slices"
	"strings"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/idl"
)

func toConsumer(c eventbus.Consumer) *thriftbus.Consumer {
	out := &thriftbus.Consumer{
		ID: c.ID, Group: c.Group, Host: c.Host, Pid: idl.Int32(c.PID), StartedMs: idl.Millis(c.Started), ExpiresMs: idl.Millis(c.Expires), Expired: c.Expired,
	}
	for topic, handlers := range c.Handlers {
		for _, h := range handlers {
			running := &thriftbus.RunningHandler{Topic: topic, ID: h.ID, Settings: toHandlerSettings(h.Settings)}
			if h.OpenBreaker {
				running.OpenBreaker = &h.OpenBreaker
			}
			out.Handlers = append(out.Handlers, running)
		}
	}
	slices.SortStableFunc(out.Handlers, func(a, b *thriftbus.RunningHandler) int { return strings.Compare(a.Topic, b.Topic) })
	return out
}

func fromConsumer(c *thriftbus.Consumer) eventbus.Consumer {
	out := eventbus.Consumer{
		ID: c.ID, Group: c.Group, Host: c.Host, PID: int(c.Pid), Started: timeOf(c.StartedMs), Expires: timeOf(c.ExpiresMs), Expired: c.Expired,
		Handlers: map[string][]eventbus.RunningHandler{},
	}
	for _, h := range c.Handlers {
		out.Handlers[h.Topic] = append(out.Handlers[h.Topic], eventbus.RunningHandler{
			ID: h.ID, Settings: fromHandlerSettings(h.Settings), OpenBreaker: h.GetOpenBreaker(),
		})
	}
	return out
}
