package dispatch

import (
	"context"
	"testing"
	"time"
)

// BenchmarkJob measures the normal path: one job with one handler that does
// nothing, from Submit to the free slot.
func BenchmarkJob(b *testing.B) {
	slots := make(chan struct{}, 64)
	pool := New(Config{Size: cap(slots), OnRelease: func(int) { <-slots }})
	defer pool.Stop(context.Background())
	handler := NewHandler("noop", Settings{Enabled: true, Timeout: 10 * time.Second, MaxAbandoned: 16})
	work := &work{runs: []Run{func(context.Context) error { return nil }}, finish: func([]Result) {}}
	handlers := []*Handler{handler}
	b.ReportAllocs()
	for b.Loop() {
		slots <- struct{}{}
		pool.Submit(&Job{Topic: "orders", Handlers: handlers, Work: work})
	}
}
