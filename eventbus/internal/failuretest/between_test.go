package failuretest_test

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // Redis's name for a script
	"encoding/hex"
	"log/slog"
	"net"
	"os"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

// busThat is a bus that does something once, just before it calls a script for the
// nth time.
func (w *world) busThat(do func(), script string, nth int64) *eventbus.Bus {
	w.Helper()
	read := func(name string) []byte {
		text, err := os.ReadFile("../store/scripts/" + name + ".lua")
		require.NoError(w, err)
		return text
	}
	text := regexp.MustCompile(`(?m)^-- include (\w+)\n`).ReplaceAllFunc(read(script), func(line []byte) []byte {
		return read("lib/" + string(bytes.Fields(line)[2]))
	})
	sum := sha1.Sum(text) //nolint:gosec // see above
	digest := []byte(hex.EncodeToString(sum[:]))
	var calls atomic.Int64
	o := *w.rdb.Options()
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &watched{conn, func(p []byte) {
			if bytes.Contains(p, digest) && calls.Add(1) == nth {
				do()
			}
		}}, err
	}
	rdb := redis.NewClient(&o)
	bus, err := eventbus.New(rdb, eventbus.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(w, err)
	w.Cleanup(func() {
		assert.NoError(w, bus.Close())
		assert.NoError(w, rdb.Close())
		assert.GreaterOrEqual(w, calls.Load(), nth, "it was not done")
	})
	return bus
}

type watched struct {
	net.Conn
	before func(p []byte)
}

func (c *watched) Write(p []byte) (int, error) {
	c.before(p)
	return c.Conn.Write(p)
}

// What fails anew after it was picked, since somebody else has replayed it, is not
// moved: it is another failure by then, and was not asked for.
func TestWhatFailsAnewIsNotPicked(t *testing.T) {
	t.Parallel()
	for script, move := range map[string]func(f *eventbus.Failures, filter eventbus.FailureFilter) (int64, error){
		"discard": func(f *eventbus.Failures, filter eventbus.FailureFilter) (int64, error) {
			return f.Discard(context.Background(), topic, filter)
		},
		"read": func(f *eventbus.Failures, filter eventbus.FailureFilter) (int64, error) {
			return f.Replay(context.Background(), topic, filter)
		},
		"replay": func(f *eventbus.Failures, filter eventbus.FailureFilter) (int64, error) {
			return f.Replay(context.Background(), topic, filter)
		},
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			const n = 3
			w := setup(t)
			w.handle(topic, func(context.Context, *eventbus.Event) error { return eventbus.Reject(errOnPurpose) }, eventbus.HandleConfig{})
			w.send(topic, n)
			dead := func(since time.Time) func() bool {
				return func() bool {
					fresh := 0
					for _, f := range w.failures(topic, eventbus.Dead) {
						if f.FailedAt.After(since) {
							fresh++
						}
					}
					return fresh == n
				}
			}
			w.eventually("the failures", dead(time.Time{}))
			at := w.failures(topic, eventbus.Dead)[n-1].FailedAt
			bus := w.busThat(func() {
				moved, err := w.bus.Failures().Replay(context.Background(), topic, eventbus.FailureFilter{All: true})
				assert.NoError(t, err)
				assert.EqualValues(t, n, moved)
				w.eventually("they fail anew", dead(at))
			}, script, 1)
			moved, err := move(bus.Failures(), eventbus.FailureFilter{All: true})
			require.NoError(t, err)
			require.Zero(t, moved)
			require.True(t, dead(at)())
			require.EqualValues(t, n, w.stats(topic).Replayed)
		})
	}
}

// A group that is removed and made anew while its failures are moved is another one.
func TestMoveEndsWithItsGroup(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"replay", "discard"} {
		for nth, want := range map[int64]int64{1: 0, 3: 400} {
			w := setup(t)
			topics := w.bus.Topics()
			require.NoError(t, topics.AddGroup(t.Context(), topic, eventbus.GroupConfig{Name: "other"}))
			w.bury(topic, 1000, time.Now().Add(-time.Hour))
			bus := w.busThat(func() {
				assert.NoError(t, topics.RemoveGroup(context.Background(), topic, "default"))
				assert.NoError(t, topics.AddGroup(context.Background(), topic, eventbus.GroupConfig{Name: "default"}))
			}, "page", nth)
			move := bus.Failures().Replay
			if verb == "discard" {
				move = bus.Failures().Discard
			}
			moved, err := move(t.Context(), topic, eventbus.FailureFilter{All: true})
			require.ErrorIs(t, err, eventbus.ErrGroupNotFound, verb)
			require.ErrorContains(t, err, "made anew", verb)
			require.Equal(t, want, moved, verb)
		}
	}
}
