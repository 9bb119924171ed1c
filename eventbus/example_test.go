package eventbus_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/eventbus/eventbustest"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// newExampleBus returns a bus on an in-memory Redis, and what ends both.
func newExampleBus() (bus *eventbus.Bus, end func()) {
	rdb, stop := eventbustest.Redis()
	bus, err := eventbus.New(rdb, eventbus.Config{AutoCreateTopics: true, Logger: slog.New(slog.DiscardHandler)})
	check(err)
	return bus, func() {
		check(bus.Close())
		stop()
	}
}

type User struct{ Name, Email string }

func ExampleBus() {
	rdb, end := eventbustest.Redis() // in a program: redis.NewClient(&redis.Options{Addr: …})
	defer end()
	ctx, stop := context.WithCancel(context.Background())
	bus, err := eventbus.New(rdb, eventbus.Config{Group: "billing", AutoCreateTopics: true})
	check(err)
	bus.Handle("user.registered", "welcome-mail", eventbus.Typed(func(ctx context.Context, u User) error {
		fmt.Println("welcome,", u.Name)
		stop()     // a service would go on
		return nil // an error would be retried, and kept when that does not help
	}))
	_, err = bus.Send(ctx, "user.registered", User{"Ada", "ada@example.org"})
	check(err)
	check(bus.Run(ctx)) // until ctx ends
	check(bus.Close())
	// Output: welcome, Ada
}

// Several handlers of a topic run one after another. One that rejects an event
// does not keep the others from it, and is not called again.
func ExampleReject() {
	bus, end := newExampleBus()
	defer end()
	ctx, stop := context.WithCancel(context.Background())

	bus.Handle("user.registered", "newsletter", eventbus.Typed(func(_ context.Context, u User) error {
		return eventbus.Reject(fmt.Errorf("%s has no address", u.Name))
	}))
	bus.Handle("user.registered", "statistics", eventbus.HandleFunc(func(context.Context, *eventbus.Event) error {
		fmt.Println("counted")
		stop()
		return nil
	}))
	_, err := bus.Send(ctx, "user.registered", User{Name: "Ada"})
	check(err)
	check(bus.Run(ctx))

	page, err := bus.Failures().List(context.Background(), "user.registered", eventbus.FailureQuery{})
	check(err)
	for _, f := range page.Failures {
		fmt.Println(f.State, f.Handler, f.Reason, "after", f.Attempts, "attempt:", f.Error)
	}
	// Output:
	// counted
	// dead newsletter rejected after 1 attempt: rejected: Ada has no address
}

// A handler that knows when it makes sense to come again says so.
func ExampleRetryAfter() {
	bus, end := newExampleBus()
	defer end()
	ctx, stop := context.WithCancel(context.Background())

	bus.Handle("invoice.due", "charge", eventbus.HandleFunc(func(_ context.Context, event *eventbus.Event) error {
		fmt.Println("attempt", event.Attempt)
		if event.Attempt == 1 {
			return eventbus.RetryAfter(10*time.Millisecond, errors.New("503 Service Unavailable, Retry-After: …"))
		}
		stop()
		return nil
	}))
	_, err := bus.Send(ctx, "invoice.due", 7)
	check(err)
	check(bus.Run(ctx))
	// Output:
	// attempt 1
	// attempt 2
}

// Who is not ready yet asks to be called later, which uses up no attempt.
func ExampleSnooze() {
	bus, end := newExampleBus()
	defer end()
	ctx, stop := context.WithCancel(context.Background())

	calls := 0
	bus.Handle("invoice.due", "charge", eventbus.HandleFunc(func(_ context.Context, event *eventbus.Event) error {
		calls++
		fmt.Println("call", calls, "attempt", event.Attempt)
		if calls == 1 {
			return eventbus.Snooze(10 * time.Millisecond)
		}
		stop()
		return nil
	}))
	_, err := bus.Send(ctx, "invoice.due", 7)
	check(err)
	check(bus.Run(ctx))
	// Output:
	// call 1 attempt 1
	// call 2 attempt 1
}

// Dead failures wait until somebody replays them. Only the handler that failed
// runs again, with fresh attempts.
func ExampleFailures_Replay() {
	rdb, end := eventbustest.Redis()
	defer end()

	// release is a process that runs until it has tried to ship an order.
	release := func(ship func() error) *eventbus.Bus {
		bus, err := eventbus.New(rdb, eventbus.Config{AutoCreateTopics: true, Logger: slog.New(slog.DiscardHandler)})
		check(err)
		bus.Handle("order.paid", "thank", eventbus.HandleFunc(func(context.Context, *eventbus.Event) error {
			fmt.Println("thanked")
			return nil
		}))
		ctx, stop := context.WithCancel(context.Background())
		bus.Handle("order.paid", "ship", eventbus.HandleFunc(func(context.Context, *eventbus.Event) error {
			stop()
			return ship()
		}), eventbus.HandleConfig{Retry: eventbus.RetryPolicy{MaxAttempts: 1}})
		go func() { check(bus.Run(ctx)) }()
		<-ctx.Done()
		return bus
	}

	admin, err := eventbus.New(rdb, eventbus.Config{AutoCreateTopics: true})
	check(err)
	defer admin.Close()
	ctx := context.Background()
	_, err = admin.Send(ctx, "order.paid", 7)
	check(err)
	check(release(func() error { return errors.New("the printer is out of paper") }).Close())

	page, err := admin.Failures().List(ctx, "order.paid", eventbus.FailureQuery{})
	check(err)
	fmt.Println(page.Failures[0].Handler+":", page.Failures[0].Error)
	n, err := admin.Failures().Replay(ctx, "order.paid", eventbus.FailureFilter{Handler: "ship"})
	check(err)
	fmt.Println("replayed", n)
	check(release(func() error { fmt.Println("shipped"); return nil }).Close())
	// Output:
	// thanked
	// ship: the printer is out of paper
	// replayed 1
	// shipped
}

// Middleware wraps handlers, as net/http's does: that of Config is outermost.
func ExampleMiddleware() {
	rdb, end := eventbustest.Redis()
	defer end()
	ctx, stop := context.WithCancel(context.Background())

	timed := func(next eventbus.EventHandle) eventbus.EventHandle {
		return eventbus.HandleFunc(func(ctx context.Context, event *eventbus.Event) error {
			began := time.Now()
			err := next.Handle(ctx, event)
			fmt.Println(event.Handler, "took no longer than a minute:", time.Since(began) < time.Minute)
			return err
		})
	}
	bus, err := eventbus.New(rdb, eventbus.Config{AutoCreateTopics: true, Middleware: []eventbus.Middleware{timed}})
	check(err)
	defer bus.Close()
	bus.Handle("order.paid", "ship", eventbus.HandleFunc(func(context.Context, *eventbus.Event) error {
		stop()
		return nil
	}))
	_, err = bus.Send(ctx, "order.paid", 7)
	check(err)
	check(bus.Run(ctx))
	// Output: ship took no longer than a minute: true
}

// A batch is sent whole or not at all, and keeps its order.
func ExampleBus_SendBatch() {
	bus, end := newExampleBus()
	defer end()
	ctx := context.Background()

	ids, err := bus.SendBatch(ctx, "order.paid", []eventbus.Message{
		{Value: map[string]int{"order": 7}},
		{Value: map[string]int{"order": 8}, ID: "payment-4711", Headers: map[string]string{"tenant": "acme"}},
		{Value: eventbus.Raw{Payload: []byte("<order>9</order>"), ContentType: "application/xml"}},
	})
	check(err)
	fmt.Println(len(ids), "sent, the second as", ids[1])

	_, err = bus.SendBatch(ctx, "order.paid", []eventbus.Message{
		{Value: 10},
		{Value: 11, Headers: map[string]string{"Tenant": "acme"}},
	})
	fmt.Println(errors.Is(err, eventbus.ErrInvalidArgument), err)

	stats, err := bus.GroupStats(ctx, "order.paid")
	check(err)
	fmt.Println(stats.Waiting, "wait")
	// Output:
	// 3 sent, the second as payment-4711
	// true send to topic "order.paid": event 2 of 2: invalid header name "Tenant": 'T' at byte 0 is not allowed; a header's name is 1 to 20 of a-z and 0-9
	// 3 wait
}

// Topics are created, changed and switched off at run time, from any process.
func ExampleTopics() {
	bus, end := newExampleBus()
	defer end()
	ctx := context.Background()
	topics := bus.Topics()

	check(topics.Create(ctx, "orders", eventbus.TopicConfig{
		MaxWaiting: 1,
		Groups:     []eventbus.GroupConfig{{Name: "billing"}, {Name: "search"}},
	}))
	_, err := bus.Send(ctx, "orders", 7)
	check(err)
	_, err = bus.Send(ctx, "orders", 8)
	fmt.Println(err)

	check(topics.Disable(ctx, "orders"))
	_, err = bus.Send(ctx, "orders", 8)
	fmt.Println(err)
	check(topics.Enable(ctx, "orders"))

	more := int64(1000)
	_, err = topics.Update(ctx, "orders", eventbus.TopicUpdate{MaxWaiting: &more})
	check(err)
	_, err = bus.Send(ctx, "orders", 8)
	check(err)

	all, err := bus.Stats(ctx, "orders")
	check(err)
	for _, s := range all {
		fmt.Println(s.Group, s.Waiting)
	}
	check(topics.Delete(ctx, "orders"))
	names, err := topics.List(ctx)
	fmt.Println(names, err)
	// Output:
	// send to topic "orders": topic is full: 1 of at most 1 events wait in group "billing"
	// send to topic "orders": topic is disabled
	// billing 2
	// search 2
	// [] <nil>
}

// What is set at run time goes before what the code says, in all processes that
// run the handler, within a second.
func ExampleHandlers_Update() {
	bus, end := newExampleBus()
	defer end()
	ctx, stop := context.WithCancel(context.Background())

	check(bus.Topics().Create(ctx, "orders", eventbus.TopicConfig{}))
	timeout := 2 * time.Second
	_, err := bus.Handlers().Update(ctx, "orders", "ship", eventbus.HandlerUpdate{Timeout: &timeout})
	check(err)

	bus.Handle("orders", "ship", eventbus.HandleFunc(func(ctx context.Context, _ *eventbus.Event) error {
		deadline, _ := ctx.Deadline()
		fmt.Println("no more than 2 s are left:", time.Until(deadline) <= 2*time.Second)
		stop()
		return nil
	}), eventbus.HandleConfig{Timeout: time.Minute})
	_, err = bus.Send(ctx, "orders", 7)
	check(err)
	check(bus.Run(ctx))
	// Output: no more than 2 s are left: true
}

// A Typed handler finds the event itself in its context.
func ExampleEventFrom() {
	bus, end := newExampleBus()
	defer end()
	ctx, stop := context.WithCancel(context.Background())

	bus.Handle("orders", "ship", eventbus.Typed(func(ctx context.Context, order int) error {
		event := eventbus.EventFrom(ctx)
		fmt.Println("order", order, "of", event.Headers["tenant"], "as", event.ID)
		stop()
		return nil
	}))
	_, err := bus.Send(ctx, "orders", 7, eventbus.WithID("payment-4711"), eventbus.WithHeader("tenant", "acme"))
	check(err)
	check(bus.Run(ctx))
	// Output: order 7 of acme as payment-4711
}
