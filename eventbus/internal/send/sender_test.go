package send

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/eventbus/internal/wire"
)

// fake is a Redis with topics. It answers as send says, after hold.
type fake struct {
	mu     sync.Mutex
	topics map[string]*store.Topic
	send   func(t *store.Topic, entries [][]byte) error
	hold   chan struct{}
	calls  [][]string // the entries of each call that was answered nil
	reads  int
}

func newFake(names ...string) *fake {
	f := &fake{topics: map[string]*store.Topic{}}
	for _, name := range names {
		f.topics[name] = &store.Topic{Name: name, Revision: 1, Enabled: true, Groups: []store.Group{{Name: "g"}}}
	}
	return f
}

func (f *fake) Topic(_ context.Context, name string) (*store.Topic, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	if t := f.topics[name]; t != nil {
		read := *t
		return &read, nil
	}
	return nil, errs.TopicNotFound
}

func (f *fake) Send(_ context.Context, t *store.Topic, entries [][]byte) error {
	f.mu.Lock()
	hold := f.hold
	f.mu.Unlock()
	if hold != nil {
		<-hold
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch now := f.topics[t.Name]; {
	case now == nil:
		return errs.TopicNotFound
	case now.Revision != t.Revision:
		return store.ErrStale
	}
	if f.send != nil {
		if err := f.send(t, entries); err != nil {
			return err
		}
	}
	var call []string
	for _, e := range entries {
		call = append(call, string(wire.Decode(e, func() string { return "" }).Data))
	}
	f.calls = append(f.calls, call)
	return nil
}

// SendDelayed notes each event with when it is due.
func (f *fake) SendDelayed(ctx context.Context, t *store.Topic, events []store.Delayed) (string, error) {
	entries := make([][]byte, len(events))
	for i, e := range events {
		if e.Due.After > store.MaxDelay {
			return "", errs.Invalid("DueAt", e.Due.At, "too far")
		}
		entries[i] = wire.Append(nil, &wire.Entry{ID: e.ID, Type: "t", Data: fmt.Appendf(nil, `"%s in %v"`, wire.Decode(e.Entry, func() string { return "" }).Data, e.Due.After)})
	}
	if err := f.Send(ctx, t, entries); err != nil {
		return "", err
	}
	return "the channel", nil
}

// all is what was sent, in order.
func (f *fake) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Concat(f.calls...)
}

func events(texts ...string) []wire.Entry {
	list := make([]wire.Entry, len(texts))
	for i, text := range texts {
		list[i] = wire.Entry{ID: "id", Source: "s", Type: "t", Data: []byte(text)}
	}
	return list
}

func TestSendsUnderWayShareTheNextCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		redis := newFake("t", "other")
		redis.hold = make(chan struct{})
		s := New(redis, nil)
		var all sync.WaitGroup
		send := func(topic, text string) {
			all.Go(func() {
				if err := s.Send(context.Background(), topic, events(text)); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // so that their order is known
		}
		send("t", "0")
		var want []string
		for i := 1; i <= 50; i++ {
			send("t", fmt.Sprint(i))
			want = append(want, fmt.Sprint(i))
		}
		send("other", "x")
		close(redis.hold)
		all.Wait()
		require.ElementsMatch(t, [][]string{{"0"}, want, {"x"}}, redis.calls)
		require.Equal(t, 2, redis.reads, "settings are read once")
	})
}

func TestSharedCallsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		redis := newFake("t")
		redis.hold = make(chan struct{})
		s := New(redis, nil)
		var all sync.WaitGroup
		send := func(texts ...string) {
			all.Go(func() {
				if err := s.Send(context.Background(), "t", events(texts...)); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		send("0")
		for range 3 {
			send(strings.Repeat("x", maxSharedBytes/2))
		}
		send(strings.Repeat("y", 3*maxSharedBytes)) // a single one may be larger
		for range 1200 {
			send("z")
		}
		send(make([]string, 1000)...)
		close(redis.hold)
		all.Wait()
		for i, call := range redis.calls {
			size := 0
			for _, e := range call {
				size += len(e)
			}
			if i > 0 && len(call) > 1 && len(call) != 1000 {
				require.LessOrEqual(t, len(call), maxShared)
				require.LessOrEqual(t, size, maxSharedBytes)
			}
		}
		require.LessOrEqual(t, len(redis.calls), 8)
		require.Len(t, redis.all(), 1+3+1+1200+1000)
	})
}

// A caller that gives up is told whether its events may have been sent.
func TestContextTellsWhetherItWasSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		redis := newFake("t")
		redis.hold = make(chan struct{})
		s := New(redis, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		errs := map[string]error{}
		var mu sync.Mutex
		var all sync.WaitGroup
		for _, text := range []string{"under way", "waiting", "waits on"} {
			ctx := ctx
			if text == "waits on" {
				ctx = context.Background()
			}
			all.Go(func() {
				err := s.Send(ctx, "t", events(text))
				mu.Lock()
				defer mu.Unlock()
				errs[text] = err
			})
			synctest.Wait()
		}
		<-time.After(2 * time.Second)
		close(redis.hold)
		all.Wait()
		require.ErrorIs(t, errs["under way"], context.DeadlineExceeded)
		require.ErrorContains(t, errs["under way"], "may have been sent")
		require.ErrorIs(t, errs["waiting"], context.DeadlineExceeded)
		require.ErrorContains(t, errs["waiting"], "not sent")
		require.NoError(t, errs["waits on"])
		require.Equal(t, []string{"under way", "waits on"}, redis.all())

		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, s.Send(canceled, "t", events("late")), context.Canceled)
		require.Len(t, redis.all(), 2)
	})
}

// Where a topic has no room for all that share a call, those that fit are sent.
// Behind a server that hangs, nobody waits for all who came before: each send ends
// in the time that two calls may take, and one that no call has taken says that it
// was not sent.
func TestSendsBehindAHangingCallEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a")
		f.send = func(*store.Topic, [][]byte) error {
			<-time.After(patience)
			return errs.Unavailable
		}
		s := New(f, nil)
		const many = 5 * maxShared
		began := time.Now()
		type end struct {
			took time.Duration
			err  error
		}
		ends := make(chan end, many)
		for range many {
			go func() {
				err := s.Send(context.Background(), "a", []wire.Entry{{ID: "e", Type: "a", Data: []byte("1")}})
				ends <- end{time.Since(began), err}
			}()
		}
		unsent := 0
		for range many {
			e := <-ends
			require.ErrorIs(t, e.err, errs.Unavailable)
			require.LessOrEqual(t, e.took, 2*patience)
			if strings.Contains(e.err.Error(), "not sent") {
				unsent++
			}
		}
		require.Greater(t, unsent, many/2)
		f.mu.Lock()
		f.send = nil
		f.mu.Unlock()
		require.NoError(t, s.Send(context.Background(), "a", []wire.Entry{{ID: "e", Type: "a", Data: []byte("1")}}))
	})
}

// A server that hangs while the sends of a full topic are tried one by one ends them
// all with its first silence.
func TestSendsTriedApartEndWithTheFirstSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a")
		f.hold = make(chan struct{})
		calls := 0
		f.send = func(_ *store.Topic, entries [][]byte) error {
			if len(entries) > 1 {
				return errs.TopicFull
			}
			if calls++; calls == 1 {
				return nil // the one that the others wait behind
			}
			<-time.After(patience)
			return errs.Unavailable
		}
		s := New(f, nil)
		const many = 100
		failed := make(chan error, many)
		send := func() {
			failed <- s.Send(context.Background(), "a", []wire.Entry{{ID: "e", Type: "a", Data: []byte("1")}})
		}
		go send()
		synctest.Wait()
		for range many - 1 {
			go send()
		}
		synctest.Wait()
		began := time.Now()
		close(f.hold)
		require.NoError(t, <-failed)
		for range many - 1 {
			require.ErrorIs(t, <-failed, errs.Unavailable)
		}
		require.LessOrEqual(t, time.Since(began), patience)
	})
}

func TestFullTopicTakesWhatFits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		redis := newFake("t")
		redis.hold = make(chan struct{})
		room := 4
		redis.send = func(_ *store.Topic, entries [][]byte) error {
			if len(entries) > room {
				return errs.TopicFull
			}
			room -= len(entries)
			return nil
		}
		s := New(redis, nil)
		results := make([]error, 5)
		var all sync.WaitGroup
		for i, n := range []int{1, 2, 4, 1, 1} {
			all.Go(func() { results[i] = s.Send(context.Background(), "t", events(make([]string, n)...)) })
			synctest.Wait()
		}
		close(redis.hold)
		all.Wait()
		require.NoError(t, results[0])
		require.NoError(t, results[1])
		require.ErrorIs(t, results[2], errs.TopicFull)
		require.NoError(t, results[3])
		require.ErrorIs(t, results[4], errs.TopicFull)
	})
}

// Settings that change are followed; those that change all the time are given up.
func TestChangedSettingsAreFollowed(t *testing.T) {
	t.Parallel()
	redis := newFake("t")
	s := New(redis, nil)
	require.NoError(t, s.Send(t.Context(), "t", events("1")))
	redis.topics["t"].Revision = 7
	redis.topics["t"].Wire = store.WireRaw
	require.NoError(t, s.Send(t.Context(), "t", events("2")))
	require.Equal(t, []string{"1", "2"}, redis.all())
	require.Equal(t, 2, redis.reads)

	redis.send = func(*store.Topic, [][]byte) error { return store.ErrStale }
	err := s.Send(t.Context(), "t", events("3"))
	require.ErrorIs(t, err, errs.Conflict)
	require.Equal(t, 2+maxStale-1, redis.reads)
}

func TestRawTopicGetsThePayloadAlone(t *testing.T) {
	t.Parallel()
	redis := newFake("t")
	redis.topics["t"].Wire = store.WireRaw
	var got [][]byte
	redis.send = func(_ *store.Topic, entries [][]byte) error {
		got = entries
		return nil
	}
	require.NoError(t, New(redis, nil).Send(t.Context(), "t", events("\x00 {}", "")))
	require.Equal(t, [][]byte{[]byte("\x00 {}"), {}}, got)
}

// A group that comes while there is none is seen by the next send.
func TestTopicThatGetsAGroupIsSentTo(t *testing.T) {
	t.Parallel()
	redis := newFake("t")
	groups := redis.topics["t"].Groups
	redis.topics["t"].Groups = nil
	redis.send = func(t *store.Topic, _ [][]byte) error {
		if len(t.Groups) == 0 {
			return errs.NoGroup
		}
		return nil
	}
	s := New(redis, nil)
	require.ErrorIs(t, s.Send(t.Context(), "t", events("1")), errs.NoGroup)
	redis.topics["t"].Groups = groups // no call to Redis would have told
	require.NoError(t, s.Send(t.Context(), "t", events("2")))
}

func TestMissingTopicIsCreatedWhereThatIsWanted(t *testing.T) {
	t.Parallel()
	redis := newFake()
	created := 0
	s := New(redis, func(_ context.Context, topic string) error {
		created++
		redis.mu.Lock()
		defer redis.mu.Unlock()
		redis.topics[topic] = &store.Topic{Name: topic, Revision: 1, Groups: []store.Group{{Name: "g"}}}
		return errs.TopicExists // another one was faster
	})
	require.NoError(t, s.Send(t.Context(), "t", events("1")))
	require.NoError(t, s.Send(t.Context(), "t", events("2")))
	require.Equal(t, 1, created)
	delete(redis.topics, "t") // and it is made anew when it is deleted
	require.NoError(t, s.Send(t.Context(), "t", events("3")))
	require.Equal(t, 2, created)

	refusal := errors.New("not allowed")
	s = New(newFake(), func(context.Context, string) error { return refusal })
	require.ErrorIs(t, s.Send(t.Context(), "t", events("1")), refusal)
	s = New(newFake(), func(context.Context, string) error { return nil }) // it does not help
	require.ErrorIs(t, s.Send(t.Context(), "t", events("1")), errs.TopicNotFound)
}

// Names that no topic has do not fill memory.
func TestUnknownTopicsAreForgotten(t *testing.T) {
	t.Parallel()
	s := New(newFake("t"), nil)
	for i := range 100 {
		require.ErrorIs(t, s.Send(t.Context(), fmt.Sprint("made up ", i), events("1")), errs.TopicNotFound)
	}
	require.NoError(t, s.Send(t.Context(), "t", events("1")))
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.lanes) == 1
	}, time.Minute, time.Millisecond)
}

// However many send at once, and whatever Redis answers: the events of each that
// returns nil are sent once, together and in their order, and those of the others
// not at all.
func TestEachSendIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		type one struct {
			topic string
			n     int
		}
		sends := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) one {
			return one{rapid.SampledFrom([]string{"a", "b", "none"}).Draw(t, "topic"), rapid.IntRange(1, 5).Draw(t, "n")}
		}), 1, 40).Draw(rt, "sends")
		answers := rapid.SliceOfN(rapid.SampledFrom([]error{nil, nil, nil, errs.TopicFull, errs.TopicDisabled, store.ErrStale}), 1, 30).Draw(rt, "answers")
		redis := newFake("a", "b")
		calls := 0
		redis.send = func(*store.Topic, [][]byte) error {
			calls++
			return answers[calls%len(answers)]
		}
		s := New(redis, nil)
		results := make([]error, len(sends))
		var all sync.WaitGroup
		for i, send := range sends {
			var texts []string
			for j := range send.n {
				texts = append(texts, fmt.Sprintf("%d.%d", i, j))
			}
			all.Go(func() { results[i] = s.Send(context.Background(), send.topic, events(texts...)) })
		}
		all.Wait()
		sent := redis.all()
		total := 0
		for i, send := range sends {
			at := slices.Index(sent, fmt.Sprintf("%d.0", i))
			if results[i] != nil {
				require.Equal(rt, -1, at, "send %d failed with %v, and was sent", i, results[i])
				continue
			}
			total += send.n
			for j := range send.n {
				require.Equal(rt, fmt.Sprintf("%d.%d", i, j), sent[at+j])
			}
		}
		require.Len(rt, sent, total)
	})
}

// Delayed events have calls of their own, in the order of sending, and one that is
// due too far off spoils no other.
func TestDelayedEventsHaveTheirOwnCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		redis := newFake("orders")
		redis.hold = make(chan struct{})
		s := New(redis, nil)
		unheard := map[string]int{}
		s.Unheard = func(topic, channel string) { unheard[topic+" "+channel]++ }
		var senders sync.WaitGroup
		errsOf := make([]error, 6)
		for i, due := range []time.Duration{0, 0, time.Hour, store.MaxDelay + 1, time.Minute, 0} {
			senders.Go(func() {
				events := []wire.Entry{{ID: "id", Type: "orders", Data: fmt.Append(nil, i)}}
				if due == 0 {
					errsOf[i] = s.Send(t.Context(), "orders", events)
				} else {
					errsOf[i] = s.SendDelayed(t.Context(), "orders", events, []store.Due{{After: due}})
				}
			})
			synctest.Wait()
		}
		close(redis.hold)
		senders.Wait()
		require.ErrorIs(t, errsOf[3], errs.InvalidArgument)
		errsOf[3] = nil
		require.Equal(t, make([]error, 6), errsOf)
		require.Equal(t, [][]string{{"0"}, {"1"}, {`"2 in 1h0m0s"`}, {`"4 in 1m0s"`}, {"5"}}, redis.calls)
		require.Equal(t, map[string]int{"orders the channel": 2}, unheard)
	})
}
