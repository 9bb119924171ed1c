package admin

import (
	"context"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// eventAdmin is the service EventAdmin of the IDL.
type eventAdmin struct{ *face }

var _ thriftbus.EventAdmin = eventAdmin{}

func (f eventAdmin) GetServer(ctx context.Context) (*thriftbus.ServerInfo, error) {
	return quietly(ctx, f.face, "getServer", func(ctx context.Context) (*thriftbus.ServerInfo, error) {
		info, err := f.api.Server(ctx)
		return &thriftbus.ServerInfo{BusNamespace: info.Namespace, Group: info.Group}, err
	})
}

func (f eventAdmin) Ping(ctx context.Context) error {
	_, err := quietly(ctx, f.face, "ping", done(f.api.Ping))
	return err
}

func (f eventAdmin) ListTopics(ctx context.Context, page *thriftbus.Page) (*thriftbus.TopicPage, error) {
	return quietly(ctx, f.face, "listTopics", func(ctx context.Context) (*thriftbus.TopicPage, error) {
		q := fromPage(page)
		if err := roomOfPage(ctx, q.Limit, elementSize); err != nil {
			return nil, err
		}
		p, err := f.api.ListTopics(ctx, q)
		return &thriftbus.TopicPage{Topics: each(p.Topics, toTopic), NextCursor: p.Next, Deleting: p.Deleting, Unreadable: p.Unreadable}, err
	})
}

func (f eventAdmin) GetTopic(ctx context.Context, name string) (*thriftbus.Topic, error) {
	return quietly(ctx, f.face, "getTopic", func(ctx context.Context) (*thriftbus.Topic, error) {
		t, err := f.api.GetTopic(ctx, name)
		return toTopic(t), err
	})
}

func (f eventAdmin) CreateTopic(ctx context.Context, name string, settings *thriftbus.TopicSettings) (*thriftbus.Topic, error) {
	return changes(ctx, f.face, "createTopic", func(ctx context.Context) (*thriftbus.Topic, error) {
		cfg, err := fromSettings(settings)
		if err == nil {
			err = f.api.CreateTopic(ctx, name, cfg)
		}
		return f.topicAfter(ctx, name, err)
	}, "topic", name, "settings", text(settings))
}

func (f eventAdmin) UpdateTopic(ctx context.Context, name string, update *thriftbus.TopicUpdate) (*thriftbus.Topic, error) {
	return changes(ctx, f.face, "updateTopic", func(ctx context.Context) (*thriftbus.Topic, error) {
		u, err := fromTopicUpdate(update)
		if err != nil {
			return nil, err
		}
		revision, err := f.api.UpdateTopic(ctx, name, u)
		t, err := f.topicAfter(ctx, name, err)
		if err == nil {
			// The settings are the latest. Should others have changed them since, who goes
			// on from this revision gets a conflict, and reads again.
			t.Revision = revision
		}
		return t, err
	}, "topic", name, "update", text(update))
}

func (f eventAdmin) DeleteTopic(ctx context.Context, name string) error {
	_, err := changes(ctx, f.face, "deleteTopic", done(func(ctx context.Context) error { return f.api.DeleteTopic(ctx, name) }), "topic", name)
	return err
}

func (f eventAdmin) EnableTopic(ctx context.Context, name string) (*thriftbus.Topic, error) {
	return changes(ctx, f.face, "enableTopic", func(ctx context.Context) (*thriftbus.Topic, error) {
		return f.topicAfter(ctx, name, f.api.EnableTopic(ctx, name))
	}, "topic", name)
}

func (f eventAdmin) DisableTopic(ctx context.Context, name string) (*thriftbus.Topic, error) {
	return changes(ctx, f.face, "disableTopic", func(ctx context.Context) (*thriftbus.Topic, error) {
		return f.topicAfter(ctx, name, f.api.DisableTopic(ctx, name))
	}, "topic", name)
}

func (f eventAdmin) AddGroup(ctx context.Context, topic string, group *thriftbus.Group) (*thriftbus.Topic, error) {
	g := fromGroup(group)
	return changes(ctx, f.face, "addGroup", func(ctx context.Context) (*thriftbus.Topic, error) {
		return f.topicAfter(ctx, topic, f.api.AddGroup(ctx, topic, g))
	}, "topic", topic, "group", g.Name, "queue_key", g.QueueKey)
}

func (f eventAdmin) RemoveGroup(ctx context.Context, topic, group string) (*thriftbus.Topic, error) {
	return changes(ctx, f.face, "removeGroup", func(ctx context.Context) (*thriftbus.Topic, error) {
		return f.topicAfter(ctx, topic, f.api.RemoveGroup(ctx, topic, group))
	}, "topic", topic, "group", group)
}

func (f eventAdmin) ListHandlers(ctx context.Context, topic, group string, page *thriftbus.Page) (*thriftbus.HandlerPage, error) {
	return quietly(ctx, f.face, "listHandlers", func(ctx context.Context) (*thriftbus.HandlerPage, error) {
		p, err := f.api.ListHandlers(ctx, topic, group, fromPage(page))
		return &thriftbus.HandlerPage{Handlers: each(p.Handlers, toHandler), NextCursor: p.Next}, err
	})
}

func (f eventAdmin) GetHandler(ctx context.Context, handler *thriftbus.HandlerRef) (*thriftbus.Handler, error) {
	h := filled(handler)
	return quietly(ctx, f.face, "getHandler", func(ctx context.Context) (*thriftbus.Handler, error) {
		info, err := f.api.GetHandler(ctx, h.Topic, h.Group, h.ID)
		return toHandler(info), err
	})
}

func (f eventAdmin) UpdateHandler(ctx context.Context, handler *thriftbus.HandlerRef, update *thriftbus.HandlerUpdate) (int64, error) {
	h := filled(handler)
	return changes(ctx, f.face, "updateHandler", func(ctx context.Context) (int64, error) {
		u, err := fromHandlerUpdate(update)
		if err != nil {
			return 0, err
		}
		return f.api.UpdateHandler(ctx, h.Topic, h.Group, h.ID, u)
	}, "topic", h.Topic, "group", h.Group, "handler", h.ID, "update", text(update))
}

func (f eventAdmin) EnableHandler(ctx context.Context, handler *thriftbus.HandlerRef) error {
	return f.changeHandler(ctx, "enableHandler", handler, f.api.EnableHandler)
}

func (f eventAdmin) DisableHandler(ctx context.Context, handler *thriftbus.HandlerRef) error {
	return f.changeHandler(ctx, "disableHandler", handler, f.api.DisableHandler)
}

func (f eventAdmin) ResetHandler(ctx context.Context, handler *thriftbus.HandlerRef) error {
	return f.changeHandler(ctx, "resetHandler", handler, f.api.ResetHandler)
}

func (f eventAdmin) changeHandler(ctx context.Context, op string, handler *thriftbus.HandlerRef, change func(ctx context.Context, topic, group, id string) error) error {
	h := filled(handler)
	_, err := changes(ctx, f.face, op, done(func(ctx context.Context) error {
		return change(ctx, h.Topic, h.Group, h.ID)
	}), "topic", h.Topic, "group", h.Group, "handler", h.ID)
	return err
}

func (f eventAdmin) ListFailures(ctx context.Context, query *thriftbus.FailureQuery) (*thriftbus.FailurePage, error) {
	query = filled(query)
	return quietly(ctx, f.face, "listFailures", func(ctx context.Context) (*thriftbus.FailurePage, error) {
		q, err := fromFailureQuery(query)
		if err != nil {
			return nil, err
		}
		if err := roomOfPage(ctx, q.Limit, failureCost); err != nil {
			return nil, err
		}
		p, err := f.api.ListFailures(ctx, query.Topic, query.Group, q)
		return &thriftbus.FailurePage{Failures: each(p.Failures, toFailure), NextCursor: p.Next}, err
	})
}

func (f eventAdmin) GetFailure(ctx context.Context, topic, group, id string) (*thriftbus.Failure, error) {
	return quietly(ctx, f.face, "getFailure", func(ctx context.Context) (*thriftbus.Failure, error) {
		failure, err := f.api.GetFailure(withRoom(ctx, roomOfEvent), topic, group, id)
		return toFailure(failure), err
	})
}

func (f eventAdmin) CountFailures(ctx context.Context, topic, group string) (*thriftbus.FailureCount, error) {
	return quietly(ctx, f.face, "countFailures", func(ctx context.Context) (*thriftbus.FailureCount, error) {
		c, err := f.api.CountFailures(ctx, topic, group)
		return &thriftbus.FailureCount{Retrying: c.Retrying, Dead: c.Dead}, err
	})
}

func (f eventAdmin) ReplayFailures(ctx context.Context, selection *thriftbus.FailureSelection) (*thriftbus.Job, error) {
	return f.beginJob(ctx, "replayFailures", selection, f.api.ReplayFailures)
}

func (f eventAdmin) DiscardFailures(ctx context.Context, selection *thriftbus.FailureSelection) (*thriftbus.Job, error) {
	return f.beginJob(ctx, "discardFailures", selection, f.api.DiscardFailures)
}

func (f eventAdmin) beginJob(ctx context.Context, op string, s *thriftbus.FailureSelection, begin func(ctx context.Context, topic, group string, filter eventbus.FailureFilter) (Job, error)) (*thriftbus.Job, error) {
	s = filled(s)
	return changes(ctx, f.face, op, func(ctx context.Context) (*thriftbus.Job, error) {
		filter, err := fromSelection(s)
		if err != nil {
			return nil, err
		}
		j, err := begin(ctx, s.Topic, s.Group, filter)
		return toJob(j), err
	}, "selection", text(s))
}

func (f eventAdmin) GetJob(ctx context.Context, id string) (*thriftbus.Job, error) {
	return quietly(ctx, f.face, "getJob", func(ctx context.Context) (*thriftbus.Job, error) {
		j, err := f.api.GetJob(ctx, id)
		return toJob(j), err
	})
}

func (f eventAdmin) CancelJob(ctx context.Context, id string) (*thriftbus.Job, error) {
	return changes(ctx, f.face, "cancelJob", func(ctx context.Context) (*thriftbus.Job, error) {
		j, err := f.api.CancelJob(ctx, id)
		return toJob(j), err
	}, "job", id)
}

func (f eventAdmin) ListDelayed(ctx context.Context, topic, group string, page *thriftbus.Page) (*thriftbus.DelayedPage, error) {
	return quietly(ctx, f.face, "listDelayed", func(ctx context.Context) (*thriftbus.DelayedPage, error) {
		q := fromPage(page)
		if err := roomOfPage(ctx, q.Limit, elementSize); err != nil {
			return nil, err
		}
		p, err := f.api.ListDelayed(ctx, topic, group, eventbus.DelayedQuery{Limit: q.Limit, Cursor: q.Cursor})
		return &thriftbus.DelayedPage{Events: each(p.Events, toDelayed), NextCursor: p.Next}, err
	})
}

func (f eventAdmin) CancelDelayed(ctx context.Context, topic, id string) ([]string, error) {
	return changes(ctx, f.face, "cancelDelayed", func(ctx context.Context) ([]string, error) {
		groups, err := f.api.CancelDelayed(ctx, topic, id)
		return emptyIfNil(groups), err
	}, "topic", topic, "event", id)
}

func (f eventAdmin) ListUnreadable(ctx context.Context, topic, group string, limit int32) (*thriftbus.UnreadableEvents, error) {
	return quietly(ctx, f.face, "listUnreadable", func(ctx context.Context) (*thriftbus.UnreadableEvents, error) {
		u, err := f.api.ListUnreadable(ctx, topic, group, int(limit))
		return &thriftbus.UnreadableEvents{Total: u.Total, Members: u.Members, ListKey: u.List}, err
	})
}

func (f eventAdmin) GetStats(ctx context.Context, topic string) ([]*thriftbus.Stats, error) {
	return quietly(ctx, f.face, "getStats", func(ctx context.Context) ([]*thriftbus.Stats, error) {
		if err := f.roomOfGroups(ctx, topic); err != nil {
			return nil, err
		}
		all, err := f.api.Stats(ctx, topic)
		return emptyIfNil(each(all, toStats)), err
	})
}

func (f eventAdmin) ListConsumers(ctx context.Context, page *thriftbus.Page) (*thriftbus.ConsumerPage, error) {
	return quietly(ctx, f.face, "listConsumers", func(ctx context.Context) (*thriftbus.ConsumerPage, error) {
		p, err := f.api.ListConsumers(ctx, fromPage(page))
		return &thriftbus.ConsumerPage{Consumers: each(p.Consumers, toConsumer), NextCursor: p.Next}, err
	})
}
