package conformance

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func delayedIsCancelledOrDelivered(e *env) {
	e.create(eventbus.TopicConfig{})
	const n = 200
	ids := make([]string, n)
	for i := range ids {
		ids[i] = e.later(i, time.Duration(300+i)*time.Millisecond)
	}
	p := e.run("h", nil)
	cancelled := map[string]bool{}
	for _, id := range ids { // while they become due
		groups, err := e.bus.Delayed().Cancel(e.Context(), e.topic, id)
		if err != nil {
			require.ErrorIs(e, err, eventbus.ErrNotDelayed)
			continue
		}
		require.Equal(e, []string{"default"}, groups)
		cancelled[id] = true
	}
	e.eventually("all to be due", func() bool { return e.stats().Delayed == 0 })
	e.idle()
	delivered := p.take(n - len(cancelled))
	for _, event := range delivered {
		require.False(e, cancelled[event.ID], "%s was cancelled and came", event.ID)
	}
	p.total(int64(n - len(cancelled)))
}

func delayedCancelOfNothing(e *env) {
	e.create(eventbus.TopicConfig{})
	p := e.run("h", nil)
	for _, id := range []string{e.send("at once")[0], "unknown", e.later("due", 10*time.Millisecond)} {
		e.eventually("it to be over", func() bool { return e.stats().Delayed+e.stats().Waiting+e.stats().InFlight == 0 })
		_, err := e.bus.Delayed().Cancel(e.Context(), e.topic, id)
		require.ErrorIs(e, err, eventbus.ErrNotDelayed)
	}
	p.take(2)
	for _, id := range []string{"", "a\nb"} {
		_, err := e.bus.Delayed().Cancel(e.Context(), e.topic, id)
		require.ErrorIs(e, err, eventbus.ErrInvalidArgument)
	}
	_, err := e.bus.Delayed().Cancel(e.Context(), e.topic+"x", "1")
	require.ErrorIs(e, err, eventbus.ErrTopicNotFound)
}

func delayedIsListed(e *env) {
	e.create(eventbus.TopicConfig{})
	var want []string
	for i := range 25 {
		id, err := e.bus.Send(e.Context(), e.topic, i, eventbus.WithDelay(time.Hour+time.Duration(i/10)*time.Minute), eventbus.WithID(fmt.Sprintf("id \"%d\"", i)))
		require.NoError(e, err)
		want = append(want, id)
	}
	large, err := json.Marshal(string(make([]byte, 10_000)))
	require.NoError(e, err)
	id, err := e.bus.Send(e.Context(), e.topic, json.RawMessage(large), eventbus.WithDelay(2*time.Hour))
	require.NoError(e, err)
	want = append(want, id)
	for _, limit := range []int{1, 7, 26, 1000} {
		var got []string
		for cursor := ""; ; {
			page, err := e.bus.Delayed().List(e.Context(), e.topic, eventbus.DelayedQuery{Limit: limit, Cursor: cursor})
			require.NoError(e, err)
			require.LessOrEqual(e, len(page.Events), limit)
			for _, event := range page.Events {
				got = append(got, event.ID)
				require.InDelta(e, time.Until(event.DueAt), time.Hour, float64(90*time.Minute))
				require.Positive(e, event.Size)
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		require.Equal(e, want, got)
	}
	for _, q := range []eventbus.DelayedQuery{{Limit: -1}, {Limit: 1001}, {Cursor: "x"}} {
		_, err := e.bus.Delayed().List(e.Context(), e.topic, q)
		require.ErrorIs(e, err, eventbus.ErrInvalidArgument)
	}
	_, err = e.newBus(eventbus.Config{Group: "other"}).Delayed().List(e.Context(), e.topic, eventbus.DelayedQuery{})
	require.ErrorIs(e, err, eventbus.ErrGroupNotFound)
	_, err = e.bus.Delayed().Unreadable(e.Context(), e.topic, 0)
	require.ErrorIs(e, err, eventbus.ErrInvalidArgument)
	u, err := e.bus.Delayed().Unreadable(e.Context(), e.topic, 10)
	require.NoError(e, err)
	require.Equal(e, eventbus.UnreadableEvents{List: e.key("unreadable:default")}, u)
}
