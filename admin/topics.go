package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed4933/eventbus/eventbus"
)

const (
	// maxReads is how many topics are read at once for a list of them.
	maxReads = 8
	// maxTopics is after how many topics a list looks at how large it is: one can have
	// a thousand groups.
	maxTopics = 32
)

// ListTopics implements API.
func (s *Service) ListTopics(ctx context.Context, page Page) (TopicPage, error) {
	if err := page.check(); err != nil {
		return TopicPage{}, fmt.Errorf("list topics: %w", err)
	}
	names, err := s.bus.Topics().List(ctx)
	if err != nil {
		return TopicPage{}, err
	}
	names, next := cut(names, page, func(name string) string { return name }, nil)
	p := TopicPage{Next: next}
	bytes, before := 0, ""
	for part := range slices.Chunk(names, maxTopics) {
		topics, errs, err := s.readTopics(ctx, part)
		if err != nil {
			return TopicPage{}, err
		}
		for i, name := range part {
			switch err := errs[i]; { // of one that was deleted meanwhile nothing is told
			case err == nil:
				if bytes += topicSize(topics[i]); bytes > maxPageBytes && len(p.Topics) > 0 {
					p.Next = cursor(before)
					return p, nil
				}
				p.Topics = append(p.Topics, topics[i])
			case errors.Is(err, eventbus.ErrTopicDeleting):
				p.Deleting = append(p.Deleting, name)
			case errors.Is(err, eventbus.ErrWrongType):
				p.Unreadable = append(p.Unreadable, name)
			}
			before = name
		}
	}
	return p, nil
}

// topicSize is what a topic counts in a page.
func topicSize(t eventbus.Topic) int {
	size := elementSize
	for _, g := range t.Groups {
		size += elementSize + len(g.Name) + len(g.QueueKey)
	}
	return size
}

// readTopics reads topics, several at once. What is wrong with a topic by itself it
// returns with that; with any other error it stops, since the rest would fail as well,
// and each after a wait of its own.
func (s *Service) readTopics(ctx context.Context, names []string) (topics []eventbus.Topic, errs []error, failed error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	topics, errs = make([]eventbus.Topic, len(names)), make([]error, len(names))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(maxReads, len(names)) {
		readers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(names)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				topics[i], errs[i] = s.bus.Topics().Get(ctx, names[i])
				if errs[i] != nil && !isOfTopic(errs[i]) {
					stop(errs[i])
				}
			}
		})
	}
	readers.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, nil, fmt.Errorf("list topics: %w", err)
	}
	return topics, errs, nil
}

// isOfTopic tells that an error is of one topic, and says nothing of the others.
func isOfTopic(err error) bool {
	return errors.Is(err, eventbus.ErrTopicNotFound) || errors.Is(err, eventbus.ErrTopicDeleting) || errors.Is(err, eventbus.ErrWrongType)
}

// GetTopic implements API.
func (s *Service) GetTopic(ctx context.Context, topic string) (eventbus.Topic, error) {
	return s.bus.Topics().Get(ctx, topic)
}

// CreateTopic implements API.
func (s *Service) CreateTopic(ctx context.Context, topic string, cfg eventbus.TopicConfig) error {
	return s.bus.Topics().Create(ctx, topic, cfg)
}

// UpdateTopic implements API.
func (s *Service) UpdateTopic(ctx context.Context, topic string, u eventbus.TopicUpdate) (int64, error) {
	return s.bus.Topics().Update(ctx, topic, u)
}

// DeleteTopic implements API.
func (s *Service) DeleteTopic(ctx context.Context, topic string) error {
	return s.bus.Topics().Delete(ctx, topic)
}

// EnableTopic implements API.
func (s *Service) EnableTopic(ctx context.Context, topic string) error {
	return s.bus.Topics().Enable(ctx, topic)
}

// DisableTopic implements API.
func (s *Service) DisableTopic(ctx context.Context, topic string) error {
	return s.bus.Topics().Disable(ctx, topic)
}

// AddGroup implements API.
func (s *Service) AddGroup(ctx context.Context, topic string, g eventbus.GroupConfig) error {
	return s.bus.Topics().AddGroup(ctx, topic, g)
}

// RemoveGroup implements API.
func (s *Service) RemoveGroup(ctx context.Context, topic, group string) error {
	return s.bus.Topics().RemoveGroup(ctx, topic, group)
}
