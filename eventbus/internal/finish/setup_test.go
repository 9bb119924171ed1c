package finish

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/link"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// call is one call of Finish.
type call struct {
	keys     *store.Keys
	consumer string
	receipts []string
	err      error
}

// fake is a Redis that refuses what refuse says, and holds its calls up while
// hold is not nil.
type fake struct {
	mu     sync.Mutex
	refuse func(k *store.Keys, ended []store.Ended) error
	hold   chan struct{}
	begun  chan struct{} // gets a value as each call begins, unless it is nil
	calls  []call
}

func (f *fake) Finish(ctx context.Context, k *store.Keys, consumer string, _ int64, ended []store.Ended) (n, dropped int64, err error) {
	f.mu.Lock()
	refuse, hold := f.refuse, f.hold
	f.mu.Unlock()
	if f.begun != nil {
		f.begun <- struct{}{}
	}
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case refuse != nil:
		err = refuse(k, ended)
	}
	c := call{keys: k, consumer: consumer, err: err}
	for _, e := range ended {
		c.receipts = append(c.receipts, e.Receipt)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
	return int64(len(ended)), 0, err
}

func (f *fake) set(refuse func(k *store.Keys, ended []store.Ended) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = refuse
}

// written lists the receipts of all calls that went well, in their order.
func (f *fake) written() (receipts []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if c.err == nil {
			receipts = append(receipts, c.receipts...)
		}
	}
	return receipts
}

func (f *fake) all() []call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// lines counts what is logged.
type lines struct {
	mu   sync.Mutex
	said []string
}

// Enabled, Handle, WithAttrs and WithGroup make it a slog.Handler.
func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, r.Message)
	return nil
}

func (l *lines) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l *lines) WithGroup(string) slog.Handler { return l }

func (l *lines) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.said)
}

// bundle is a finisher over a fake.
type bundle struct {
	*Finisher
	t     *testing.T
	redis *fake
	link  *link.Link
	log   *lines
	left  chan int // what Run returned
}

func setup(t *testing.T, redis *fake) *bundle {
	b := &bundle{t: t, redis: redis, log: &lines{}, left: make(chan int, 1)}
	b.link = link.New(slog.New(slog.DiscardHandler))
	b.Finisher = New(Config{Store: redis, Link: b.link, Log: slog.New(b.log), Written: func([]Item) {}})
	return b
}

// run runs the finisher until the test's context or Close ends it.
func (b *bundle) run(ctx context.Context) {
	go func() { b.left <- b.Run(ctx) }()
}

func topic(name string) *store.Keys {
	return &store.Keys{Topic: name, Group: "g", Failures: name + ":failures"}
}

func done(k *store.Keys, receipt string) Item {
	return Item{Keys: k, Consumer: "c", Ended: store.Ended{Receipt: receipt}}
}

func failed(k *store.Keys, receipt string) Item {
	return Item{Keys: k, Consumer: "c", Ended: store.Ended{Receipt: receipt, Parts: []store.Part{{Kind: store.Dead, Entry: []byte("e")}}}}
}

func receipts(from, to int) (all []string) {
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprint("r", i))
	}
	return all
}

// errTopic is an error of one topic's own.
var errTopic = fmt.Errorf("somebody else's key: %w", errs.TopicNotFound)
