package delay

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// What Redis itself replied, and what the network did.
type refused string

func (r refused) Error() string { return string(r) }

// RedisError makes it a redis.Error.
func (refused) RedisError() {}

const (
	wrongType = refused("WRONGTYPE Operation against a key holding the wrong kind of value")
	noPerm    = refused("NOPERM this user has no permissions to access one of the keys used as arguments")
)

var (
	errClosed  = errors.New("use of a closed subscription")
	errNetwork = errors.New("connection reset by peer")
)

// The incident: events were overdue when the consumers came back, and nobody sent.
func TestOverdueEventsAreMovedAtTheStart(t *testing.T) {
	inBubble(t, func(b *bed) {
		topics := b.topics(3)
		for _, t := range topics {
			b.redis.add(t, -time.Hour, 1700)
		}
		b.Serve(topics)
		b.run()
		for _, t := range topics {
			require.Equal(b, 1700, b.redis.count(t))
		}
		require.Zero(b, b.after())
	})
}

// The next due time is what the last move returned, by Redis's clock, whatever the
// process's clock says: not a call before it, and none after it.
func TestEventsAreMovedToTheMicrosecond(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{0, 5 * time.Minute, -5 * time.Minute} {
		t.Run(skew.String(), func(t *testing.T) {
			inBubble(t, func(b *bed) {
				b.redis.skew = skew
				topic := topic("t")
				for i := range 3 {
					b.redis.add(topic, time.Duration(i+1)*1_234_567*time.Microsecond, 1)
				}
				b.Serve([]Topic{topic})
				b.run()
				b.redis.reset()
				b.pass(10 * time.Second)
				var at []time.Duration
				for _, c := range b.redis.transfers("") {
					at = append(at, c.at.Sub(b.began))
					require.Equal(b, 1, c.moved)
				}
				require.Equal(b, []time.Duration{1_234_567 * time.Microsecond, 2_469_134 * time.Microsecond, 3_703_701 * time.Microsecond}, at)
			})
		})
	}
}

// A message costs one look. What it brings forward is moved on time, and what was
// known before it is not put off.
func TestMessagesOnlyMakeItEarlier(t *testing.T) {
	inBubble(t, func(b *bed) {
		topic := topic("t")
		b.redis.add(topic, 4*time.Second, 1)
		b.Serve([]Topic{topic})
		b.run()
		b.redis.reset()
		b.pass(time.Second)
		b.redis.add(topic, time.Second, 1)
		b.redis.announce(topic)
		b.pass(500 * time.Millisecond)
		b.redis.announce(topic) // of something later, or of nothing
		b.pass(3 * time.Second)
		var at []time.Duration
		for _, c := range b.redis.transfers("") {
			at = append(at, c.at.Sub(b.began))
		}
		require.Equal(b, []time.Duration{time.Second, 1500 * time.Millisecond, 2 * time.Second, 4 * time.Second}, at)
		require.Equal(b, 2, b.redis.count(topic))
	})
}

// The reply to a move may be older than a message that comes while it is under way.
func TestMessageDuringAMoveIsNotLost(t *testing.T) {
	inBubble(t, func(b *bed) {
		topic := topic("t")
		b.redis.latency = 2 * time.Millisecond
		sent := 0
		b.redis.during = func(*store.Keys) {
			if sent < 5 {
				sent++
				b.redis.add(topic, 0, 1) // after the move was carried out, before its reply
				b.redis.announce(topic)
			}
		}
		b.Serve([]Topic{topic})
		b.run()
		b.pass(100 * time.Millisecond) // no sweep
		require.Equal(b, 5, b.redis.count(topic))
		require.Empty(b, b.redis.looks())
	})
}

func TestLostMessageCostsASweepAtMost(t *testing.T) {
	inBubble(t, func(b *bed) {
		topics := b.topics(20)
		b.Serve(topics)
		b.run()
		for i, t := range topics {
			b.pass(300 * time.Millisecond)
			d := time.Duration(i) * 700 * time.Millisecond
			b.redis.add(t, d, 1)
		}
		b.pass(20 * time.Second)
		for i, t := range topics {
			due := time.Duration(i+1)*300*time.Millisecond + time.Duration(i)*700*time.Millisecond
			at := b.redis.moved[t.Keys.Topic][0].at.Sub(b.began)
			require.GreaterOrEqual(b, at, due)
			require.LessOrEqual(b, at, max(due, time.Duration(i+1)*300*time.Millisecond+SweepEvery), "%d", i)
		}
	})
}

// However many topics there are and however much lies in them: one call in 5 s, and
// a move for what is due.
func TestIdlingCostsOneCallASweep(t *testing.T) {
	inBubble(t, func(b *bed) {
		topics := b.topics(200)
		for i, t := range topics {
			b.redis.add(t, time.Duration(i+2)*time.Hour, 1)
		}
		b.Serve(topics)
		b.run()
		require.LessOrEqual(b, len(b.redis.transfers("")), 2*len(topics), "at the start, and when the subscription stands")
		b.redis.reset()
		b.pass(time.Hour)
		require.Empty(b, b.redis.transfers(""))
		looks := b.redis.looks()
		require.InDelta(b, time.Hour/SweepEvery, len(looks), 1)
		for _, c := range looks {
			require.Equal(b, len(topics), c.asked)
		}
	})
}

// Settings of one topic change often, in one call or in a thousand: the others have
// not changed.
func TestTopicsThatAreServedAlreadyAreNotLookedAtAnew(t *testing.T) {
	inBubble(t, func(b *bed) {
		topics := b.topics(200)
		b.Serve(topics)
		b.run()
		b.redis.reset()
		for i := range topics {
			anew := *topics[i].Keys
			topics[i].Keys = &anew // as it is when its settings were read anew
			b.Serve(topics)
			b.pass(time.Millisecond)
		}
		require.Equal(b, len(topics), len(b.redis.transfers("")), "each once")
	})
}

func TestTopicsComeAndGoWhileItRuns(t *testing.T) {
	inBubble(t, func(b *bed) {
		one, two := topic("one"), topic("two")
		b.run() // with none
		b.pass(time.Minute)
		require.Empty(b, b.redis.transfers(""))
		b.redis.add(one, -time.Hour, 1)
		b.redis.add(two, -time.Hour, 1)
		b.Serve([]Topic{one})
		b.pass(time.Millisecond)
		require.Equal(b, 1, b.redis.count(one))
		require.Zero(b, b.redis.count(two))
		require.Equal(b, []string{"one.channel"}, b.redis.sub.heard())

		b.Serve([]Topic{one, two})
		b.pass(time.Millisecond)
		require.Equal(b, 1, b.redis.count(two))
		require.Equal(b, []string{"one.channel", "two.channel"}, b.redis.sub.heard())

		b.Serve([]Topic{two})
		b.redis.add(one, 0, 1)
		b.redis.announce(one)
		b.redis.reset()
		b.pass(time.Minute)
		require.Empty(b, b.redis.transfers(""), "it is not served any more")
		require.Equal(b, []string{"two.channel"}, b.redis.sub.heard())
		require.Equal(b, 1, b.redis.looks()[0].asked)

		b.Serve([]Topic{two, one})
		b.pass(time.Millisecond)
		require.Equal(b, 2, b.redis.count(one), "what came while it was off")
	})
}

// It goes off while a move is under way; what that returns changes nothing.
func TestTopicThatGoesDuringItsMoveIsForgotten(t *testing.T) {
	inBubble(t, func(b *bed) {
		topic := topic("t")
		b.redis.add(topic, time.Second, 1)
		b.redis.during = func(*store.Keys) { b.Serve(nil) }
		b.Serve([]Topic{topic})
		b.run()
		b.redis.reset()
		b.pass(time.Minute)
		require.Empty(b, b.redis.transfers(""))
		require.Zero(b, b.redis.count(topic))
	})
}

// A key of another type, a key that the user may not read: the log says so once, the
// topic is tried again every 5 s, the others come on time, and when all is well again
// so does this one.
func TestErrorOfATopicsOwn(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"wrong type": wrongType, "no permission": noPerm} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bed) {
				topics := b.topics(50)
				bad, good := topics[7], topics[8]
				b.redis.change(bad, func(s *set) { s.err = fmt.Errorf("move: %w", err) })
				if errors.Is(err, noPerm) {
					b.redis.heads = fmt.Errorf("look: %w", err) // as for the script: one key is refused, and all are
				}
				b.redis.add(bad, time.Second, 1)
				b.redis.add(good, time.Second, 1)
				b.Serve(topics)
				b.run()
				b.pass(time.Second)
				require.Equal(b, 1, b.redis.count(good))
				b.redis.reset()
				b.redis.heads = nil // whoever leaves the bad one out may ask
				for range 30 {
					b.redis.announce(bad) // whatever is heard
					b.pass(time.Second)
				}
				require.InDelta(b, 6, len(b.redis.transfers(bad.Keys.Topic)), 1)
				require.Equal(b, len(b.redis.transfers(bad.Keys.Topic)), len(b.redis.transfers("")), "the others are not looked at for it")
				for _, c := range b.redis.looks() {
					require.Equal(b, len(topics)-1, c.asked, "it would spoil the look at all others")
				}
				require.Len(b, b.log.with("not handed out"), 1, "%v", b.log.lines)
				require.Contains(b, b.log.with("not handed out")[0], bad.Keys.Topic)
				_, down := b.link.Err()
				require.NoError(b, down)

				b.redis.change(bad, func(s *set) { s.err = nil })
				b.pass(SweepEvery)
				require.Equal(b, 1, b.redis.count(bad))
				b.redis.change(bad, func(s *set) { s.err = wrongType })
				b.pass(2 * SweepEvery)
				require.Len(b, b.log.with("not handed out"), 2, "it is ill anew")
			})
		})
	}
}

// A user loses the right to one key while all runs: the look at all fails, so each
// topic is tried by itself, once; from then on the others share a look again.
func TestKeyThatIsRefusedLater(t *testing.T) {
	inBubble(t, func(b *bed) {
		topics := b.topics(10)
		b.Serve(topics)
		b.run()
		b.pass(SweepEvery - time.Second)
		b.redis.reset()
		b.redis.heads = noPerm
		b.redis.change(topics[3], func(s *set) { s.err = noPerm })
		b.redis.add(topics[4], 0, 1)
		b.pass(time.Second)
		require.Equal(b, len(topics), len(b.redis.transfers("")))
		require.Equal(b, 1, b.redis.count(topics[4]))
		b.redis.heads = nil
		b.redis.reset()
		b.pass(10 * SweepEvery)
		require.Equal(b, 10, len(b.redis.transfers("")))
		require.Equal(b, 10, len(b.redis.transfers("t003")))
	})
}

func TestUnreadableMembersAreLoggedOnce(t *testing.T) {
	inBubble(t, func(b *bed) {
		topics := b.topics(2)
		b.Serve(topics)
		b.run()
		for range 20 {
			b.redis.change(topics[1], func(s *set) { s.unreadable = 3 })
			b.redis.announce(topics[1])
			b.pass(time.Second)
		}
		lines := b.log.with("cannot be read")
		require.Len(b, lines, 1)
		require.Contains(b, lines[0], topics[1].Keys.Unreadable)
		b.Serve(nil)
		b.Serve(topics) // it may be another topic of that name
		b.redis.change(topics[1], func(s *set) { s.unreadable = 3 })
		b.pass(SweepEvery)
		require.Len(b, b.log.with("cannot be read"), 2)
	})
}

// While Redis cannot be reached nothing is tried; then all comes that was due.
func TestOutage(t *testing.T) {
	inBubble(t, func(b *bed) {
		topics := b.topics(3)
		for i, t := range topics {
			b.redis.add(t, time.Duration(i+1)*time.Second, 1)
		}
		b.Serve(topics)
		b.run()
		b.redis.fail(errNetwork)
		b.pass(time.Second)
		_, err := b.link.Err()
		require.ErrorIs(b, err, errNetwork)
		b.redis.reset()
		b.pass(time.Hour)
		require.Empty(b, b.redis.transfers(""))
		require.Empty(b, b.redis.looks())

		b.redis.add(topics[0], 0, 1) // by others, to whom Redis answers, and unheard
		b.redis.fail(nil)
		b.link.Up()
		b.pass(time.Millisecond)
		require.Equal(b, []int{2, 1, 1}, []int{b.redis.count(topics[0]), b.redis.count(topics[1]), b.redis.count(topics[2])})
		require.Len(b, b.log.with("does not serve"), 1)
		require.Empty(b, b.log.with("not handed out"))
	})
}

// The look at all fails; it is made up for at once when Redis serves again.
func TestOutageDuringASweep(t *testing.T) {
	inBubble(t, func(b *bed) {
		topic := topic("t")
		b.Serve([]Topic{topic})
		b.run()
		b.redis.fail(errNetwork)
		b.pass(SweepEvery)
		_, err := b.link.Err()
		require.ErrorIs(b, err, errNetwork)
		b.redis.add(topic, 0, 1)
		b.pass(time.Second)
		b.redis.fail(nil)
		b.link.Up()
		b.pass(time.Millisecond)
		require.Equal(b, 1, b.redis.count(topic))
	})
}

func TestSubscriptionThatStandsAnewMakesItLook(t *testing.T) {
	inBubble(t, func(b *bed) {
		topics := b.topics(3)
		b.Serve(topics)
		b.run()
		for _, t := range topics {
			b.redis.add(t, 0, 1)
		}
		b.redis.sub.inbox <- received{err: errNetwork}
		for _, t := range topics {
			b.redis.sub.inbox <- received{message: store.Message{Channel: t.Keys.DelayChannel, Subscribed: true}}
		}
		b.pass(100 * time.Millisecond) // the pause after an error; no sweep
		for _, t := range topics {
			require.Equal(b, 1, b.redis.count(t))
		}
		require.NotEmpty(b, b.link.Probes(), "somebody looks whether it is more than this connection")
	})
}

// A user may hear one channel of a hundred. The log says so once, and what is
// announced there is heard at once, whatever else is refused.
func TestRefusedChannels(t *testing.T) {
	inBubble(t, func(b *bed) {
		topics := b.topics(100)
		b.Serve(topics)
		b.run()
		for range len(topics) - 1 {
			b.redis.sub.inbox <- received{err: noPerm}
		}
		heard := topics[50]
		b.redis.add(heard, 0, 1)
		b.redis.announce(heard)
		b.pass(time.Millisecond)
		require.Equal(b, 1, b.redis.count(heard), "it waits behind the refusals")
		lines := b.log.with("not announced")
		require.Len(b, lines, 1)
		require.Contains(b, lines[0], store.DelayChannels)
	})
}

// A connection on which nothing but refusals come, as where even that is refused to
// connect, makes no tight loop.
func TestRefusalsWithoutEndMakeNoTightLoop(t *testing.T) {
	inBubble(t, func(b *bed) {
		b.Serve(b.topics(3))
		b.run()
		const n = 10_000
		for range n {
			b.redis.sub.inbox <- received{err: noPerm}
		}
		b.pass(time.Minute)
		require.Less(b, n-len(b.redis.sub.inbox), 4*40, "refusals heard in a minute")
		require.Len(b, b.log.with("not announced"), 1)
	})
}

// Run ends at once, wherever it is.
func TestRunEndsAtOnce(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(b *bed){
		"idle":          func(*bed) {},
		"in a call":     func(b *bed) { b.redis.latency = time.Hour },
		"without Redis": func(b *bed) { b.link.Down(errNetwork) },
		"in a pause": func(b *bed) {
			for range 10 {
				b.redis.sub.inbox <- received{err: errNetwork}
			}
		},
		"busy": func(b *bed) {
			b.redis.latency = time.Millisecond
			b.redis.add(topic("t"), -time.Hour, 1_000_000)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bed) {
				prepare(b)
				b.Serve([]Topic{topic("t")})
				b.run()
				b.pass(10*time.Millisecond + 1)
				asked := time.Now()
				b.stop()
				<-b.ended
				require.Zero(b, time.Since(asked))
			})
		})
	}
}
