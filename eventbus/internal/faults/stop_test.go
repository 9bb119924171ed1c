package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// An event, or a retry that is due just then, meets a bus that stops: whatever
// has been popped is handled or stays in Redis, in both kinds of delivery. Two
// hundred stops, each 0 to 30 ms after a send.
func TestStopRightAfterASendLosesNothing(t *testing.T) {
	t.Parallel()
	const lanes, stops = 4, 50
	server := redistest.Start(t, redistest.Options{})
	for lane := range lanes {
		delivery := eventbus.AtLeastOnce
		if lane%2 == 1 {
			delivery = eventbus.AtMostOnce
		}
		t.Run(fmt.Sprintf("%s %d", delivery, lane), func(t *testing.T) {
			t.Parallel()
			name := fmt.Sprintf("lane%d", lane)
			l := &stopLane{world: &world{t: t, server: server, ledger: newLedger()}, topic: name, retried: map[string]bool{}}
			l.sender = l.bus(server.Addr(), eventbus.Config{})
			require.NoError(t, l.sender.Topics().Create(t.Context(), name, eventbus.TopicConfig{Delivery: delivery}))
			for i := range stops {
				l.stopAfterSend(fmt.Sprintf("e%d", i), time.Duration(rand.Int64N(int64(30*time.Millisecond))))
			}
			last := l.start()
			l.ledger.awaitAll(t, l.ids, patience)
			require.Eventually(t, func() bool {
				s, err := l.sender.GroupStats(context.Background(), name)
				return err == nil && s.Waiting+s.InFlight+s.Retrying == 0
			}, patience, tick)
			last.stop(patience)
			for _, id := range l.ids {
				require.Equal(t, 1, l.ledger.ended[id], "runs of event %s that succeeded", id)
			}
		})
	}
}

// stopLane is a row of buses on one topic, each stopped at a random moment.
type stopLane struct {
	*world
	topic string
	ids   []string

	mu      sync.Mutex
	retried map[string]bool
}

func (l *stopLane) start() *consumer {
	bus := l.bus(l.server.Addr(), eventbus.Config{})
	bus.Handle(l.topic, handler, eventbus.HandleFunc(func(_ context.Context, e *eventbus.Event) error {
		l.ledger.begin(e.ID)
		if l.retryFirst(e.ID) {
			return eventbus.RetryAfter(time.Duration(rand.Int64N(int64(20*time.Millisecond))), errors.New("the first attempt fails"))
		}
		l.ledger.end(e.ID)
		return nil
	}))
	return l.run(bus)
}

// retryFirst is true once for every other event.
func (l *stopLane) retryFirst(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id[len(id)-1]%2 == 0 || l.retried[id] {
		return false
	}
	l.retried[id] = true
	return true
}

func (l *stopLane) stopAfterSend(id string, after time.Duration) {
	c := l.start()
	_, err := l.sender.Send(context.Background(), l.topic, 1, eventbus.WithID(id))
	require.NoError(l.t, err)
	l.ids = append(l.ids, id)
	_ = busy(context.Background(), after)
	c.stop(patience)
}
