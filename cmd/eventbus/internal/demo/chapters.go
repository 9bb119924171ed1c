package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
	"github.com/seed4933/eventbus/eventbus"
)

func (s *story) createTopics(ctx context.Context) error {
	admin, err := s.member(s.first, s.billingHandlers)
	if err != nil {
		return err
	}
	s.billing = admin
	if err := admin.bus.Ready(ctx); err != nil {
		return err
	}
	s.reached = true
	s.tell.Step("Create two topics; each group of a topic gets every event")
	both := []eventbus.GroupConfig{{Name: s.first}, {Name: s.second}}
	if err := admin.bus.Topics().Create(ctx, orders, eventbus.TopicConfig{Groups: both}); err != nil {
		return err
	}
	if err := admin.bus.Topics().Create(ctx, payments, eventbus.TopicConfig{}); err != nil {
		return err
	}
	names, err := admin.bus.Topics().List(ctx)
	if err != nil {
		return err
	}
	if !slices.Equal(names, []string{orders, payments}) {
		return fmt.Errorf("expected the topics %s and %s, found %q", orders, payments, names)
	}
	s.tell.Fact(fmt.Sprintf("topic orders has the groups %s and %s, topic payments the group %s", s.first, s.second, s.first))
	return nil
}

// attempts of the handler of payments: few and soon, so that the story is short.
const paymentAttempts = 2

func (s *story) billingHandlers(b *eventbus.Bus) {
	b.Handle(orders, "invoice", eventbus.HandleFunc(func(_ context.Context, e *eventbus.Event) error {
		s.saw(e)
		return nil
	}))
	b.Handle(payments, "charge", eventbus.HandleFunc(func(_ context.Context, e *eventbus.Event) error {
		s.saw(e)
		return s.bank.charge()
	}), eventbus.HandleConfig{Retry: eventbus.RetryPolicy{MaxAttempts: paymentAttempts, Initial: 50 * time.Millisecond}})
}

func (s *story) mailHandlers(b *eventbus.Bus) {
	b.Handle(orders, "confirm", eventbus.HandleFunc(func(_ context.Context, e *eventbus.Event) error {
		s.saw(e)
		if strings.Contains(string(e.Payload), "flaky") && e.Attempt == 1 {
			return errors.New("mail server is busy")
		}
		return nil
	}), eventbus.HandleConfig{Retry: eventbus.RetryPolicy{Initial: 50 * time.Millisecond}})
}

func (s *story) saw(e *eventbus.Event) {
	s.runs <- run{handler: e.Group + "/" + e.Handler, event: e.ID, payload: string(e.Payload), attempt: e.Attempt}
}

// bank is out of order until it is mended.
type bank struct{ mended atomic.Bool }

func (b *bank) charge() error {
	if b.mended.Load() {
		return nil
	}
	return errors.New("the bank does not answer")
}

func (s *story) start(ctx context.Context) error {
	s.tell.Step("Start two processes, one of each group")
	var err error
	if s.mail, err = s.member(s.second, s.mailHandlers); err != nil {
		return err
	}
	s.billing.run(ctx)
	s.mail.run(ctx)
	err = until(ctx, "two live consumers", func() (bool, string, error) {
		live, err := s.billing.bus.Consumers(ctx)
		return len(live) == 2, fmt.Sprint(len(live)), err
	})
	if err != nil {
		return err
	}
	s.tell.Fact(fmt.Sprintf("%s runs the handlers orders/invoice and payments/charge, %s runs orders/confirm", s.first, s.second))
	return nil
}

// expect waits for calls of handlers, in any order, and for no others.
func (s *story) expect(ctx context.Context, want ...run) error {
	for len(want) > 0 {
		r, err := s.next(ctx, fmt.Sprintf("a run of %s, attempt %d", want[0].handler, want[0].attempt))
		if err != nil {
			return err
		}
		i := slices.Index(want, r)
		if i < 0 {
			return fmt.Errorf("expected one of %+v, found %+v", want, r)
		}
		want = slices.Delete(want, i, i+1)
	}
	return nil
}

func (s *story) everyGroup(ctx context.Context) error {
	s.tell.Step("Send three orders; each group handles each of them, once")
	var want []run
	for i := 1; i <= 3; i++ {
		payload := fmt.Sprintf(`{"order":%d}`, i)
		id, err := s.billing.bus.Send(ctx, orders, eventbus.Raw{Payload: []byte(payload)})
		if err != nil {
			return err
		}
		s.tell.Fact("sent " + payload + " as event " + id)
		want = append(want,
			run{handler: s.first + "/invoice", event: id, payload: payload, attempt: 1},
			run{handler: s.second + "/confirm", event: id, payload: payload, attempt: 1})
	}
	if err := s.expect(ctx, want...); err != nil {
		return err
	}
	s.tell.Fact(fmt.Sprintf("%s/invoice ran 3 times, %s/confirm ran 3 times, with the bytes that were sent", s.first, s.second))
	return nil
}

func (s *story) retry(ctx context.Context) error {
	s.tell.Step("A handler fails, and is run again; the one that succeeded is not")
	const payload = `{"order":4,"mail":"flaky"}`
	id, err := s.billing.bus.Send(ctx, orders, eventbus.Raw{Payload: []byte(payload)})
	if err != nil {
		return err
	}
	err = s.expect(ctx,
		run{handler: s.first + "/invoice", event: id, payload: payload, attempt: 1},
		run{handler: s.second + "/confirm", event: id, payload: payload, attempt: 1},
		run{handler: s.second + "/confirm", event: id, payload: payload, attempt: 2})
	if err != nil {
		return err
	}
	s.tell.Fact(fmt.Sprintf("%s/confirm failed on attempt 1 and succeeded on attempt 2; %s/invoice ran once", s.second, s.first))
	return nil
}

const deadPayload = `{"amount":130775545883395173}`

func (s *story) dead(ctx context.Context) error {
	s.tell.Step("A handler fails for good: the event is kept as a dead failure")
	id, err := s.billing.bus.Send(ctx, payments, eventbus.Raw{Payload: []byte(deadPayload)})
	if err != nil {
		return err
	}
	for attempt := 1; attempt <= paymentAttempts; attempt++ {
		if err := s.expect(ctx, run{handler: s.first + "/charge", event: id, payload: deadPayload, attempt: attempt}); err != nil {
			return err
		}
	}
	var page eventbus.FailurePage
	err = until(ctx, "one dead failure", func() (bool, string, error) {
		var err error
		page, err = s.billing.bus.Failures().List(ctx, payments, eventbus.FailureQuery{})
		return len(page.Failures) == 1, fmt.Sprint(len(page.Failures)), err
	})
	if err != nil {
		return err
	}
	f := page.Failures[0]
	if f.EventID != id || f.Handler != "charge" || f.Attempts != paymentAttempts || f.State != eventbus.Dead {
		return fmt.Errorf("expected a dead failure of charge on event %s after %d attempts, found %+v", id, paymentAttempts, f)
	}
	s.tell.Fact(fmt.Sprintf("%s/charge failed %d times; failure %s is dead: %s", s.first, f.Attempts, f.ID, f.Error))
	return nil
}

func (s *story) replay(ctx context.Context) error {
	s.tell.Step("The cause is mended, and the dead failure is replayed")
	s.bank.mended.Store(true)
	n, err := s.billing.bus.Failures().Replay(ctx, payments, eventbus.FailureFilter{All: true})
	if err != nil {
		return err
	}
	if n != 1 {
		return fmt.Errorf("expected to replay 1 failure, replayed %d", n)
	}
	r, err := s.next(ctx, "a run of "+s.first+"/charge")
	if err != nil {
		return err
	}
	if r.handler != s.first+"/charge" || r.payload != deadPayload || r.attempt != 1 {
		return fmt.Errorf("expected %s/charge to run with %s as attempt 1, found %+v", s.first, deadPayload, r)
	}
	if err := s.idle(ctx, payments); err != nil {
		return err
	}
	s.tell.Fact(s.first + "/charge ran again with the same bytes, " + deadPayload + ", and succeeded; no failure is left")
	return nil
}

// idle waits until a topic holds nothing for billing.
func (s *story) idle(ctx context.Context, topic string) error {
	return until(ctx, "nothing waiting, in flight, retried or dead", func() (bool, string, error) {
		f, err := s.billing.bus.GroupStats(ctx, topic)
		return f.Waiting+f.InFlight+f.Retrying+f.Dead == 0, fmt.Sprintf("%+v", f), err
	})
}

func (s *story) disable(ctx context.Context) error {
	s.tell.Step("Switch a topic off: a send gets a typed error, nothing is swallowed")
	if err := s.billing.bus.Topics().Disable(ctx, orders); err != nil {
		return err
	}
	_, err := s.billing.bus.Send(ctx, orders, 5)
	if !errors.Is(err, eventbus.ErrTopicDisabled) {
		return fmt.Errorf("expected ErrTopicDisabled, found %v", err)
	}
	s.tell.Fact("sending said: " + err.Error())
	if err := s.billing.bus.Topics().Enable(ctx, orders); err != nil {
		return err
	}
	id, err := s.billing.bus.Send(ctx, orders, 5)
	if err != nil {
		return err
	}
	err = s.expect(ctx,
		run{handler: s.first + "/invoice", event: id, payload: "5", attempt: 1},
		run{handler: s.second + "/confirm", event: id, payload: "5", attempt: 1})
	if err != nil {
		return err
	}
	s.tell.Fact("switched on again, it takes events and hands them out")
	return nil
}

func (s *story) figures(ctx context.Context) error {
	s.tell.Step("Look at the figures")
	for _, want := range []struct {
		topic, group          string
		sent, done, cancelled int64
	}{{orders, s.first, 8, 7, 1}, {orders, s.second, 8, 7, 1}, {payments, s.first, 1, 1, 0}} {
		var f eventbus.Stats
		err := until(ctx, fmt.Sprintf("%+v", want), func() (bool, string, error) {
			all, err := s.billing.bus.Stats(ctx, want.topic)
			for _, one := range all {
				if one.Group == want.group {
					f = one
				}
			}
			return f.Sent == want.sent && f.Done == want.done && f.Cancelled == want.cancelled &&
				f.Waiting+f.InFlight+f.Delayed+f.Retrying+f.Dead == 0, fmt.Sprintf("%+v", f), err
		})
		if err != nil {
			return err
		}
		s.tell.Fact(fmt.Sprintf("topic %s, group %s: %d sent, %d done, %d cancelled, %s failed, %d replayed; nothing waits or is dead",
			f.Topic, f.Group, f.Sent, f.Done, f.Cancelled, show.Count(f.Failed, "attempt"), f.Replayed))
	}
	return nil
}
