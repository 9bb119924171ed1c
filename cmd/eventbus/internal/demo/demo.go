// Package demo tells the story of the bus on a running server, and checks each
// of its sentences while it tells it.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/scratch"
	"github.com/seed4933/eventbus/eventbus"
)

// Narrator tells what happens. step is a heading; fact something that was seen.
type Narrator interface {
	Step(text string)
	Fact(text string)
}

const (
	// storyTimeout bounds the whole demo, patience each single wait.
	storyTimeout = time.Minute
	patience     = 15 * time.Second
)

const (
	orders   = "orders"
	payments = "payments"
)

// Names are those of the story that can be chosen.
type Names struct {
	// Namespace is how the namespace of its own begins; "eventbus" by default.
	Namespace string
	// Group is the one whose handlers send, fail and are replayed; "billing" by
	// default.
	Group string
}

// Run tells the story on the server, in a namespace of its own which it removes
// at the end. An error says which expectation was not met.
func Run(ctx context.Context, rdb redis.UniversalClient, names Names, tell Narrator) (err error) {
	ctx, cancel := context.WithTimeout(ctx, storyTimeout)
	defer cancel()
	s := &story{
		rdb: rdb, tell: tell, runs: make(chan run, 1000),
		namespace: scratch.Name(cmp.Or(names.Namespace, eventbus.DefaultNamespace) + "-demo"),
		first:     cmp.Or(names.Group, "billing"), second: "mail",
	}
	if s.first == s.second {
		s.second = "post"
	}
	defer func() {
		err = errors.Join(err, s.end())
		if s.reached {
			err = errors.Join(err, scratch.Clean(ctx, rdb, s.namespace))
		}
	}()
	for _, chapter := range []func(ctx context.Context) error{
		s.createTopics, s.start, s.everyGroup, s.retry, s.dead, s.replay, s.disable, s.delayed, s.figures,
	} {
		if err := chapter(ctx); err != nil {
			if errors.Is(ctx.Err(), context.Canceled) {
				return ctx.Err() // however the step has met it
			}
			return err
		}
	}
	s.tell.Step("Stop: no more events are taken, what runs ends, nothing is lost")
	if err := s.end(); err != nil {
		return err
	}
	s.tell.Fact("both processes have stopped")
	return nil
}

// run is one call of a handler.
type run struct {
	handler, event, payload string
	attempt                 int
}

type story struct {
	rdb       redis.UniversalClient
	tell      Narrator
	namespace string
	runs      chan run // of all handlers
	reached   bool     // the server has served

	first, second string // the groups
	billing, mail *member
	bank          bank
}

// member is one process of the story: a bus and what came of running it.
type member struct {
	bus *eventbus.Bus
	ran chan error // nil until it runs
}

func (s *story) member(group string, handle func(b *eventbus.Bus)) (*member, error) {
	b, err := eventbus.New(s.rdb, eventbus.Config{
		Namespace: s.namespace, Group: group, Concurrency: 8, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	handle(b)
	return &member{bus: b}, nil
}

func (m *member) run(ctx context.Context) {
	m.ran = make(chan error, 1)
	go func() { m.ran <- m.bus.Run(ctx) }()
}

// end stops both processes. It may be called again.
func (s *story) end() error {
	var errs []error
	for _, m := range []*member{s.billing, s.mail} {
		if m == nil {
			continue
		}
		errs = append(errs, m.bus.Close())
		if m.ran != nil {
			if err := <-m.ran; err != nil && !errors.Is(err, context.Canceled) {
				errs = append(errs, err)
			}
			m.ran = nil
		}
	}
	return errors.Join(errs...)
}

// next waits for the next call of a handler.
func (s *story) next(ctx context.Context, what string) (run, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r := <-s.runs:
		return r, nil
	case err := <-s.billing.ran:
		return run{}, s.ended(s.billing, s.first, err)
	case err := <-s.mail.ran:
		return run{}, s.ended(s.mail, s.second, err)
	case <-timer.C:
		return run{}, fmt.Errorf("expected %s, and nothing happened for %v", what, patience)
	case <-ctx.Done():
		return run{}, ctx.Err()
	}
}

func (s *story) ended(m *member, name string, err error) error {
	m.ran = nil
	return fmt.Errorf("the process of group %s ended too early: %w", name, err)
}

// until looks again and again until it sees what it expects.
func until(ctx context.Context, what string, look func() (seen bool, found string, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		seen, found, err := look()
		if err != nil {
			return err
		}
		if seen {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("expected %s, found %s: %w", what, found, context.Cause(ctx))
		}
	}
}
