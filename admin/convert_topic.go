package admin

import (
	"cmp"
	"errors"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/idl"
)

func toGroup(g eventbus.GroupConfig) *thriftbus.Group {
	return &thriftbus.Group{Name: g.Name, QueueKey: g.QueueKey}
}

func fromGroup(g *thriftbus.Group) eventbus.GroupConfig {
	g = filled(g)
	return eventbus.GroupConfig{Name: g.Name, QueueKey: g.QueueKey}
}

func toTopic(t eventbus.Topic) *thriftbus.Topic {
	return &thriftbus.Topic{
		Name: t.Name, Enabled: !t.Disabled, Delivery: deliveries.to(t.Delivery), Wire: wires.to(t.Wire),
		MaxWaiting: t.MaxWaiting, Concurrency: idl.Int32(t.Concurrency), DeadLimit: t.DeadLimit, DeadAgeMs: toMillis(t.DeadAge),
		Groups: each(t.Groups, toGroup), RedissonOrderList: t.RedissonOrderList, RedissonOldClients: t.RedissonOldClients,
		Revision: t.Revision, CreatedMs: idl.Millis(t.Created),
	}
}

func fromTopic(t *thriftbus.Topic) eventbus.Topic {
	age, _ := fromMillis("dead_age_ms", t.DeadAgeMs) // a server has checked it
	return eventbus.Topic{
		Name: t.Name, Revision: t.Revision, Created: timeOf(t.CreatedMs),
		TopicConfig: eventbus.TopicConfig{
			Delivery: deliveries[t.Delivery], Wire: wires[t.Wire], MaxWaiting: t.MaxWaiting, Concurrency: int(t.Concurrency),
			DeadLimit: t.DeadLimit, DeadAge: age, Groups: each(t.Groups, fromGroup),
			RedissonOrderList: t.RedissonOrderList, RedissonOldClients: t.RedissonOldClients, Disabled: !t.Enabled,
		},
	}
}

// maxSent is how many elements a server takes in a list. So many groups are too many
// as well, and more are.
const maxSent = 10_000

func toSettings(c eventbus.TopicConfig) *thriftbus.TopicSettings {
	concurrency, age := idl.Int32(c.Concurrency), toMillis(c.DeadAge)
	s := &thriftbus.TopicSettings{
		MaxWaiting: &c.MaxWaiting, Concurrency: &concurrency, DeadLimit: &c.DeadLimit, DeadAgeMs: &age,
		RedissonOrderList: &c.RedissonOrderList, RedissonOldClients: &c.RedissonOldClients, Disabled: &c.Disabled,
	}
	if c.Delivery != "" {
		s.Delivery = new(deliveries.to(c.Delivery))
	}
	if c.Wire != "" {
		s.Wire = new(wires.to(c.Wire))
	}
	if len(c.Groups) > 0 {
		s.Groups = each(c.Groups[:min(len(c.Groups), maxSent)], toGroup)
	}
	return s
}

func fromSettings(s *thriftbus.TopicSettings) (eventbus.TopicConfig, error) {
	s = filled(s)
	delivery, err1 := deliveries.fromOptional("delivery", s.Delivery)
	wire, err2 := wires.fromOptional("wire", s.Wire)
	age, err3 := fromMillis("dead_age_ms", deref(s.DeadAgeMs))
	return eventbus.TopicConfig{
		Delivery: deref(delivery), Wire: deref(wire), MaxWaiting: deref(s.MaxWaiting), Concurrency: int(deref(s.Concurrency)),
		DeadLimit: deref(s.DeadLimit), DeadAge: age, Groups: each(s.Groups, fromGroup),
		RedissonOrderList: deref(s.RedissonOrderList), RedissonOldClients: deref(s.RedissonOldClients), Disabled: deref(s.Disabled),
	}, errors.Join(err1, err2, err3)
}

func toTopicUpdate(u eventbus.TopicUpdate) *thriftbus.TopicUpdate {
	out := &thriftbus.TopicUpdate{
		Delivery: optional(u.Delivery, func(d eventbus.Delivery) thriftbus.Delivery { return deliveries.to(cmp.Or(d, eventbus.AtLeastOnce)) }), MaxWaiting: u.MaxWaiting,
		Concurrency: optional(u.Concurrency, idl.Int32),
		DeadLimit:   u.DeadLimit, DeadAgeMs: optional(u.DeadAge, toMillis),
		RedissonOrderList: u.RedissonOrderList, RedissonOldClients: u.RedissonOldClients,
	}
	if u.IfRevision != 0 {
		out.IfRevision = &u.IfRevision
	}
	return out
}

func fromTopicUpdate(u *thriftbus.TopicUpdate) (eventbus.TopicUpdate, error) {
	u = filled(u)
	delivery, err1 := deliveries.fromOptional("delivery", u.Delivery)
	age, err2 := fromOptionalMillis("dead_age_ms", u.DeadAgeMs)
	return eventbus.TopicUpdate{
		Delivery: delivery, MaxWaiting: u.MaxWaiting, Concurrency: optional(u.Concurrency, func(n int32) int { return int(n) }),
		DeadLimit: u.DeadLimit, DeadAge: age, RedissonOrderList: u.RedissonOrderList, RedissonOldClients: u.RedissonOldClients,
		IfRevision: deref(u.IfRevision),
	}, errors.Join(err1, err2)
}
