package conformance

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func failures() []test {
	return []test{
		{"ArePagedWithoutGapOrRepeat", failuresArePaged},
		{"PagesGoOnWhenTheirLastIsGone", failuresPagesGoOnWhenTheirLastIsGone},
		{"AreListedByHandler", failuresAreListedByHandler},
		{"RetryingAreListedByNextAttempt", retryingFailuresAreListedByNextAttempt},
		{"AreReadWithTheirEvent", failuresAreReadWithTheirEvent},
		{"AreFoundWithoutTheirEvent", failuresAreFoundWithoutTheirEvent},
		{"AreDiscarded", failuresAreDiscarded},
		{"QuestionsAreChecked", failureQuestionsAreChecked},
	}
}

// fail makes n dead failures of handler "h", many of them in one millisecond,
// and returns them, the oldest first.
func (e *env) fail(n int) []eventbus.Failure {
	e.Helper()
	b := e.newBus(eventbus.Config{})
	e.handle(b, "h", func(context.Context, *eventbus.Event) error { return eventbus.Reject(errOnPurpose) })
	stop := e.start(b)
	e.sendNumbers(n)
	list := e.dead(n)
	e.idle()
	stop()
	return list
}

// page reads all pages of a query from a cursor on.
func (e *env) pages(q eventbus.FailureQuery) (found []eventbus.Failure, sizes []int) {
	e.Helper()
	for {
		page, err := e.bus.Failures().List(e.Context(), e.topic, q)
		require.NoError(e, err)
		found = append(found, page.Failures...)
		sizes = append(sizes, len(page.Failures))
		if q.Cursor = page.Next; q.Cursor == "" {
			return found, sizes
		}
	}
}

func failureIDs(list []eventbus.Failure) []string {
	ids := make([]string, len(list))
	for i, f := range list {
		ids[i] = f.ID
	}
	return ids
}

func failuresArePaged(e *env) {
	e.create(eventbus.TopicConfig{})
	all := e.fail(250)
	ties := 0
	for i := range all[1:] {
		require.False(e, all[i+1].FailedAt.Before(all[i].FailedAt), "in the order of their death")
		if all[i+1].FailedAt.Equal(all[i].FailedAt) {
			ties++
		}
	}
	require.Positive(e, ties, "without two in one millisecond this test says little")
	for _, limit := range []int{3, 50, 100, 249, 250, 251} {
		found, sizes := e.pages(eventbus.FailureQuery{Limit: limit})
		require.Equal(e, failureIDs(all), failureIDs(found), "pages of %d", limit)
		for _, size := range sizes[:len(sizes)-1] {
			require.Equal(e, limit, size)
		}
	}
	found, sizes := e.pages(eventbus.FailureQuery{})
	require.Equal(e, failureIDs(all), failureIDs(found))
	require.Equal(e, []int{100, 100, 50}, sizes)
}

func failuresPagesGoOnWhenTheirLastIsGone(e *env) {
	e.create(eventbus.TopicConfig{})
	all := e.fail(60)
	first, err := e.bus.Failures().List(e.Context(), e.topic, eventbus.FailureQuery{Limit: 20})
	require.NoError(e, err)
	_, err = e.bus.Failures().Discard(e.Context(), e.topic, eventbus.FailureFilter{IDs: failureIDs(first.Failures)})
	require.NoError(e, err)
	rest, _ := e.pages(eventbus.FailureQuery{Limit: 20, Cursor: first.Next})
	require.Equal(e, failureIDs(all)[20:], failureIDs(rest))
}

func failuresAreListedByHandler(e *env) {
	e.create(eventbus.TopicConfig{})
	b := e.newBus(eventbus.Config{})
	for _, id := range []string{"a", "b"} {
		e.handle(b, id, func(context.Context, *eventbus.Event) error { return eventbus.Reject(errOnPurpose) })
	}
	e.start(b)
	sent := e.sendNumbers(30)
	e.dead(60)
	found, _ := e.pages(eventbus.FailureQuery{Handler: "b", Limit: 7})
	events := make([]string, len(found))
	for i, f := range found {
		require.Equal(e, "b", f.Handler)
		events[i] = f.EventID
	}
	require.ElementsMatch(e, sent, events)
	found, _ = e.pages(eventbus.FailureQuery{Handler: "nobody"})
	require.Empty(e, found)
}

func retryingFailuresAreListedByNextAttempt(e *env) {
	e.create(eventbus.TopicConfig{})
	p := e.run("h", func(_ context.Context, event *eventbus.Event) error {
		return eventbus.RetryAfter(time.Duration(len(event.Payload))*time.Hour, errOnPurpose)
	})
	e.send("333", "1", "22")
	p.take(3)
	e.eventually("the failures", func() bool { return e.count() == eventbus.FailureCount{Retrying: 3} })
	for i, f := range e.retrying() {
		require.Equal(e, eventbus.Retrying, f.State)
		require.Equal(e, eventbus.ReasonFailed, f.Reason)
		require.Equal(e, 1, f.Attempts)
		require.WithinDuration(e, f.FailedAt.Add(time.Duration(i+3)*time.Hour), f.NextAttempt, time.Second)
	}
	found, _ := e.pages(eventbus.FailureQuery{})
	require.Empty(e, found, "none is dead")
}

func failuresAreReadWithTheirEvent(e *env) {
	e.create(eventbus.TopicConfig{})
	f := e.fail(1)[0]
	require.Nil(e, f.Event, "a list is without events")
	got := e.get(f.ID)
	require.NotNil(e, got.Event)
	require.Equal(e, f.EventID, got.Event.ID)
	require.Equal(e, "0", string(got.Event.Payload))
	require.Equal(e, "h", got.Event.Handler)
	require.Equal(e, 1, got.Event.Attempt)
	got.Event, f.Event = nil, nil
	require.Equal(e, f, got)
	require.WithinDuration(e, time.Now(), got.FailedAt, time.Minute)

	_, err := e.bus.Failures().Get(e.Context(), e.topic, "unknown")
	require.ErrorIs(e, err, eventbus.ErrFailureNotFound)
}

func failuresAreFoundWithoutTheirEvent(e *env) {
	e.create(eventbus.TopicConfig{})
	dead := e.fail(1)[0]
	p := e.run("h", func(context.Context, *eventbus.Event) error { return eventbus.RetryAfter(time.Hour, errOnPurpose) })
	e.send("tried again")
	p.take(1)
	e.eventually("the retry", func() bool { return e.count() == eventbus.FailureCount{Retrying: 1, Dead: 1} })
	for _, listed := range []eventbus.Failure{dead, e.retrying()[0]} {
		found, err := e.bus.Failures().Find(e.Context(), e.topic, listed.ID)
		require.NoError(e, err)
		require.Equal(e, listed, found)
		require.Equal(e, e.get(listed.ID).Size, found.Size)
		require.Positive(e, found.Size)
	}
	for _, id := range []string{"unknown", "", dead.ID + "|e"} {
		_, err := e.bus.Failures().Find(e.Context(), e.topic, id)
		require.ErrorIs(e, err, eventbus.ErrFailureNotFound, id)
	}
	_, err := e.bus.Failures().Discard(e.Context(), e.topic, eventbus.FailureFilter{IDs: []string{dead.ID}})
	require.NoError(e, err)
	_, err = e.bus.Failures().Find(e.Context(), e.topic, dead.ID)
	require.ErrorIs(e, err, eventbus.ErrFailureNotFound)
}

func failuresAreDiscarded(e *env) {
	e.create(eventbus.TopicConfig{})
	all := e.fail(10)
	n, err := e.bus.Failures().Discard(e.Context(), e.topic, eventbus.FailureFilter{IDs: []string{all[3].ID, all[3].ID, "unknown", all[5].ID}})
	require.NoError(e, err)
	require.EqualValues(e, 2, n)
	_, err = e.bus.Failures().Get(e.Context(), e.topic, all[3].ID)
	require.ErrorIs(e, err, eventbus.ErrFailureNotFound)
	require.Equal(e, eventbus.FailureCount{Dead: 8}, e.count())
	n, err = e.bus.Failures().Discard(e.Context(), e.topic, eventbus.FailureFilter{All: true})
	require.NoError(e, err)
	require.EqualValues(e, 8, n)
	require.Zero(e, e.count())
	require.EqualValues(e, 10, e.stats().Discarded)
	require.Empty(e, e.keys(e.key("failures")), "the records went with the index")
	require.Empty(e, e.keys(e.key("dead")))
}

func failureQuestionsAreChecked(e *env) {
	e.create(eventbus.TopicConfig{})
	for name, q := range map[string]eventbus.FailureQuery{
		"cursor":      {Cursor: "no cursor"},
		"state":       {State: "lost"},
		"small limit": {Limit: -1},
		"large limit": {Limit: 1001},
	} {
		_, err := e.bus.Failures().List(e.Context(), e.topic, q)
		require.ErrorIs(e, err, eventbus.ErrInvalidArgument, name)
	}
	for name, filter := range map[string]eventbus.FailureFilter{
		"picks nothing":      {},
		"ids with something": {IDs: []string{"a"}, All: true},
		"state":              {All: true, State: "lost"},
		"handler":            {Handler: "no name"},
		"ids with a state":   {IDs: []string{"a"}, State: eventbus.Dead},
		"before 1970":        {Before: time.Unix(0, -1)},
		"1970":               {Before: time.Unix(0, 0)},
		"seconds":            {Before: time.UnixMilli(time.Now().Unix())},
	} {
		_, err := e.bus.Failures().Replay(e.Context(), e.topic, filter)
		require.ErrorIs(e, err, eventbus.ErrInvalidArgument, name)
		_, err = e.bus.Failures().Discard(e.Context(), e.topic, filter)
		require.ErrorIs(e, err, eventbus.ErrInvalidArgument, name)
	}
}
