package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
	both := []string{s.first, s.second}
	slices.Sort(both)
	if !slices.Equal(groups, both) {
		return fmt.Errorf("expected to cancel event %s in %q, found %q", third, both, groups)
	}
	s.tell.Fact("cancelled event " + third + " in the groups " + strings.Join(both, " and "))
	for _, due := range []struct{ id, payload string }{{first, sooner}, {second, later}} {
		err := s.expect(ctx,
			run{handler: s.first + "/invoice", event: due.id, payload: due.payload, attempt: 1},
			run{handler: s.second + "/confirm", event: due.id, payload: due.payload, attempt: 1})
		if err != nil {
			return err
		}
	}
	s.tell.Fact(s.first + "/invoice and " + s.second + "/confirm ran with " + sooner + " first, then with " + later + ", which was sent before it")
	return nil
}
