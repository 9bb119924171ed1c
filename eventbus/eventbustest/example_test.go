package eventbustest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/eventbus/eventbustest"
)

// example stands for the *testing.T that an example does not have.
type example struct {
	testing.TB
	cleanups []func()
}

func (e *example) Helper()                           {}
func (e *example) Cleanup(f func())                  { e.cleanups = append(e.cleanups, f) }
func (e *example) Output() io.Writer                 { return io.Discard }
func (e *example) Logf(string, ...any)               {}
func (e *example) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (e *example) end() {
	for i := len(e.cleanups) - 1; i >= 0; i-- {
		e.cleanups[i]()
	}
}

// A test sends an event and requires that it was handled.
func Example() {
	t := &example{} // in a test: its *testing.T
	defer t.end()

	bus := eventbustest.New(t)
	bus.Handle("user.registered", "welcome-mail", eventbus.Typed(func(ctx context.Context, name string) error {
		_, err := bus.Send(ctx, "mail", "Welcome, "+name+"!")
		return err
	}))
	bus.Start(t)

	if _, err := bus.Send(context.Background(), "user.registered", "Ada"); err != nil {
		t.Fatalf("%v", err)
	}
	bus.RequireHandled(t, "user.registered", "welcome-mail", 1)
	mail := bus.RequireSent(t, "mail", nil)
	fmt.Println(string(mail.Payload))
	// Output: "Welcome, Ada!"
}

// A test moves the clock to the next attempt.
func ExampleClock_Advance() {
	t := &example{}
	defer t.end()

	bus := eventbustest.New(t)
	bus.Handle("orders", "charge", eventbus.HandleFunc(func(_ context.Context, event *eventbus.Event) error {
		if event.Attempt == 1 {
			return eventbus.RetryAfter(time.Hour, errors.New("the card is being checked"))
		}
		return nil
	}))
	bus.Start(t)

	if _, err := bus.Send(context.Background(), "orders", "order 7"); err != nil {
		t.Fatalf("%v", err)
	}
	fmt.Println(bus.RequireFailed(t, "orders", "charge", 1)[0].Error)
	bus.Clock.Advance(time.Hour)
	event := bus.RequireHandled(t, "orders", "charge", 1)[0]
	fmt.Println("handled at attempt", event.Attempt)
	// Output:
	// retry after 1h0m0s: the card is being checked
	// handled at attempt 2
}

// A test lets all attempts pass, however long their backoff is.
func ExampleBus_Drain() {
	t := &example{}
	defer t.end()

	bus := eventbustest.New(t)
	bus.Handle("orders", "charge", eventbus.HandleFunc(func(context.Context, *eventbus.Event) error {
		return errors.New("the bank is closed")
	}), eventbus.HandleConfig{Retry: eventbus.RetryPolicy{MaxAttempts: 5, Initial: time.Hour, Max: 24 * time.Hour}})
	bus.Start(t)

	if _, err := bus.Send(context.Background(), "orders", "order 7"); err != nil {
		t.Fatalf("%v", err)
	}
	bus.Drain(t)
	failure := bus.RequireFailed(t, "orders", "charge", 1)[0]
	fmt.Println(failure.State, "after", failure.Attempts, "attempts:", failure.Error)
	// Output: dead after 5 attempts: the bank is closed
}

// A program without a test, such as an example, runs on an in-memory Redis too.
func ExampleRedis() {
	rdb, stop := eventbustest.Redis()
	defer stop()

	bus, err := eventbus.New(rdb, eventbus.Config{AutoCreateTopics: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Close()
	if _, err := bus.Send(context.Background(), "orders", "order 7"); err != nil {
		fmt.Println(err)
		return
	}
	stats, err := bus.GroupStats(context.Background(), "orders")
	fmt.Println(stats.Waiting, "waits", err)
	// Output: 1 waits <nil>
}
