package admin_test

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
)

// question is a call with its arguments. What differs between two buses (ids,
// times, names of keys) is no part of its answer.
type question func(api admin.API) (answer any, err error)

func only(err error) (any, error) { return nil, err }

func stripped(t eventbus.Topic) eventbus.Topic {
	t.Created, t.Revision = time.Time{}, 0
	return t
}

func (a arguments) question(topic string) (what string, ask question) {
	ctx := a.Context()
	name, group, handler := a.name("topic", topic), a.name("group", "default", "g0"), a.name("handler", "h")
	kind := rapid.SampledFrom([]string{
		"create", "create", "update", "update", "get", "enable", "disable", "delete", "add group", "remove group", "topics",
		"handlers", "handler", "update handler", "update handler", "enable handler", "disable handler", "reset handler",
		"failures", "failures", "failure", "count", "replay", "replay", "discard", "discard", "job", "cancel job",
		"delayed", "cancel", "unreadable", "unreadable", "stats", "consumers", "send", "send", "send", "send",
	}).Draw(a.T, "call")
	switch kind {
	case "create":
		var cfg eventbus.TopicConfig
		a.settings(&cfg)
		return kind, func(api admin.API) (any, error) { return only(api.CreateTopic(ctx, name, cfg)) }
	case "update":
		var u eventbus.TopicUpdate
		a.settings(&u)
		return kind, func(api admin.API) (any, error) { _, err := api.UpdateTopic(ctx, name, u); return only(err) }
	case "get":
		return kind, func(api admin.API) (any, error) { t, err := api.GetTopic(ctx, name); return stripped(t), err }
	case "enable":
		return kind, func(api admin.API) (any, error) { return only(api.EnableTopic(ctx, name)) }
	case "disable":
		return kind, func(api admin.API) (any, error) { return only(api.DisableTopic(ctx, name)) }
	case "delete":
		return kind, func(api admin.API) (any, error) { return only(api.DeleteTopic(ctx, name)) }
	case "add group":
		key := rapid.SampledFrom([]string{"", "", strings.Repeat("k", 1025)}).Draw(a.T, "key")
		return kind, func(api admin.API) (any, error) {
			return only(api.AddGroup(ctx, name, eventbus.GroupConfig{Name: group, QueueKey: key}))
		}
	case "remove group":
		return kind, func(api admin.API) (any, error) { return only(api.RemoveGroup(ctx, name, group)) }
	case "topics":
		page := a.page()
		return kind, func(api admin.API) (any, error) {
			p, err := api.ListTopics(ctx, page)
			for i := range p.Topics {
				p.Topics[i] = stripped(p.Topics[i])
			}
			return p, err
		}
	case "handlers":
		page := a.page()
		return kind, func(api admin.API) (any, error) { return api.ListHandlers(ctx, name, group, page) }
	case "handler":
		return kind, func(api admin.API) (any, error) { return api.GetHandler(ctx, name, group, handler) }
	case "update handler":
		var u eventbus.HandlerUpdate
		a.settings(&u)
		return kind, func(api admin.API) (any, error) {
			_, err := api.UpdateHandler(ctx, name, group, handler, u)
			return only(err)
		}
	case "enable handler":
		return kind, func(api admin.API) (any, error) { return only(api.EnableHandler(ctx, name, group, handler)) }
	case "disable handler":
		return kind, func(api admin.API) (any, error) { return only(api.DisableHandler(ctx, name, group, handler)) }
	case "reset handler":
		return kind, func(api admin.API) (any, error) { return only(api.ResetHandler(ctx, name, group, handler)) }
	case "failures":
		name := a.name("topic", "failed", topic)
		q := eventbus.FailureQuery{State: a.state(), Handler: a.name("of", "", "h"), Limit: a.int(), Cursor: a.cursor()}
		return kind, func(api admin.API) (any, error) {
			p, err := api.ListFailures(ctx, name, group, q)
			for i, f := range p.Failures {
				p.Failures[i] = eventbus.Failure{State: f.State, Topic: f.Topic, Group: f.Group, Handler: f.Handler, Reason: f.Reason, Error: f.Error, Attempts: f.Attempts}
			}
			p.Next = p.Next[:min(1, len(p.Next))]
			return p, err
		}
	case "failure":
		id := a.text()
		return kind, func(api admin.API) (any, error) { return api.GetFailure(ctx, name, group, id) }
	case "count":
		return kind, func(api admin.API) (any, error) { return api.CountFailures(ctx, name, group) }
	case "replay", "discard":
		name, filter := a.name("topic", "failed", topic), a.filter()
		return kind, func(api admin.API) (any, error) {
			begin := api.ReplayFailures
			if kind == "discard" {
				begin = api.DiscardFailures
			}
			j, err := begin(ctx, name, group, filter)
			for err == nil && j.State == admin.JobRunning {
				j, err = api.GetJob(ctx, j.ID)
			}
			j.ID, j.Started, j.Updated = "", time.Time{}, time.Time{}
			return j, err
		}
	case "job":
		id := a.text()
		return kind, func(api admin.API) (any, error) { return api.GetJob(ctx, id) }
	case "cancel job":
		id := a.text()
		return kind, func(api admin.API) (any, error) { return api.CancelJob(ctx, id) }
	case "delayed":
		q := eventbus.DelayedQuery{Limit: a.int(), Cursor: a.cursor()}
		if q.Limit > 0 && q.Limit < admin.MaxPage {
			q.Limit = admin.MaxPage // which of those that are due at once come first is chance
		}
		return kind, func(api admin.API) (any, error) {
			p, err := api.ListDelayed(ctx, name, group, q)
			for i, e := range p.Events {
				p.Events[i].DueAt = e.DueAt.Round(24 * time.Hour)
				if len(e.ID) == 36 {
					p.Events[i].ID = ""
				}
			}
			sort.Slice(p.Events, func(i, j int) bool {
				return fmt.Sprint(p.Events[i]) < fmt.Sprint(p.Events[j])
			})
			if p.Next != "" {
				return len(p.Events), err
			}
			return p, err
		}
	case "cancel":
		id := a.text()
		return kind, func(api admin.API) (any, error) { return api.CancelDelayed(ctx, name, id) }
	case "unreadable":
		most := a.int()
		return kind, func(api admin.API) (any, error) {
			u, err := api.ListUnreadable(ctx, name, group, most)
			u.List = strings.TrimLeft(u.List, "onetw")
			return u, err
		}
	case "stats":
		return kind, func(api admin.API) (any, error) {
			all, err := api.Stats(ctx, name)
			for i := range all {
				all[i].OldestAge, all[i].NextDue, all[i].ReadAt = 0, time.Time{}, time.Time{}
			}
			return all, err
		}
	case "consumers":
		page := a.page()
		return kind, func(api admin.API) (any, error) { return api.ListConsumers(ctx, page) }
	default:
		messages := a.messages()
		return kind, func(api admin.API) (any, error) {
			ids, err := api.SendBatch(ctx, name, messages)
			for i := range ids {
				if messages[i].ID == "" && len(ids[i]) == 36 {
					ids[i] = ""
				}
			}
			return ids, err
		}
	}
}
