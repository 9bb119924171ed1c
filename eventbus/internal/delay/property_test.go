package delay

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever lies in the topics, and whoever of them has a million overdue: each event
// is moved, none before its time, and a topic that has something due waits for no
// more than one move of each other topic, and a sweep.
func TestTopicsTakeTurns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 3, 499, 500, 501, 5000, 1_000_000}), 2, 8).Draw(rt, "overdue")
		delays := rapid.SliceOfN(rapid.IntRange(0, 2000), len(sizes), len(sizes)).Draw(rt, "delays") // ms
		skew := rapid.SampledFrom([]time.Duration{0, time.Hour, -time.Hour}).Draw(rt, "skew")
		synctest.Test(t, func(t *testing.T) {
			const latency = time.Millisecond
			b := newBed(t)
			b.redis.latency, b.redis.skew = latency, skew
			topics := b.topics(len(sizes))
			began := b.redis.now()
			for i, topic := range topics {
				b.redis.add(topic, -time.Hour, sizes[i])
				b.redis.add(topic, time.Duration(delays[i])*time.Millisecond, 1)
			}
			b.Serve(topics)
			b.run()
			for range 40 { // moves of a million take two seconds here
				b.pass(100 * time.Millisecond)
			}
			b.stop()
			<-b.ended
			// One move of each other, one of its own that was under way, a sweep, and
			// the look that a subscription makes.
			bound := time.Duration(len(topics)+3) * latency
			for i, topic := range topics {
				if sizes[i] < 1_000_000 {
					require.Equal(rt, sizes[i]+1, b.redis.count(topic))
				}
				due := began.Add(time.Duration(delays[i]) * time.Millisecond)
				n := 0
				for _, m := range b.redis.moved[topic.Keys.Topic] {
					rt.Logf("topic %d: %d at %v", i, m.n, m.at.Sub(began))
					require.LessOrEqual(rt, m.at.Sub(began), bound+max(time.Duration(n/maxMove)*bound, due.Sub(began)), "topic %d, after %d", i, n)
					n += m.n
					require.False(rt, n > sizes[i] && m.at.Before(due), "topic %d, early", i)
				}
			}
		})
	})
}
