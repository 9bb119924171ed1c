package admin

import (
	"cmp"
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus"
)

// Service carries out the administration on Redis.
type Service struct {
	bus  *eventbus.Bus
	info ServerInfo
	jobs jobs
}

var _ API = (*Service)(nil)

// New returns a service on a namespace of a Redis: cfg is that of the bus which it
// administers, and its group the one that "" means. It does no I/O. Close it when
// it is not used any more; rdb stays open.
func New(rdb redis.UniversalClient, cfg eventbus.Config) (*Service, error) {
	bus, err := eventbus.New(rdb, cfg)
	if err != nil {
		return nil, fmt.Errorf("make an admin service: %w", err)
	}
	s := &Service{bus: bus, info: ServerInfo{
		Namespace: cmp.Or(cfg.Namespace, eventbus.DefaultNamespace), Group: cmp.Or(cfg.Group, eventbus.DefaultGroup),
	}}
	s.jobs.init(bus.JobRecords())
	return s, nil
}

// Close ends the jobs that run here, which others then see as interrupted, and
// the service's bus. It takes two seconds at most, also while Redis does not answer.
func (s *Service) Close() error { return s.jobs.close(s.bus.Close) }

func (s *Service) of(group string) string { return cmp.Or(group, s.info.Group) }

// Server implements API.
func (s *Service) Server(context.Context) (ServerInfo, error) { return s.info, nil }

// Ping implements API.
func (s *Service) Ping(ctx context.Context) error { return s.bus.Health(ctx) }

// ListHandlers implements API.
func (s *Service) ListHandlers(ctx context.Context, topic, group string, page Page) (HandlerPage, error) {
	if err := page.check(); err != nil {
		return HandlerPage{}, fmt.Errorf("list handlers of topic %q: %w", clip(topic, maxName), err)
	}
	all, err := s.bus.Handlers().InGroup(s.of(group)).List(ctx, topic)
	if err != nil {
		return HandlerPage{}, err
	}
	var p HandlerPage
	p.Handlers, p.Next = cut(all, page, func(h eventbus.HandlerInfo) string { return h.ID }, func(h eventbus.HandlerInfo) int {
		size := elementSize
		for _, ids := range [][]string{h.Consumers, h.OpenBreakers} {
			for _, id := range ids {
				size += len(id) + 8
			}
		}
		return size
	})
	return p, nil
}

// GetHandler implements API.
func (s *Service) GetHandler(ctx context.Context, topic, group, id string) (eventbus.HandlerInfo, error) {
	return s.bus.Handlers().InGroup(s.of(group)).Get(ctx, topic, id)
}

// UpdateHandler implements API.
func (s *Service) UpdateHandler(ctx context.Context, topic, group, id string, u eventbus.HandlerUpdate) (int64, error) {
	return s.bus.Handlers().InGroup(s.of(group)).Update(ctx, topic, id, u)
}

// EnableHandler implements API.
func (s *Service) EnableHandler(ctx context.Context, topic, group, id string) error {
	return s.bus.Handlers().InGroup(s.of(group)).Enable(ctx, topic, id)
}

// DisableHandler implements API.
func (s *Service) DisableHandler(ctx context.Context, topic, group, id string) error {
	return s.bus.Handlers().InGroup(s.of(group)).Disable(ctx, topic, id)
}

// ResetHandler implements API.
func (s *Service) ResetHandler(ctx context.Context, topic, group, id string) error {
	return s.bus.Handlers().InGroup(s.of(group)).Reset(ctx, topic, id)
}

// ListFailures implements API.
func (s *Service) ListFailures(ctx context.Context, topic, group string, q eventbus.FailureQuery) (eventbus.FailurePage, error) {
	return s.bus.Failures().InGroup(s.of(group)).List(ctx, topic, q)
}

// GetFailure implements API.
func (s *Service) GetFailure(ctx context.Context, topic, group, id string) (eventbus.Failure, error) {
	f := s.bus.Failures().InGroup(s.of(group))
	found, err := f.Find(ctx, topic, id)
	if err != nil {
		return eventbus.Failure{}, err
	}
	if err := room(ctx, found); err != nil {
		return eventbus.Failure{}, fmt.Errorf("read failure of topic %q, group %q: %w", found.Topic, found.Group, err)
	}
	return f.Get(ctx, topic, id)
}

// CountFailures implements API.
func (s *Service) CountFailures(ctx context.Context, topic, group string) (eventbus.FailureCount, error) {
	return s.bus.Failures().InGroup(s.of(group)).Count(ctx, topic)
}

// ReplayFailures implements API. Errors are those of eventbus.Failures.Replay, and
// ErrTooManyJobs.
func (s *Service) ReplayFailures(ctx context.Context, topic, group string, filter eventbus.FailureFilter) (Job, error) {
	f := s.bus.Failures().InGroup(s.of(group))
	return s.begin(ctx, f, Job{Kind: JobReplay, Topic: topic, Group: s.of(group)}, filter, f.Replay)
}

// DiscardFailures implements API. Errors are those of eventbus.Failures.Discard,
// and ErrTooManyJobs.
func (s *Service) DiscardFailures(ctx context.Context, topic, group string, filter eventbus.FailureFilter) (Job, error) {
	f := s.bus.Failures().InGroup(s.of(group))
	return s.begin(ctx, f, Job{Kind: JobDiscard, Topic: topic, Group: s.of(group)}, filter, f.Discard)
}

func (s *Service) begin(ctx context.Context, f *eventbus.Failures, job Job, filter eventbus.FailureFilter, move mover) (Job, error) {
	if err := checkFilter(job.Kind, job.Topic, job.Group, filter); err != nil {
		return Job{}, err
	}
	count, err := f.Count(ctx, job.Topic)
	if err != nil {
		return Job{}, err
	}
	switch {
	case len(filter.IDs) > 0:
		job.Total = int64(len(filter.IDs))
	case filter.State == eventbus.Retrying:
		job.Total = count.Retrying
	default:
		job.Total = count.Dead
	}
	return s.jobs.begin(ctx, job, filter, move)
}

// checkFilter returns what is wrong with the filter of a job.
func checkFilter(kind JobKind, topic, group string, filter eventbus.FailureFilter) error {
	err := filter.Validate()
	if err == nil && len(filter.IDs) > MaxJobIDs {
		err = &eventbus.ArgumentError{Field: "ids", Value: fmt.Sprint(len(filter.IDs)), Reason: fmt.Sprintf("a job picks %d at most; begin several", MaxJobIDs)}
	}
	if err != nil {
		return fmt.Errorf("%s failures of topic %q, group %q: %w", kind, clip(topic, maxName), clip(group, maxName), err)
	}
	return nil
}

// GetJob implements API.
func (s *Service) GetJob(ctx context.Context, id string) (Job, error) { return s.jobs.get(ctx, id) }

// CancelJob implements API.
func (s *Service) CancelJob(ctx context.Context, id string) (Job, error) {
	return s.jobs.cancel(ctx, id)
}

// ListDelayed implements API.
func (s *Service) ListDelayed(ctx context.Context, topic, group string, q eventbus.DelayedQuery) (eventbus.DelayedPage, error) {
	p, err := s.bus.Delayed().InGroup(s.of(group)).List(ctx, topic, q)
	p.Events = nilIfEmpty(p.Events)
	return p, err
}

// CancelDelayed implements API.
func (s *Service) CancelDelayed(ctx context.Context, topic, id string) ([]string, error) {
	return s.bus.Delayed().Cancel(ctx, topic, id)
}

// ListUnreadable implements API.
func (s *Service) ListUnreadable(ctx context.Context, topic, group string, most int) (eventbus.UnreadableEvents, error) {
	most = cmp.Or(most, defaultUnreadable)
	if most < 0 || most > maxUnreadable {
		return eventbus.UnreadableEvents{}, fmt.Errorf("list unreadable delayed events of topic %q, group %q: %w", topic, s.of(group),
			&eventbus.ArgumentError{Field: "limit", Value: fmt.Sprint(most), Reason: fmt.Sprintf("1 to %d are right", maxUnreadable)})
	}
	u, err := s.bus.Delayed().InGroup(s.of(group)).Unreadable(ctx, topic, most)
	u.Members = nilIfEmpty(u.Members)
	return u, err
}

// Stats implements API.
func (s *Service) Stats(ctx context.Context, topic string) ([]eventbus.Stats, error) {
	all, err := s.bus.Stats(ctx, topic)
	return nilIfEmpty(all), err
}

// ListConsumers implements API.
func (s *Service) ListConsumers(ctx context.Context, page Page) (ConsumerPage, error) {
	if err := page.check(); err != nil {
		return ConsumerPage{}, fmt.Errorf("list consumers: %w", err)
	}
	all, err := s.bus.Consumers(ctx)
	if err != nil {
		return ConsumerPage{}, err
	}
	var p ConsumerPage
	p.Consumers, p.Next = cut(all, page, func(c eventbus.Consumer) string { return c.ID }, func(c eventbus.Consumer) int {
		size := elementSize
		for topic, handlers := range c.Handlers {
			for _, h := range handlers {
				size += elementSize + len(topic) + len(h.ID)
			}
		}
		return size
	})
	return p, nil
}

// SendBatch implements API.
func (s *Service) SendBatch(ctx context.Context, topic string, messages []eventbus.Message) ([]string, error) {
	return s.bus.SendBatch(ctx, topic, messages)
}
