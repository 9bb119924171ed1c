package conformance

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// The dead set is limited; record and index go together, and are counted.
func limits() []test {
	return []test{
		{"OfNumberDropsTheOldest", limitOfNumberDropsTheOldest},
		{"OfNumberHoldsForWhatIsThere", limitOfNumberHoldsForWhatIsThere},
		{"OfAgeDropsTheOld", limitOfAgeDropsTheOld},
	}
}

// records counts the fields of the failures' hash: two a failure.
func (e *env) records() int64 {
	e.Helper()
	n, err := e.rdb.HLen(e.Context(), e.key("failures:default")).Result()
	require.NoError(e, err)
	return n
}

func limitOfNumberDropsTheOldest(e *env) {
	e.create(eventbus.TopicConfig{DeadLimit: 5})
	b := e.newBus(eventbus.Config{Concurrency: 1})
	p := e.handle(b, "h", rejects)
	e.start(b)
	sent := e.sendNumbers(20)
	p.take(20)
	e.idle()
	var kept []string
	for _, f := range e.dead(5) {
		kept = append(kept, f.EventID)
		e.get(f.ID)
	}
	// Those of one millisecond have no order among each other.
	require.Subset(e, sent, kept)
	require.Contains(e, kept, sent[19])
	require.NotContains(e, kept, sent[0])
	s := e.stats()
	require.EqualValues(e, 5, s.Dead)
	require.EqualValues(e, 15, s.Dropped)
	require.EqualValues(e, 20, s.Died)
	require.EqualValues(e, 10, e.records())
}

func limitOfNumberHoldsForWhatIsThere(e *env) {
	e.create(eventbus.TopicConfig{DeadLimit: -1})
	all := e.fail(20)
	four := int64(4)
	_, err := e.bus.Topics().Update(e.Context(), e.topic, eventbus.TopicUpdate{DeadLimit: &four})
	require.NoError(e, err)
	e.run("h", nil) // a running process sees to it
	e.eventually("the limit to hold", func() bool { return e.count().Dead == 4 })
	require.Equal(e, failureIDs(all)[16:], failureIDs(e.dead(4)), "the youngest are kept")
	require.EqualValues(e, 16, e.stats().Dropped)
	require.EqualValues(e, 8, e.records())
}

func limitOfAgeDropsTheOld(e *env) {
	e.create(eventbus.TopicConfig{})
	e.fail(20)
	age := time.Millisecond
	_, err := e.bus.Topics().Update(e.Context(), e.topic, eventbus.TopicUpdate{DeadAge: &age})
	require.NoError(e, err)
	e.run("h", nil)
	e.eventually("the old ones to be dropped", func() bool { return e.count().Dead == 0 })
	require.EqualValues(e, 20, e.stats().Dropped)
	require.Zero(e, e.records())
}
