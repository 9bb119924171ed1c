package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed4933/eventbus/eventbus"
)

func (s *story) delayed(ctx context.Context) error {
	s.tell.Step("Send events for later: each comes when it is due, and one is cancelled")
	bus := s.billing.bus
	send := func(payload string, delay time.Duration) (string, error) {
		id, err := bus.Send(ctx, orders, eventbus.Raw{Payload: []byte(payload)}, eventbus.WithDelay(delay))
		if err == nil {
			s.tell.Fact(fmt.Sprintf("sent %s as event %s, due in %v", payload, id, delay))
		}
		return id, err
	}
	const later, sooner, never = `{"order":6}`, `{"order":7}`, `{"order":8}`
	second, err := send(later, 2*time.Second)
	if err != nil {
		return err
	}
	first, err := send(sooner, time.Second)
	if err != nil {
		return err
	}
	third, err := send(never, time.Hour)
	if err != nil {
		return err
	}
	groups, err := bus.Delayed().Cancel(ctx, orders, third)
	if err != nil {
		return err
	}
	if !slices.Equal(groups, []string{"billing", "mail"}) {
		return fmt.Errorf("expected to cancel event %s in billing and mail, found %q", third, groups)
	}
	s.tell.Fact("cancelled event " + third + " in the groups billing and mail")
	for _, due := range []struct{ id, payload string }{{first, sooner}, {second, later}} {
		err := s.expect(ctx,
			run{handler: "billing/invoice", event: due.id, payload: due.payload, attempt: 1},
			run{handler: "mail/confirm", event: due.id, payload: due.payload, attempt: 1})
		if err != nil {
			return err
		}
	}
	s.tell.Fact("billing/invoice and mail/confirm ran with " + sooner + " first, then with " + later + ", which was sent before it")
	return nil
}
