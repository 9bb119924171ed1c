package handlers_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/handlers"
)

func ExampleNewLog() {
	handle := handlers.NewLog(os.Stdout)
	_ = handle.Handle(context.Background(), &eventbus.Event{
		ID: "1", Topic: "orders", Source: "/shop", ContentType: "application/json",
		Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Payload: []byte(`{"total":130775545883395173}`),
	})
	// Output:
	// {"specversion":"1.0","id":"1","source":"/shop","type":"orders","time":"2026-01-02T03:04:05Z","datacontenttype":"application/json","data":{"total":130775545883395173}}
}

func ExampleDeduplicate() {
	once := handlers.Deduplicate(handlers.NewMemoryDedup(10_000), time.Hour)
	handle := once(eventbus.HandleFunc(func(_ context.Context, event *eventbus.Event) error {
		fmt.Println("handle", event.ID)
		return nil
	}))
	for _, id := range []string{"1", "2", "1"} {
		_ = handle.Handle(context.Background(), &eventbus.Event{ID: id, Topic: "orders", Handler: "bill"})
	}
	// Output:
	// handle 1
	// handle 2
}
