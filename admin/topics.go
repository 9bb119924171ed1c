package admin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/seed4933/eventbus/eventbus"
)

// maxReads is how many topics are read at once for a list of them.
const maxReads = 8

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
	topics, errs, err := s.readTopics(ctx, names)
	if err != nil {
		return TopicPage{}, err
	}
	for bytes, i := 0, 0; i < len(names); i++ {
		switch err := errs[i]; {
		case errors.Is(err, eventbus.ErrTopicNotFound):
			continue // deleted meanwhile
		case errors.Is(err, eventbus.ErrTopicDeleting):
			p.Deleting = append(p.Deleting, names[i])
			continue
		case errors.Is(err, eventbus.ErrWrongType):
			p.Unreadable = append(p.Unreadable, names[i])
			continue
		}
		bytes += elementSize
		for _, g := range topics[i].Groups {
			bytes += elementSize + len(g.Name) + len(g.QueueKey)
		}
		if bytes > maxPageBytes && len(p.Topics) > 0 {
			p.Next = cursor(names[i-1])
			break
		}
		p.Topics = append(p.Topics, topics[i])
	}
	return p, nil
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
