package delay

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/link"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// bed is a scheduler in a bubble of synctest, over a Redis that is a few maps.
type bed struct {
	*testing.T
	*Scheduler
	redis *fake
	link  *link.Link
	log   *journal
	stop  context.CancelFunc
	ended chan struct{}
	began time.Time
}

// inBubble runs f with a scheduler that does not run yet.
func inBubble(t *testing.T, f func(b *bed)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { f(newBed(t)) })
}

func newBed(t *testing.T) *bed {
	b := &bed{T: t, redis: newFake(), log: &journal{}, began: time.Now()}
	log := slog.New(slog.NewTextHandler(b.log, nil))
	b.link = link.New(log)
	b.Scheduler = New(b.redis, b.redis.subscribe, b.link, log)
	return b
}

// run starts the scheduler and returns when nothing is left to do at this moment.
func (b *bed) run() {
	ctx, cancel := context.WithCancel(b.Context())
	b.stop, b.ended = cancel, make(chan struct{})
	b.Cleanup(func() { cancel(); <-b.ended })
	go func() {
		defer close(b.ended)
		b.Scheduler.Run(ctx)
	}()
	synctest.Wait()
}

// pass lets the bubble's clock go on.
func (b *bed) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// topics makes so many topics, which are not served yet.
func (b *bed) topics(n int) []Topic {
	all := make([]Topic, n)
	for i := range all {
		all[i] = topic(fmt.Sprintf("t%03d", i))
	}
	return all
}

func topic(name string) Topic {
	return Topic{Delivery: store.AtLeastOnce, Keys: &store.Keys{
		Topic: name, Group: "g", Delayed: name + ".delayed", DelayChannel: name + ".channel", Unreadable: name + ".unreadable",
	}}
}

// after is the time since the bed was made.
func (b *bed) after() time.Duration { return time.Since(b.began) }

// call is one call of the fake.
type call struct {
	topic string // "" for Heads
	at    time.Time
	asked int // topics of a Heads
	moved int
}

// batch is so many events of one time.
type batch struct {
	at time.Time
	n  int
}

// set is the delayed set of one topic.
type set struct {
	due        []batch // sorted, by the fake's clock
	err        error
	unreadable int64 // to be set aside with the next move
}

// fake is a Redis whose clock may be another than the process's.
type fake struct {
	mu      sync.Mutex
	skew    time.Duration
	latency time.Duration // of a call, half of it before it is carried out
	down    error         // what all calls fail with
	heads   error         // what Heads fails with
	sets    map[string]*set
	calls   []call
	moved   map[string][]batch  // when, by the fake's clock
	during  func(k *store.Keys) // called when a move was carried out, before its reply
	sub     *fakeSub
}

const maxMove = 500 // what a move moves at most

func newFake() *fake {
	f := &fake{sets: map[string]*set{}, moved: map[string][]batch{}}
	f.sub = &fakeSub{closed: make(chan struct{}), inbox: make(chan received, 100_000)}
	return f
}

func (f *fake) now() time.Time { return time.Now().Add(f.skew) }

func (f *fake) set(k *store.Keys) *set {
	if f.sets[k.Topic] == nil {
		f.sets[k.Topic] = &set{}
	}
	return f.sets[k.Topic]
}

// add delays n events by d, without telling anybody.
func (f *fake) add(t Topic, d time.Duration, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.set(t.Keys)
	s.due = append(s.due, batch{at: f.now().Add(d), n: n})
	slices.SortStableFunc(s.due, func(a, b batch) int { return a.at.Compare(b.at) })
}

func (f *fake) change(t Topic, change func(s *set)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f.set(t.Keys))
}

// announce tells that a topic has a new head; what it says is not read.
func (f *fake) announce(t Topic) {
	f.sub.inbox <- received{message: store.Message{Channel: t.Keys.DelayChannel, Payload: "1"}}
}

func wait(ctx context.Context, d time.Duration) error {
	if d > 0 {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// Transfer moves what is due, as the script does.
func (f *fake) Transfer(ctx context.Context, k *store.Keys, _ store.Delivery) (store.Transferred, error) {
	if err := wait(ctx, f.latency/2); err != nil {
		return store.Transferred{}, err
	}
	got, during, err := f.transfer(k)
	if during != nil {
		during(k)
	}
	if err := wait(ctx, f.latency/2); err != nil {
		return store.Transferred{}, err
	}
	return got, err
}

func (f *fake) transfer(k *store.Keys) (got store.Transferred, during func(k *store.Keys), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, now := f.set(k), f.now()
	c := call{topic: k.Topic, at: time.Now()}
	defer func() { f.calls = append(f.calls, c) }()
	if f.down != nil || s.err != nil {
		return got, f.during, errorsOf(f.down, s.err)
	}
	for len(s.due) > 0 && !s.due[0].at.After(now) && c.moved < maxMove {
		n := min(s.due[0].n, maxMove-c.moved)
		if s.due[0].n -= n; s.due[0].n == 0 {
			s.due = s.due[1:]
		}
		c.moved += n
	}
	if c.moved > 0 {
		f.moved[k.Topic] = append(f.moved[k.Topic], batch{at: now, n: c.moved})
	}
	got = store.Transferred{Moved: int64(c.moved), Unreadable: s.unreadable, Next: -1}
	s.unreadable = 0
	if len(s.due) > 0 {
		got.Next = max(0, s.due[0].at.Sub(now))
	}
	return got, f.during, nil
}

func errorsOf(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// Heads tells what is due when.
func (f *fake) Heads(ctx context.Context, topics []*store.Keys) ([]time.Duration, error) {
	if err := wait(ctx, f.latency); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, call{at: time.Now(), asked: len(topics)})
	if f.down != nil || f.heads != nil {
		return nil, errorsOf(f.down, f.heads)
	}
	var heads []time.Duration
	for _, k := range topics {
		s := f.set(k)
		switch {
		case s.err != nil:
			heads = append(heads, store.HeadBad)
		case len(s.due) == 0:
			heads = append(heads, store.HeadNone)
		default:
			heads = append(heads, max(0, s.due[0].at.Sub(f.now())))
		}
	}
	return heads, nil
}

// transfers lists the moves since the last reset, heads the looks at the heads.
func (f *fake) transfers(topic string) (calls []call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if c.topic != "" && (topic == "" || c.topic == topic) {
			calls = append(calls, c)
		}
	}
	return calls
}

func (f *fake) looks() (calls []call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if c.topic == "" {
			calls = append(calls, c)
		}
	}
	return calls
}

func (f *fake) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = nil
}

func (f *fake) count(t Topic) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, m := range f.moved[t.Keys.Topic] {
		n += m.n
	}
	return n
}

func (f *fake) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = err
}

// received is what Next returns.
type received struct {
	message store.Message
	err     error
}

// fakeSub is a subscription that hears what it is given.
type fakeSub struct {
	mu       sync.Mutex
	channels []string
	once     sync.Once
	closed   chan struct{}
	inbox    chan received
}

func (f *fake) subscribe(channels ...string) Subscription {
	f.sub.Set(context.Background(), channels)
	return f.sub
}

// Next waits without heeding its context, as a read of a connection does: Close
// must end it.
func (s *fakeSub) Next(context.Context) (store.Message, error) {
	select {
	case r := <-s.inbox:
		return r.message, r.err
	case <-s.closed:
		return store.Message{}, errClosed
	}
}

// Set confirms each channel that it did not have.
func (s *fakeSub) Set(_ context.Context, channels []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range channels {
		if !slices.Contains(s.channels, c) {
			s.inbox <- received{message: store.Message{Channel: c, Subscribed: true}}
		}
	}
	s.channels = slices.Clone(channels)
}

// Close ends Next.
func (s *fakeSub) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func (s *fakeSub) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.channels))
}

// journal collects the lines of a log.
type journal struct {
	mu    sync.Mutex
	lines []string
}

// Write takes one line.
func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, string(b))
	return len(b), nil
}

// with lists the lines with a text.
func (j *journal) with(text string) (lines []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, l := range j.lines {
		if strings.Contains(l, text) {
			lines = append(lines, l)
		}
	}
	return lines
}
