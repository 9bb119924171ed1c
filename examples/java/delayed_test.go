//go:build java

package java_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// everywhere runs a test for each release of Redisson and each shape of a topic.
func everywhere(t *testing.T, test func(b *bed)) {
	for _, r := range redissons {
		for _, s := range shapes {
			t.Run(r.name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				test(setup(t, s, r))
			})
		}
	}
}

func TestGoHandlesWhatJavaDelayed(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bed) {
		r := newRecord()
		stop := b.run(r)
		java := b.start("offer")
		due := map[string]span{}
		for i, payload := range payloads("Java", 200) {
			// In turns soon and later, and many for about the same time.
			delay := time.Duration(i%3) * 700 * time.Millisecond
			due[payload] = b.offer(java, payload, delay, nil)
		}
		require.Empty(b.t, java.finish()) // Go alone moves the rest
		r.await(b.t, len(due))
		b.requireEmpty()
		stop() // what would come twice has come by now
		require.Equal(b.t, map[string]int{"Go": len(due)}, r.check(b.t, due, late))
	})
}

// Java offers, and is gone; Go was not there yet. What has become due meanwhile is
// handled as soon as Go starts, though nobody sends anything any more.
func TestGoHandlesWhatHasBecomeDueBeforeItsStart(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bed) {
		java := b.start("offer")
		due := map[string]span{}
		for _, payload := range payloads("Java", 20) {
			due[payload] = b.offer(java, payload, time.Second, nil)
		}
		require.Empty(b.t, java.finish())
		set, _, _ := b.shape.redissonKeys()
		require.Eventually(b.t, func() bool {
			now, err := b.rdb.Time(b.t.Context()).Result()
			require.NoError(b.t, err)
			pending, err := b.rdb.ZCount(b.t.Context(), set, fmt.Sprint(now.UnixMilli()+1), "+inf").Result()
			require.NoError(b.t, err)
			return pending == 0
		}, patience, 20*time.Millisecond)

		r, started := newRecord(), time.Now()
		stop := b.run(r)
		r.await(b.t, len(due))
		for payload := range due {
			due[payload] = span{due[payload].from, started}
		}
		b.requireEmpty()
		stop() // what would come twice has come by now
		require.Equal(b.t, map[string]int{"Go": len(due)}, r.check(b.t, due, late))
	})
}

// Nothing of Go runs when the events become due: Java's delayed queue moves them. By
// itself it is not always in time: the answer of a transfer, which says when the
// next event is due, may replace the timer of one that was sent after it.
func TestJavaTakesWhatGoDelayed(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bed) {
		const longest = 1500 * time.Millisecond
		texts := payloads("Go", 200)
		java := b.start("take", "--transfer", "--count", fmt.Sprint(len(texts)))
		b.awaitJava()
		due := map[string]span{}
		for i, payload := range texts {
			due[payload] = b.send(payload, longest-time.Duration(i%3)*500*time.Millisecond)
		}
		r := newRecord()
		for _, a := range java.finish() {
			r.addTaken(a)
		}
		require.Equal(b.t, map[string]int{"Java": len(due)}, r.check(b.t, due, late+longest))
		b.requireEmpty()
	})
}

func TestJavaSeesWhatGoDelayed(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bed) {
		texts := payloads("Go", 3)
		first, err := b.bus.Send(b.t.Context(), topic, eventbus.Raw{Payload: []byte(texts[0])}, eventbus.WithDelay(time.Hour))
		require.NoError(b.t, err)
		for i, payload := range texts[1:] {
			if i == 5 { // a new release reads both forms, side by side
				yes := true
				_, err := b.bus.Topics().Update(b.t.Context(), topic, eventbus.TopicUpdate{RedissonOldClients: &yes})
				require.NoError(b.t, err)
			}
			b.send(payload, time.Hour-time.Duration(i+1)*time.Minute)
		}
		require.Equal(b.t, []answer{{Size: len(texts), Payloads: texts}}, b.start("list").finish(), "in the order of sending")

		remove := b.start("remove")
		for _, payload := range texts[1:3] {
			remove.write(removal{Payload: payload})
			require.Equal(b.t, answer{Payload: payload, Removed: true}, remove.next())
			remove.write(removal{Payload: payload})
			require.Equal(b.t, answer{Payload: payload}, remove.next(), "it is removed already")
		}
		require.Empty(b.t, remove.finish())

		left := append(texts[:1:1], texts[3:]...)
		require.Equal(b.t, []answer{{Size: len(left), Payloads: left}}, b.start("list").finish())
		require.Len(b.t, b.delayed(), len(left))

		_, err = b.bus.Delayed().Cancel(b.t.Context(), topic, first)
		require.NoError(b.t, err)
		left = left[1:]
		require.Equal(b.t, []answer{{Size: len(left), Payloads: left}}, b.start("list").finish(), "without what Go has cancelled")
	})
}

// Java and Go offer, move and take at the same time.
func TestBothShareOneQueue(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bed) {
		const each, longest = 400, 2_000
		r := newRecord()
		stop := b.run(r)
		java := b.start("exchange")
		b.awaitJava()

		due := map[string]span{}
		random := rand.New(rand.NewPCG(1, 2))
		delay := func() time.Duration { return time.Duration(random.IntN(longest)) * time.Millisecond }
		for i := range each {
			payload := fmt.Sprintf(`{"from":"Go","number":%d}`, i)
			due[payload] = b.send(payload, delay())
			payload = fmt.Sprintf(`{"from":"Java","number":%d}`, i)
			due[payload] = b.offer(java, payload, delay(), r.addTaken)
		}
		for r.len() < len(due) {
			select {
			case a, running := <-java.answers:
				require.True(b.t, running, "Java ended too early")
				r.addTaken(a)
			case <-time.After(10 * time.Millisecond): // Go may have handled the last
			}
		}
		for _, a := range java.finish() {
			r.addTaken(a)
		}
		b.requireEmpty()
		stop() // what would come twice has come by now
		require.Len(b.t, r.check(b.t, due, late), 2, "one of them has handled all")
	})
}
